"""A method nobody has put into the catalogue: interpolation consistency (Verma et al., 2019), alone and with ROT.

python examples/new_method.py [STEPS]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from tempfile import mkdtemp

import torch

import fewlabels
from fewlabels.methods import METHODS, Method, Ramp
from fewlabels.methods.losses import squared_error
from fewlabels.methods.passes import look

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 256


@dataclass(frozen=True)
class Interpolation:
    """(1/c) ||softmax f(m x + (1 - m) x') - m sg p - (1 - m) sg p'||^2 for images x, x' and their answers p, p'.

    A term is ``init``, ``loss`` and ``update``; its fields are settings of a run by themselves.
    """

    least: float = 0.5  # m is uniform on least .. 1

    def init(self, model, *, classes, unlabeled, prior):
        return None  # nothing to remember from step to step

    def loss(self, state, model, batch, step):
        images, answers = batch.views[-1], batch.student.detach().softmax(1)  # what the student has just seen and said
        drawn = torch.rand(len(images), generator=batch.generator, device=images.device)
        m = (self.least + (1 - self.least) * drawn)[:, None]
        pixels = m.view(-1, *[1] * (images.ndim - 1))
        mixed = look(model, pixels * images + (1 - pixels) * images.roll(1, 0))  # leaves running statistics alone
        return squared_error(mixed, m * answers + (1 - m) * answers.roll(1, 0)), state

    def update(self, state, model, step):
        return state


# The catalogue is a dict, a method is plain data, and terms can join a labeler.
term = (Ramp(10.0), Interpolation())
METHODS["interpolation"] = Method(terms=(term,), recipe=METHODS["rot"].recipe, summary="between images and answers")
METHODS["rot-interpolation"] = replace(METHODS["rot"], terms=(term,))

folder = mkdtemp()
for name in ("supervised", "interpolation", "rot-interpolation"):
    settings = {} if name == "supervised" else {"least": 0.6}
    run = fewlabels.fit("digits", method=name, labels=100, steps=steps, out=f"{folder}/{name}", **settings)
    print(f"{name}: test error {run.record['test_error']:.1%} after {run.record['steps']} steps")
