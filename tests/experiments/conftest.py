from __future__ import annotations

import dataclasses

import pytest
from killer import EPOCHS, STEPS
from tiny_preset import TINY, Inline, tiny

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


@pytest.fixture
def longer(monkeypatch, tmp_path) -> None:
    """Runs that last long enough to be interrupted, with nothing but ``tmp_path`` around."""

    def apply(ask):
        config = tiny(ask)
        return dataclasses.replace(config, steps=EPOCHS * STEPS, overrides={**config.overrides, "epoch_steps": STEPS})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "smoke", dataclasses.replace(TINY, apply=apply))
