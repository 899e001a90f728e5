from __future__ import annotations

import pytest
from tiny_preset import TINY, Inline

from fewlabels.experiments import reproduce as module
from fewlabels.experiments.presets import PRESETS


@pytest.fixture
def pool(monkeypatch, tmp_path) -> Inline:
    """Runs of two steps, in this process, with nothing but ``tmp_path`` around."""
    monkeypatch.chdir(tmp_path)
    inline = Inline()
    monkeypatch.setitem(PRESETS, "smoke", TINY)
    monkeypatch.setattr(module, "_pool", lambda *_: inline)
    return inline
