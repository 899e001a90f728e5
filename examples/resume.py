"""A run that is cut off after two epochs goes on where it stood, and ends as if nothing had happened.

python examples/resume.py [STEPS]
"""

from __future__ import annotations

import sys
from tempfile import mkdtemp

import torch

import fewlabels
from fewlabels.train.run import Epoch, Event

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 192
request = {"method": "fixmatch", "labels": 100, "steps": steps, "epoch_steps": max(1, steps // 6), "device": "cpu"}
folder = mkdtemp()


class PowerFailureError(Exception):
    """Stands for a killed process, a reboot, the end of a queue's time."""


def until_the_power_fails(event: Event) -> None:
    """A listener hears of every epoch; its state is on the disk before the next one begins."""
    if isinstance(event, Epoch):
        print(f"epoch {event.metrics['epoch']}, {event.fraction:.0%} of the budget, loss {event.metrics['loss']:.3f}")
        if event.metrics["epoch"] == 2:
            raise PowerFailureError


try:
    fewlabels.fit("digits", out=f"{folder}/cut", listener=until_the_power_fails, **request)
except PowerFailureError:
    print("the power fails")

resumed = fewlabels.resume(f"{folder}/cut")  # on the command line: fewlabels resume FOLDER
whole = fewlabels.fit("digits", out=f"{folder}/whole", **request)

pairs = zip(resumed.model.parameters(), whole.model.parameters(), strict=True)
same = all(torch.equal(one, other) for one, other in pairs)
print(f"test error {resumed.record['test_error']:.1%} and {whole.record['test_error']:.1%}; the same weights: {same}")
