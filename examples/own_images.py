"""Images of your own as arrays: a few labels, -1 for the rest, and what the network says of new ones.

python examples/own_images.py [STEPS]
"""

from __future__ import annotations

import sys
from tempfile import mkdtemp

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import fewlabels

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 256

# Any uint8 array N H W, N H W C or N C H W; floats must lie in 0 .. 1.
digits = load_digits()
images = (digits.images * 255 / 16).astype(np.uint8)
x, x_new, y, y_new = train_test_split(images, digits.target, test_size=300, stratify=digits.target, random_state=0)

# Ten labels a class are known; of the others nobody has said what they show.
partial = np.full(len(y), -1)
for digit in range(10):
    rows = np.flatnonzero(y == digit)[:10]
    partial[rows] = digit

run = fewlabels.fit(
    {"x": x, "y": partial, "x_test": x_new, "y_test": y_new},
    method="rot",
    steps=steps,
    out=mkdtemp() + "/run",
)
print(f"{(partial >= 0).sum()} labels, {(partial < 0).sum()} unlabelled images, {run.record['steps']} steps")
print(f"test error {run.record['test_error']:.1%}")
print("the first new images:", " ".join(run.predict(x_new[:12])), "and truly", " ".join(map(str, y_new[:12])))
