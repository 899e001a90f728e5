"""A network's outputs on clean images, and how often they are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped
from lightning_fabric import Fabric
from torch import Tensor, nn

from fewlabels.data.batches import shard


@dataclass(frozen=True)
class Store:
    """Samples where the network is: on the device when they fit, else moved a batch at a time from wherever they are.

    A sample is an image, pixels of bytes, or a row of features.
    """

    samples: Shaped[Tensor, "n *shape"]
    device: torch.device

    @classmethod
    def place(cls, samples: Shaped[Tensor, "n *shape"], device: torch.device) -> Store:
        """Keep the samples on a GPU if they take less than a quarter of its free memory."""
        fits = device.type == "cuda" and samples.nbytes < torch.cuda.mem_get_info(device)[0] / 4
        return cls(samples.to(device) if fits else samples, device)

    def take(self, indices: Int[Tensor, " b"]) -> Shaped[Tensor, "b *shape"]:
        """A batch, on the device."""
        # Nobody waits for a copy towards the device: it would idle meanwhile.
        there = indices.to(self.samples.device, non_blocking=self.samples.is_cuda)
        return self.samples[there].to(self.device, non_blocking=True)


# Images at once when nothing is kept for a backward pass: as many as a CPU's caches hold, where 512 are slower.
_BATCH = {"cpu": 128}
Clean = Callable[[Tensor], Tensor]  # samples as the network sees them, not augmented


def laid_out(samples: Float[Tensor, "b *shape"]) -> Float[Tensor, "b *shape"]:
    """Channels last, where there are channels: what convolutions are fastest with."""
    return samples.contiguous(memory_format=torch.channels_last) if samples.ndim == 4 else samples


@torch.no_grad()
def outputs(
    model: nn.Module,
    store: Store,
    indices: Int[Tensor, " n"],
    clean: Clean,
    fabric: Fabric,
    *,
    batch: int | None = None,
    features: bool = False,
) -> Float[Tensor, "n d"]:
    """Softmax of the clean images in evaluation mode (Alg. 2, l. 3), or the features before the last layer.

    Each process computes its share; all of them get the whole.
    """
    mine = indices[shard(len(indices), fabric.global_rank, fabric.world_size)]
    inner = _unwrapped(model)
    was_training = inner.training
    inner.eval()
    rows = []
    for part in mine.split(batch or _BATCH.get(store.device.type, 512)):
        with fabric.autocast():
            seen = laid_out(clean(store.take(part)))
            out = inner.features(seen) if features else inner(seen)  # type: ignore[operator]
        rows.append(out.float() if features else torch.softmax(out.float(), dim=1))
    inner.train(was_training)
    return gather(torch.cat(rows), len(indices), fabric)


def wrong(probabilities: Float[Tensor, "n c"], labels: Int[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Which rows are classified wrongly."""
    return probabilities.argmax(dim=1) != labels.to(probabilities.device)


def gather(rows: Shaped[Tensor, "b *shape"], total: int, fabric: Fabric) -> Shaped[Tensor, "n *shape"]:
    """Join the ranks' contiguous shares of ``total`` rows."""
    if fabric.world_size == 1:
        return rows
    longest = -(-total // fabric.world_size)
    padded = rows.new_zeros((longest, *rows.shape[1:]))
    padded[: len(rows)] = rows
    shares = [torch.empty_like(padded) for _ in range(fabric.world_size)]
    torch.distributed.all_gather(shares, padded)  # Fabric's own warns each time that it calls what will go
    lengths = [len(range(total)[shard(total, rank, fabric.world_size)]) for rank in range(fabric.world_size)]
    return torch.cat([share[:length] for share, length in zip(shares, lengths, strict=True)])


def _unwrapped(model: nn.Module) -> nn.Module:
    """The network inside Fabric's and DDP's wrappers, whose parameters are the same."""
    while isinstance(inner := getattr(model, "module", None), nn.Module):
        model = inner
    return model
