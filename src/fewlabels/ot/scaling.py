"""App. A and D: the iteration behind ``sinkhorn``, ``u = a / K v`` and ``v = b / K' u``, for a batch of problems.

The two products of a sweep are all that a step costs, so the kernel K stays in the cache and no exponential is taken
while sweeping. Three things keep that right where ``exp(-C / reg)`` would underflow or crawl:

- absorption: ``K = exp((f + g' - C) / reg)`` carries the potentials, and u, v only what has changed since;
- scheduling: where reg is small beside the costs, potentials come from wider kernels first;
- over-relaxation: ``u <- u (a / u K v)^omega``, with omega read from the pace at which the error falls.

What still crawls after as many sweeps as Newton's method would have cost is handed to it, once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int, Shaped
from torch import Tensor
from torch.nn import functional

from fewlabels.ot.newton import newton_potentials

_CHECK = 5  # sweeps between two looks at the error, twice as many once past _EARLY sweeps
_EARLY = 40
_GATE = 0.5  # far from the solution over-relaxation may diverge: it begins below this error
_OMEGA_MAX = 1.95
_STEEP = 400  # max(C) / reg beyond which wider kernels come first: measured, 2 x fewer sweeps there, no gain below
_STAGE = 10  # sweeps on each wider kernel
_PATIENCE = 500, 10  # sweeps before Newton's method, at least and for each point of the shorter side: what it costs
_BLOCK = 2**18  # kernel entries that stay in a core's cache from the first product of a sweep to the second

# |log u|, |log v| at which they are absorbed, and the entries of K that count as 0. What u and v can make of such an
# entry, floor x exp(2 drift), is below rounding: a plan read from K, u and v equals the one in the log domain.
_DRIFT = {torch.float64: 100.0, torch.float32: 18.0}
_FLOOR = {torch.float64: 1e-260, torch.float32: 1e-35}


@dataclass(frozen=True)
class Scaled:
    """Problems of a batch that have ended: plans of unit mass, their potentials, the L1 error of both marginals."""

    index: Int[Tensor, " k"]  # places in the batch
    matrix: Float[Tensor, "k n m"]
    f: Float[Tensor, "k n"]
    g: Float[Tensor, "k m"]
    error: Float[Tensor, " k"]
    iterations: int


def scale(
    cost: Float[Tensor, "B n m"],
    a: Float[Tensor, "B n"],
    b: Float[Tensor, "B m"],
    *,
    reg: float,
    tol: float,
    max_iter: int,
    highest: float,
    start: Float[Tensor, "B m"] | None = None,
    kernel: Float[Tensor, "B n m"] | None = None,
) -> Iterator[Scaled]:
    """Solve each problem to its own tolerance and yield it as soon as it is there; positive marginals of mass 1 only.

    ``highest`` is the largest cost. ``kernel`` is a place to work in, for those who solve many batches; the plan of a
    batch of one comes back in it.

    >>> half = torch.tensor([[0.5, 0.5]])
    >>> cost = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    >>> [done] = scale(cost, half, half, reg=1.0, tol=1e-6, max_iter=100, highest=1.0)
    >>> done.matrix
    tensor([[[0.3655, 0.1345],
             [0.1345, 0.3655]]])
    """
    batch = _Batch(cost, a, b, reg, torch.empty_like(cost) if kernel is None else kernel, highest)
    iteration = batch.begin(_schedule(highest, reg), max_iter) if start is None else batch.resume(start)
    index, over = np.arange(len(cost)), np.zeros(len(cost), dtype=bool)
    patience: float = max(_PATIENCE[0], _PATIENCE[1] * min(cost.shape[1:]))
    while True:
        steps = min(_CHECK if iteration < _EARLY else 2 * _CHECK, max_iter - iteration)
        batch.sweep(steps)
        iteration += steps
        error, settled = batch.measure()
        if iteration >= max_iter and not settled.all():
            batch.absorb(reg)
            error, settled = batch.measure_anew()
        ended = ((error <= tol) & settled | (iteration >= max_iter)) & ~over
        over |= ended
        crawls = iteration >= patience
        leave = bool(over.any() and (crawls or 4 * over.sum() >= len(over)))  # nobody waits for the slowest
        if ended.any():
            yield batch.read(ended, index, error, iteration, leave=leave)
            if over.all():
                return
        if leave:
            batch = batch.keep(~over)
            index, error, settled, over = (t[~over] for t in (index, error, settled, over))
        if crawls:
            batch.resume(batch.newton(tol))
            patience = math.inf  # once: what Newton's method leaves is rounding, or out of reach
            continue
        if not settled.all():
            batch.absorb(reg)
        batch.relax(error, iteration)


def _schedule(highest: float, reg: float) -> list[float]:
    """Regularisations before the last, each a quarter of the one before."""
    if highest <= _STEEP * reg:
        return []
    widest = highest / 16
    return [widest / 4**i for i in range(math.ceil(math.log(widest / reg, 4)))]


class _Batch:
    """The state of the iteration. It changes in place: the kernel is most of the memory there is."""

    def __init__(
        self,
        cost: Float[Tensor, "B n m"],
        a: Float[Tensor, "B n"],
        b: Float[Tensor, "B m"],
        reg: float,
        kernel: Float[Tensor, "B n m"],
        highest: float,
    ):
        self.cost, self.a, self.b, self.reg, self.kernel, self.highest = cost, a, b, reg, kernel, highest
        self.mass = torch.cat([a, b], 1)
        self.f, self.g = torch.zeros_like(a), torch.zeros_like(b)  # absorbed, in units of the cost
        self.omega: Float64[np.ndarray, " B"] | None = None  # None while all are 1
        self.power: Float[Tensor, "B 1"] | None = None  # omega where the sweeps take it
        self.anchor: tuple[Float64[np.ndarray, " B"], int] | None = None  # error, iteration: the present omega's first
        self._set(torch.ones_like(a), torch.ones_like(b))

    def _set(self, u: Float[Tensor, "B n"], v: Float[Tensor, "B m"]) -> None:
        self.u, self.v = u, v
        self.saved = u.clone(), v.clone()
        self.s = torch.empty_like(u)[:, None]  # K v
        self.t = torch.empty_like(v)[:, None]  # K' u
        rows = max(_BLOCK // self.kernel.shape[2], 1) if len(u) == 1 else u.shape[1]
        blocks = self.kernel.split(rows, 1), self.a.split(rows, 1), self.s.split(rows, 2), u.split(rows, 1)
        self.parts = list(zip(*blocks, strict=True))  # rows that go through both products while they are in the cache

    def begin(self, widths: list[float], max_iter: int) -> int:
        """Potentials that leave an entry near 1 in every row and column of K, and the sweeps they took."""
        reg = self.reg
        self.f = self.cost.amin(2)  # the log-domain step in the limit reg = 0: minima for its sums of exponentials
        self.g = torch.sub(self.cost, self.f[:, :, None], out=self.kernel).amin(1)
        iteration = 0
        for width in widths:
            steps = min(_STAGE, max_iter - iteration - 1)
            self.absorb(width)
            self.sweep(steps)
            iteration += steps
        self.absorb(reg)
        return iteration

    def resume(self, g: Float[Tensor, "B m"]) -> int:
        """The potentials of a similar problem, however far it is: the first step is in the log domain.

        Optimal ones satisfy ``max (g - reg log b) - min (g - reg log b) <= max C``. Those that spread further are cut:
        in a sum with them the cost is lost, and a plan of no cost has the right marginals too.
        """
        entropy, widest = self.reg * self.b.log(), self.cost.amax((1, 2))[:, None]
        g = g - entropy
        self.g = torch.maximum(g - g.amax(1, keepdim=True), -widest) + entropy
        self.log_step()
        self._set(torch.ones_like(self.u), torch.ones_like(self.v))
        self.omega = self.power = self.anchor = None
        self.absorb(self.reg)
        return 0

    def newton(self, tol: float) -> Float[Tensor, "B m"]:
        """The potentials of each problem by Newton's method."""
        problems = zip(self.cost, self.a, self.b, strict=True)
        return torch.stack([newton_potentials(*problem, self.reg, tol) for problem in problems]).to(self.g)

    def sweep(self, steps: int) -> None:
        """Step 1 and 2 of App. A, over-relaxed; the first product K v is there already."""
        self.saved[0].copy_(self.u)
        self.saved[1].copy_(self.v)
        for step in range(steps):
            for first, (kernel, a, s, u) in enumerate(self.parts):
                if step:
                    torch.bmm(self.v[:, None], kernel.mT, out=s)
                _relaxed(u, a, s[:, 0], self.power)
                torch.baddbmm(self.t, u[:, None], kernel, beta=min(first, 1), out=self.t)
            _relaxed(self.v, self.b, self.t[:, 0], self.power)

    def measure(self) -> tuple[Float64[np.ndarray, " B"], Bool[np.ndarray, " B"]]:
        """The L1 error of both marginals, and whether u and v are in the range where K loses nothing."""
        torch.bmm(self.v[:, None], self.kernel.mT, out=self.s)
        both, products = torch.cat([self.u, self.v], 1), torch.cat([self.s, self.t], 2)[:, 0]
        error = torch.linalg.vector_norm(products.mul_(both).sub_(self.mass), 1, 1)
        highest = self.u.amax(1) * self.v.amax(1)
        look = torch.stack([error, highest, both.amin(1)]).double().cpu().numpy()  # all that the host has to know
        drift = _DRIFT[both.dtype]
        settled = (look[1] <= math.exp(2 * drift)) & (look[2] >= math.exp(-3 * drift))  # False for NaN as well
        return look[0], settled

    def measure_anew(self) -> tuple[Float64[np.ndarray, " B"], Bool[np.ndarray, " B"]]:
        """The same where the kernel has been rebuilt and no sweep has gone over it."""
        torch.sum(self.kernel, 1, out=self.t[:, 0])
        return self.measure()

    def relax(self, error: Float64[np.ndarray, " B"], iteration: int) -> None:
        """Choose omega anew, once a window has shown at which pace the error falls."""
        if self.anchor is None:
            self.anchor = error, iteration
            return
        base, begun = self.anchor
        if iteration - begun < max(_CHECK, iteration // 4):
            return
        self.anchor = error, iteration
        near = (error < _GATE) & (base < _GATE)
        if not near.any():
            self.omega = self.power = None
            return
        omega = np.ones_like(error) if self.omega is None else self.omega
        pace = np.where(near, error / base, 1.0) ** (1 / (iteration - begun))
        self.omega = np.where(near, _next_omega(omega, pace), 1.0)
        self.power = torch.from_numpy(self.omega[:, None]).to(self.u)

    def absorb(self, reg: float) -> None:
        """Move u and v into the potentials and rebuild the kernel; after an overflow go back and take a safe step."""
        found = torch.isfinite(torch.cat([self.u, self.v], 1).log_().sum(1))
        self.f = self.f + self.reg * torch.where(found[:, None], self.u, self.saved[0]).log()
        self.g = self.g + self.reg * torch.where(found[:, None], self.v, self.saved[1]).log()
        if not found.all():
            self.log_step()
        self.reg = reg
        floor = _FLOOR[self.kernel.dtype]
        torch.sub(self.f[:, :, None], self.cost, out=self.kernel)
        self.kernel.add_(self.g[:, None]).mul_(math.log2(math.e) / reg)
        self.kernel.exp2_()  # three to four times as fast as exp on a CPU
        if float(self.f.amin() + self.g.amin()) - self.highest < reg * math.log(floor):
            functional.threshold(self.kernel, floor, 0.0, inplace=True)  # subnormal numbers are slow to use
        self._set(torch.ones_like(self.u), torch.ones_like(self.v))
        torch.sum(self.kernel, 2, out=self.s[:, 0])

    def log_step(self) -> None:
        """One sweep in the log domain, right from any start."""
        torch.sub(self.g[:, None], self.cost, out=self.kernel).div_(self.reg)
        self.f = self.reg * (self.a.log() - torch.logsumexp(self.kernel, 2))
        torch.sub(self.f[:, :, None], self.cost, out=self.kernel).div_(self.reg)
        self.g = self.reg * (self.b.log() - torch.logsumexp(self.kernel, 1))

    def read(
        self,
        ended: Bool[np.ndarray, " B"],
        index: Int[np.ndarray, " B"],
        error: Float64[np.ndarray, " B"],
        iteration: int,
        *,
        leave: bool,
    ) -> Scaled:
        """Plans and potentials of the problems that have ended; those that leave now need their kernel no more."""
        places, errors = (torch.from_numpy(t[ended]).to(self.u.device) for t in (index, error))
        kernel, u, v, f, g = (_those(t, ended) for t in (self.kernel, self.u, self.v, self.f, self.g))
        kernel = kernel if leave else kernel.clone()
        f, g = f + self.reg * u.log(), g + self.reg * v.log()
        return Scaled(places, kernel.mul_(u[:, :, None]).mul_(v[:, None]), f, g, errors.to(u), iteration)

    def keep(self, those: Bool[np.ndarray, " B"]) -> _Batch:
        """The problems that go on, alone."""
        cost, a, b, kernel = (_those(t, those) for t in (self.cost, self.a, self.b, self.kernel))
        kept = _Batch(cost, a, b, self.reg, kernel, self.highest)
        kept.f, kept.g = _those(self.f, those), _those(self.g, those)
        if self.omega is not None and self.power is not None:
            kept.omega, kept.power = self.omega[those], _those(self.power, those)
        kept.anchor = None if self.anchor is None else (self.anchor[0][those], self.anchor[1])
        kept._set(_those(self.u, those), _those(self.v, those))
        kept.s = _those(self.s, those)
        return kept


def _those(rows: Shaped[Tensor, "B *shape"], which: Bool[np.ndarray, " B"]) -> Shaped[Tensor, "k *shape"]:
    """The rows of some problems: a view where they lie together, for a kernel is dear to copy."""
    places = np.flatnonzero(which)
    first, end = int(places[0]), int(places[-1]) + 1
    return rows[first:end] if end - first == len(places) else rows[torch.from_numpy(places).to(rows.device)]


def _relaxed(
    u: Float[Tensor, "B n"],
    mass: Float[Tensor, "B n"],
    product: Float[Tensor, "B n"],
    omega: Float[Tensor, "B 1"] | None,
) -> None:
    """``u <- u (mass / u product)^omega``, in place."""
    if omega is None:
        torch.div(mass, product, out=u)
    else:
        u.mul_((mass / (u * product)).pow_(omega))


def _next_omega(omega: Float64[np.ndarray, " B"], pace: Float64[np.ndarray, " B"]) -> Float64[np.ndarray, " B"]:
    """The omega that suits the slowest mode, seen in ``pace``, the factor by which the error fell in one sweep.

    Near the solution the sweeps are Gauss-Seidel steps on a linear system: with theta the pace at omega = 1, Young's
    relation (pace + omega - 1)^2 = pace omega^2 theta gives theta, and 2 / (1 + sqrt(1 - theta)) is best. A pace of
    omega - 1 says that omega is past the best and tells no more.
    """
    theta = (pace + omega - 1) ** 2 / (pace * omega**2)
    best = np.minimum(2 / (1 + np.sqrt(np.maximum(1 - theta, 0))), _OMEGA_MAX)
    raised = np.where((theta < 1) & (pace > omega - 1 + 1e-3), np.maximum(omega, best), omega)
    return np.where(pace < 1, raised, (1 + omega) / 2)
