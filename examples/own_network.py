"""A network of your own: any module that turns images into one logit a class.

python examples/own_network.py [STEPS]
"""

from __future__ import annotations

import sys
from tempfile import mkdtemp

from torch import Tensor, nn

import fewlabels

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 256


class Tiny(nn.Module):
    """Two convolutions with a stride, a mean, a dense layer."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
        )
        self.dense = nn.Linear(64, classes)

    def features(self, images: Tensor) -> Tensor:
        """Only ``match_on="features"`` asks for this: one row an image, what the last layer sees."""
        return self.body(images).mean(dim=(2, 3))

    def forward(self, images: Tensor) -> Tensor:
        return self.dense(self.features(images))


folder = mkdtemp()
for match_on in ("outputs", "features"):
    run = fewlabels.fit(
        "digits", method="rot", labels=100, model=Tiny(10), steps=steps, match_on=match_on, out=f"{folder}/{match_on}"
    )
    print(f"matching {match_on}: test error {run.record['test_error']:.1%} after {run.record['steps']} steps")

# The weights lie in the run's folder; the architecture is yours to bring again.
again = fewlabels.load(run.folder, model=Tiny(10))
print("reloaded", type(again.model).__name__, "with", sum(p.numel() for p in again.model.parameters()), "weights")
