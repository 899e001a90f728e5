"""Virtual adversarial training: the answer should withstand the worst small change (Miyato et al., 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from fewlabels.methods.losses import kl
from fewlabels.methods.method import Batch, State, Step
from fewlabels.methods.passes import look, other_view


@dataclass(frozen=True)
class VAT:
    """KL(f(x'' + r) || sg f(x')) with r = eps g / ||g||, g the gradient of KL(f(x') || f(x'' + xi d)) in d.

    ``d`` starts as a random direction and becomes g / ||g|| ``iterations`` times. x' and x'' are two views, so the
    divergence is not zero at r = 0 and its gradient has a direction there, however small xi is and in any precision;
    of a view compared with itself xi = 1e-6 finds rounding. The network of Oliver et al. (2018) augments anew within
    each pass, so that an r found under one augmentation is applied under another; here r is found and applied on x''.

    ``eps`` is a length in units of the normalised images, so it belongs to the data: theirs is 6 for CIFAR-10 after
    ``gcn-zca`` and 1 for SVHN, 0.22 and 0.08 of the median distance of an image from its own mean. Under ``gcn``,
    where that distance is twice as long, 6 is 0.11 of it.
    """

    eps: float | None = None  # None: a tenth of each image's distance from its own mean
    xi: float = 1e-6
    iterations: int = 1

    def init(self, model: nn.Module, *, classes: int, unlabeled: int, prior: Float[Tensor, " c"]) -> State:
        """Nothing to remember."""
        return None

    def loss(self, state: State, model: nn.Module, batch: Batch, step: Step) -> tuple[Float[Tensor, ""], State]:
        """The divergence of this batch from its worst neighbours."""
        images, clean = other_view(batch, "VAT"), batch.student.detach()
        direction = unit(torch.randn(images.shape, generator=batch.generator, device=images.device))
        for _ in range(self.iterations):
            direction = self._worse(model, images, clean, direction)
        return kl(look(model, images + self._length(images) * direction), clean), state

    def update(self, state: State, model: nn.Module, step: Step) -> State:
        """Nothing to remember."""
        return state

    def _length(self, images: Float[Tensor, "u *shape"]) -> Float[Tensor, "u *ones"] | float:
        if self.eps is not None:
            return self.eps
        flat = images.flatten(1)
        contrast = (flat - flat.mean(1, keepdim=True)).norm(dim=1)
        return 0.1 * contrast.view(-1, *[1] * (images.ndim - 1))

    def _worse(
        self,
        model: nn.Module,
        images: Float[Tensor, "u *shape"],
        clean: Float[Tensor, "u c"],
        direction: Float[Tensor, "u *shape"],
    ) -> Float[Tensor, "u *shape"]:
        """One power iteration: where the divergence rises fastest. Its sum, for a mean's gradient is small in fp16."""
        step = (self.xi * direction).requires_grad_()
        (gradient,) = torch.autograd.grad(len(images) * kl(clean, look(model, images + step)), step)
        return unit(gradient)


def unit(rows: Float[Tensor, "u *shape"]) -> Float[Tensor, "u *shape"]:
    """Each row at Euclidean length 1; a row of zeros stays. The largest entry is taken out first, against underflow.

    >>> unit(torch.tensor([[3e-30, 4e-30], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    flat = rows.flatten(1)
    flat = flat / flat.abs().amax(1, keepdim=True).clamp_min(torch.finfo(flat.dtype).tiny)
    return (flat / flat.norm(dim=1, keepdim=True).clamp_min(0.5)).view_as(rows)
