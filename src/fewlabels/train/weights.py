"""A trained network on disk: weights, class names and preprocessing in one file: all that ``predict`` needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from fewlabels.data.images import Source
from fewlabels.data.normalize import Normalizer
from fewlabels.errors import InputError
from fewlabels.models import BACKBONES, build
from fewlabels.train import checkpoint


@dataclass(frozen=True)
class Classifier:
    """A network with what it takes to use it."""

    network: nn.Module
    classes: tuple[str, ...]
    shape: tuple[int, int, int]  # channels, height and width of its images
    normalizer: Normalizer

    @torch.no_grad()
    def probabilities(self, pixels: UInt8[Tensor, "n ch h w"], *, batch: int = 512) -> Float[Tensor, "n c"]:
        """Class probabilities of images of the right shape."""
        if tuple(pixels.shape[1:]) != self.shape:
            raise InputError(
                f"images have shape {tuple(pixels.shape[1:])} and the network was trained on {self.shape} "
                "(channels, height, width): resize them"
            )
        self.network.eval()
        device = next(self.network.parameters()).device
        rows = [self.network(self.normalizer(part.to(device))).softmax(1).cpu() for part in pixels.split(batch)]
        return torch.cat(rows) if rows else torch.empty(0, len(self.classes))


def save_weights(path: Path, network: nn.Module, source: Source, normalizer: Normalizer, model: str) -> None:
    """Write a trained network."""
    tree = {
        "model": model,
        "classes": list(source.classes),
        "shape": list(source.shape),
        "normalizer": {"name": normalizer.name, "tensors": normalizer.state()},
        "weights": network.state_dict(),
    }
    checkpoint.save(path, tree, kind="weights")


def load_classifier(path: Path, network: nn.Module | None = None, device: str = "cpu") -> Classifier:
    """Read what ``save_weights`` wrote; a module of one's own must be brought along."""
    tree = checkpoint.load(path, kind="weights")
    if network is None:
        if tree["model"] not in BACKBONES and not tree["model"].startswith("wrn-"):
            raise InputError(
                f"{path} holds a module of your own: load it from Python with fewlabels.load(..., model=...)"
            )
        network = build(tree["model"], classes=len(tree["classes"]), channels=tree["shape"][0])
    try:
        network.load_state_dict(tree["weights"])
    except RuntimeError as error:
        raise InputError(f"{path} does not fit this network: {error}") from None
    normalizer = Normalizer.from_state(tree["normalizer"]["name"], tree["normalizer"]["tensors"]).to(device)
    channels, height, width = tree["shape"]
    return Classifier(network.to(device), tuple(tree["classes"]), (channels, height, width), normalizer)
