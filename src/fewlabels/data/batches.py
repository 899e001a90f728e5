"""Which images come next: endless shuffled indices, whatever the number of processes, bit-exact after a resume."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from fewlabels.errors import InputError


class Stream:
    """Global batches of the indices 0 .. count - 1, reshuffled each pass.

    Every batch is full: one that meets the end of a pass goes on into the next, and one larger than ``count`` repeats
    images. The generator belongs to the stream alone; its state is part of the stream's.

    >>> stream = Stream(3, batch=2, generator=Generator().manual_seed(0))
    >>> sorted(torch.cat([next(stream), next(stream), next(stream)]).tolist())
    [0, 0, 1, 1, 2, 2]
    """

    def __init__(self, count: int, batch: int, generator: Generator) -> None:
        if count < 1 or batch < 1:
            raise InputError(f"batches of {batch} were asked of {count} images: both must be at least 1")
        self.count, self.batch = count, batch
        self._generator = generator
        self._order = torch.empty(0, dtype=torch.int64)
        self._position = 0

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Int[Tensor, " b"]:
        parts, missing = [], self.batch
        while missing:
            if self._position == len(self._order):
                self._order = torch.randperm(self.count, generator=self._generator)
                self._position = 0
            part = self._order[self._position : self._position + missing]
            parts.append(part)
            self._position += len(part)
            missing -= len(part)
        return torch.cat(parts)

    def state_dict(self) -> dict[str, Any]:
        """Everything the next batches depend on."""
        return {
            "count": self.count,
            "order": self._order.clone(),
            "position": self._position,
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where ``state_dict`` was taken."""
        if state["count"] != self.count:
            raise InputError(
                f"the checkpoint draws from {state['count']} images, this run from {self.count}: resume with its data"
            )
        self._order, self._position = state["order"].clone(), state["position"]
        self._generator.set_state(state["generator"])


def shard(count: int, rank: int, world: int) -> slice:
    """The rows of a global batch that ``rank`` of ``world`` processes works on: contiguous, balanced, without overlap.

    >>> [shard(10, rank, 3) for rank in range(3)]
    [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)]
    """
    return slice(count * rank // world, count * (rank + 1) // world)
