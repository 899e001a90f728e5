"""What must hold on a GPU too; skipped where there is none."""

from __future__ import annotations

import pytest
import torch

import fewlabels
from fewlabels import ot
from fewlabels.labels import match
from fewlabels.methods import METHODS
from fewlabels.train.folder import RunFolder
from fewlabels.train.run import Epoch
from fewlabels.train.weights import load_classifier

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch sees")


def clouds(count: int, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(20 + 7 * i, 5, generator=generator, dtype=torch.float64) for i in range(count)]


QS, PS = clouds(3, 0), clouds(4, 1)
COST = torch.cdist(QS[0], PS[0]) ** 2
A, B = (torch.full((n,), 1 / n, dtype=torch.float64) for n in COST.shape)
SINKHORN = ot.Sinkhorn(reg=0.05)


def _match(qs, ps):
    y = torch.arange(len(ps)).repeat_interleave(torch.tensor([len(p) for p in ps]))
    return match(torch.cat(ps), y.to(ps[0].device), torch.cat(qs), classes=len(ps)).soft_labels


VERBS = {
    "sinkhorn": lambda to: ot.sinkhorn(to(COST), to(A), to(B), reg=0.05).matrix,
    "exact": lambda to: ot.exact(to(COST), to(A), to(B)).cost,
    "wasserstein": lambda to: ot.wasserstein(to(QS[0]), to(PS[0]), solver=SINKHORN),
    "wasserstein_matrix": lambda to: ot.wasserstein_matrix([to(q) for q in QS], [to(p) for p in PS], solver=SINKHORN),
    "exact matrix": lambda to: ot.wasserstein_matrix([to(q) for q in QS], [to(p) for p in PS]),
    "gaussian_matrix": lambda to: ot.gaussian_matrix([to(q) for q in QS], [to(p) for p in PS]),
    "match_rows": lambda to: ot.match_rows([to(q) for q in QS], [to(p) for p in PS]).labels,
    "clusters": lambda to: ot.barycenter_clusters(to(QS[2]), 3, init=to(QS[2][:3])).centers,
    "entropic clusters": lambda to: ot.barycenter_clusters(to(QS[2]), 3, reg=0.1, init=to(QS[2][:3])).centers,
    "balanced clusters": lambda to: ot.barycenter_clusters(to(QS[2]), 3, weights="uniform", init=to(QS[2][:3])).centers,
    "match": lambda to: _match([to(q) for q in QS], [to(p) for p in PS]),
}


@pytest.mark.parametrize("verb", VERBS)
def test_transport_gives_the_same_there_as_on_the_cpu(verb):
    here, there = VERBS[verb](lambda x: x), VERBS[verb](lambda x: x.cuda())
    torch.testing.assert_close(there.cpu(), here, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_there(method, tmp_path):
    run = fewlabels.fit(
        "digits", method=method, labels=50, steps=24, epoch_steps=8, device="cuda", out=tmp_path / "run"
    )
    assert run.record["device"].startswith("cuda")
    assert len(run.record["curve"]["loss"]) == 3
    assert all(
        torch.isfinite(p).all() and p.is_cuda
        for p in load_classifier(RunFolder(run.folder).weights, None, "cuda").network.parameters()
    )


def _cut_off(event) -> None:
    if isinstance(event, Epoch) and event.metrics["epoch"] == 2:
        raise KeyboardInterrupt


@pytest.mark.parametrize("method", ["rot", "vat", "fixmatch"])
def test_a_run_cut_off_there_ends_as_one_left_alone(method, tmp_path):
    images = torch.randint(256, (300, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(300) % 3
    labels[150:] = -1
    asked = {"method": method, "model": "wrn-10-1", "steps": 16, "epoch_steps": 4, "device": "cuda"}
    whole = fewlabels.fit((images, labels), out=tmp_path / "whole", **asked)
    with pytest.raises(KeyboardInterrupt):
        fewlabels.fit((images, labels), out=tmp_path / "cut", listener=_cut_off, **asked)
    again = fewlabels.resume(tmp_path / "cut", data=(images, labels))
    ours, theirs = (dict(run.model.state_dict()) for run in (whole, again))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_what_was_trained_there_predicts_here(tmp_path):
    run = fewlabels.fit("digits", method="supervised", labels=50, steps=64, device="cuda", out=tmp_path / "run")
    images = torch.rand(40, 1, 8, 8).mul(255).byte()
    here, there = (load_classifier(RunFolder(run.folder).weights, None, device) for device in ("cpu", "cuda"))
    torch.testing.assert_close(there.probabilities(images).cpu(), here.probabilities(images), rtol=0.05, atol=0.02)
