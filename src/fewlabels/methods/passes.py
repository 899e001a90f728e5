"""Passes through the network that are not the student's own: a second view, a teacher, a perturbed image."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call

from fewlabels.errors import InputError
from fewlabels.methods.method import Batch
from fewlabels.models.batchnorm import frozen_statistics


def inner(model: nn.Module) -> nn.Module:
    """The network inside the wrappers of Fabric and DDP.

    Its parameters are theirs, so gradients still meet in their hooks; but a second pass through DDP's own would
    broadcast the buffers that the backward pass of the first one needs as they were.

    >>> network = nn.Linear(1, 1)
    >>> inner(nn.DataParallel(network)) is network
    True
    """
    while isinstance(wrapped := getattr(model, "module", None), nn.Module):
        model = wrapped
    return model


def look(
    model: nn.Module, images: Float[Tensor, "b *shape"], weights: dict[str, Tensor] | None = None
) -> Float[Tensor, "b c"]:
    """Logits of more images, or under other weights. Batch normalisation uses these images and remembers nothing."""
    network = inner(model)
    if images.ndim == 4:
        images = images.contiguous(memory_format=torch.channels_last)
    with frozen_statistics(network):
        logits = network(images) if weights is None else functional_call(network, weights, (images,))
    return logits.float()


def other_view(batch: Batch, method: str) -> Float[Tensor, "u *shape"]:
    """The view the student has not seen."""
    if len(batch.views) < 2:
        raise InputError(
            f"{method} compares two views of an image and the recipe shows {len(batch.views)}: name two in "
            "unlabeled_views; the student sees the last"
        )
    return batch.views[0]
