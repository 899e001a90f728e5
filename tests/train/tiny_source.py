"""A source small enough to train on in a second: two kinds of stripes under noise."""

from __future__ import annotations

import torch

from fewlabels.data.images import Images, Source


def stripes(train: int = 96, judge: int = 32, seed: int = 0, classes: int = 2) -> Source:
    """8 x 8 grey images whose class is the direction, or the width, of their stripes."""
    generator = torch.Generator().manual_seed(seed)

    def draw(n: int) -> Images:
        labels = torch.arange(n) % classes
        rows = torch.arange(8)
        patterns = torch.stack([rows[:, None] % 2 * torch.ones(8), rows[None] % 2 * torch.ones(8, 1)])
        more = torch.stack([rows[:, None] // 2 % 2 * torch.ones(8), rows[None] // 2 % 2 * torch.ones(8, 1)])
        clean = torch.cat([patterns, more])[labels]
        noise = 0.35 * torch.randn(n, 8, 8, generator=generator)
        return Images(((clean + noise).clamp(0, 1) * 255).to(torch.uint8)[:, None], labels)

    return Source("stripes", tuple("abcd"[:classes]), draw(train), draw(judge), draw(judge), flip=False)
