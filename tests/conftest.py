"""Before anything of ours is imported: shapes in annotations are checked as the tests run, on one thread."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator

import pytest
import torch
from jaxtyping import config, install_import_hook

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # POT's own, raised only while Python first compiles it
    import ot  # noqa: F401

# The tower: an int may stand for a float, as PEP 484 says.
install_import_hook("fewlabels", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")
torch.set_num_threads(1)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's background job ignores interrupts, and all it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Shapes and types that do not fit reach our own sentences, as they do for users, who run without the hook."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)
