"""Each loss on three rows, against numbers worked out by hand; and what its state has learned."""

from __future__ import annotations

from math import exp, log, sqrt

import pytest
import torch
from torch import nn

from fewlabels.errors import Diverged, InputError
from fewlabels.methods import SLA, VAT, Batch, EntMin, FixMatch, MeanTeacher, Pi, PseudoLabel, SoftMatch, Step, sla
from fewlabels.methods.sla import masses
from fewlabels.methods.vat import unit
from fewlabels.models import SmallNet
from fewlabels.ot import sinkhorn

HALF, NOW = torch.tensor([0.5, 0.5]), Step(0, 0.5)
LOG3, LOG9, LOG99 = log(3.0), log(9.0), log(99.0)
# Rows of logits (z, 0) with probabilities 3/4, 9/10 and 99/100 of the first class.
STUDENT = torch.tensor([[LOG3, 0.0], [LOG9, 0.0], [LOG99, 0.0]])
OTHER = torch.tensor([[0.0, 0.0], [LOG99, 0.0], [0.0, LOG99]])


def identity(scale: float = 1.0) -> nn.Module:
    """A network whose logits are its inputs times ``scale``."""
    network = nn.Linear(2, 2, bias=False)
    nn.init.eye_(network.weight).data.mul_(scale)
    return network


def batch(student=STUDENT, *others, indices=None, gather=lambda rows: rows) -> Batch:
    views = (*others, student)
    rows = torch.arange(len(student)) if indices is None else indices
    generator = torch.Generator().manual_seed(0)
    return Batch(student[:1], torch.tensor([0]), student[:1], views, student, rows, generator, gather)


def begin(term, model=None, unlabeled=3, prior=HALF):
    return term.init(model or identity(), classes=len(prior), unlabeled=unlabeled, prior=prior)


def loss(term, *views, model=None, state=None, step=NOW):
    model = model or identity()
    value, _ = term.loss(begin(term, model) if state is None else state, model, batch(*views), step)
    return float(value.detach())


def test_pi_is_the_squared_error_over_rows_and_classes():
    # Differences of the first class: 3/4 - 1/2, 9/10 - 99/100, 99/100 - 1/100; the second class's are the same.
    assert loss(Pi(), STUDENT, OTHER) == pytest.approx((0.25**2 + 0.09**2 + 0.98**2) / 3, rel=1e-5)


def test_mean_teacher_looks_through_the_averaged_weights():
    term, model = MeanTeacher(decay=0.75), identity()
    state = begin(term, model)
    assert loss(term, STUDENT, OTHER, state=state) == pytest.approx(loss(Pi(), STUDENT, OTHER), rel=1e-6)
    model.weight.data.mul_(3)
    state = term.update(state, model, NOW)
    assert torch.allclose(state["weight"], (0.75 * 1 + 0.25 * 3) * torch.eye(2))
    p = 9**1.5 / (9**1.5 + 1)  # the teacher's 9/10, its logit 1.5 times as large
    first = torch.tensor([[LOG9, 0.0]] * 3)
    expected = (0.9 - p) ** 2
    assert loss(term, first, first, model=model, state=state) == pytest.approx(expected, rel=1e-4)


def test_vat_goes_where_the_divergence_rises_and_counts_how_far_it_has_come():
    # Two classes and the identity: KL(softmax(x' + r) || softmax(x)) grows fastest along (1, -1) / sqrt(2). The other
    # view is surer of the first class than the student, and r makes it surer still.
    student, other = torch.tensor([[LOG3, 0.0]] * 3), torch.tensor([[LOG9, 0.0]] * 3)
    odds = exp(LOG9 + sqrt(2.0) * 0.5)
    p = odds / (1 + odds)
    expected = p * log(p / 0.75) + (1 - p) * log((1 - p) / 0.25)
    assert loss(VAT(eps=0.5), student, other) == pytest.approx(expected, rel=1e-4)
    assert loss(VAT(eps=0.5, iterations=3), student, other) == pytest.approx(expected, rel=1e-4)
    assert loss(VAT(eps=0.0), student, other) < expected


def test_vats_length_is_a_share_of_the_contrast_where_none_is_given():
    # Rows (z, 0) differ from their own mean by z / sqrt(2) in length, so each of the three has a length of its own.
    lengths = [0.1 * z / sqrt(2.0) for z in (LOG3, LOG9, LOG99)]
    odds = [exp(z + sqrt(2.0) * r) for z, r in zip((LOG3, LOG9, LOG99), lengths, strict=True)]
    ps, was = [o / (1 + o) for o in odds], 0.5
    expected = sum(p * log(p / was) + (1 - p) * log((1 - p) / (1 - was)) for p in ps) / 3
    assert loss(VAT(), torch.zeros(3, 2), STUDENT) == pytest.approx(expected, rel=1e-4)


def direction(images, student, *, low):
    """Where VAT's changed images lie from the view that is changed."""
    torch.manual_seed(0)
    model, seen = SmallNet(classes=10, channels=3), []
    model.register_forward_pre_hook(lambda _, args: seen.append(args[0].detach()))
    with torch.autocast("cpu", torch.bfloat16, enabled=low):
        logits = model(student).float()
    rows, generator = torch.arange(len(student)), torch.Generator().manual_seed(1)
    asked = Batch(student[:1], rows[:1], logits[:1], (images, student), logits, rows, generator)
    with torch.autocast("cpu", torch.bfloat16, enabled=low):
        VAT(eps=1.0).loss(None, model, asked, NOW)
    return (seen[-1] - images).flatten(1)


def test_vats_direction_survives_bf16_between_two_views_and_is_rounding_within_one():
    generator = torch.Generator().manual_seed(0)
    student = torch.randn(16, 3, 16, 16, generator=generator)
    other = student + 0.5 * torch.randn(student.shape, generator=generator)
    for images, least, most in ((other, 0.95, 1.0), (student, -0.3, 0.3)):
        fine, coarse = (direction(images, student, low=low) for low in (False, True))
        assert least < float(torch.cosine_similarity(fine, coarse).mean()) <= most


def test_a_unit_row_has_length_one_at_any_scale():
    rows = torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor(
        [1e-38, 1e-20, 1, 1e30]
    ).view(4, 1, 1)
    assert torch.allclose(unit(rows).flatten(1).norm(dim=1), torch.ones(4))
    assert not unit(torch.zeros(2, 5)).any()


def test_entropy_is_largest_for_a_uniform_row():
    entropies = [-(p * log(p) + (1 - p) * log(1 - p)) for p in (0.5, 0.99, 0.01)]
    assert loss(EntMin(), OTHER) == pytest.approx(sum(entropies) / 3, rel=1e-4)


def test_pseudo_label_believes_only_the_confident_row_and_divides_by_all():
    assert loss(PseudoLabel(threshold=0.95), STUDENT) == pytest.approx(-log(0.99) / 3, rel=1e-4)
    assert loss(PseudoLabel(threshold=0.85), STUDENT) == pytest.approx(-(log(0.99) + log(0.9)) / 3, rel=1e-4)
    assert loss(PseudoLabel(threshold=1.0), STUDENT) == 0


def test_fixmatch_asks_the_strong_view_for_the_weak_views_label():
    # The weak view is sure of rows 1 and 2: class 0 and class 1.
    assert loss(FixMatch(threshold=0.95), STUDENT, OTHER) == pytest.approx(-(log(0.9) + log(0.01)) / 3, rel=1e-4)
    assert loss(FixMatch(threshold=0.995), STUDENT, OTHER) == 0


def test_softmatch_weighs_a_label_by_how_far_its_confidence_lies_below_the_mean():
    term = SoftMatch(sigmas=2.0, decay=0.0)  # the state becomes the batch's own
    weak = torch.tensor([[0.0, 0.0], [LOG99, 0.0], [0.0, LOG99]])  # mean q is uniform: alignment changes nothing
    value, state = term.loss(begin(term), identity(), batch(STUDENT, weak), NOW)
    mean = (0.5 + 0.99 + 0.99) / 3
    variance = ((0.5 - mean) ** 2 + 2 * (0.99 - mean) ** 2) / 2  # of the run, seen through three of its rows
    low = exp(-((0.5 - mean) ** 2) * 4 / (2 * variance))
    assert float(state["mean"]) == pytest.approx(mean, rel=1e-5)
    assert float(state["variance"]) == pytest.approx(variance, rel=1e-4)
    # The undecided row's label is class 0, the first of equals.
    assert float(value) == pytest.approx(-(low * log(0.75) + log(0.9) + log(0.01)) / 3, rel=1e-4)


def test_softmatch_believes_all_of_a_batch_that_is_sure_of_everything():
    term = SoftMatch(decay=0.0)
    sure = torch.tensor([[200.0, 0.0], [0.0, 200.0]])  # one-hot in float32, so the variance is 0
    value, state = term.loss(begin(term), identity(), batch(STUDENT[:2], sure), NOW)
    assert state["variance"] == 0
    assert term.weights(state, sure.softmax(1)).tolist() == [1.0, 1.0]
    assert float(value) == pytest.approx(-(log(0.75) + log(0.1)) / 2, rel=1e-4)
    assert term.weights(state, torch.tensor([[0.9, 0.1]])) == 0


def test_softmatch_trusts_a_neglected_class_more():
    term = SoftMatch()
    state = {
        **begin(term),
        "usual": torch.tensor([0.8, 0.2]),
        "mean": torch.tensor(0.9),
        "variance": torch.tensor(0.01),
    }
    often, seldom = term.weights(state, torch.tensor([[0.7, 0.3], [0.3, 0.7]]))
    assert seldom == 1  # 0.7 x 0.5 / 0.2 against 0.3 x 0.5 / 0.8: aligned it lies above the mean
    assert often < 0.01


def test_sla_starts_with_nobody_allocated_and_ends_with_everybody():
    term, model = SLA(every=1), identity()
    weak = torch.tensor([[LOG9, 0.0], [LOG3, 0.0], [0.0, LOG3], [0.0, LOG9]])
    log_q = weak.log_softmax(1)
    shares = {}
    for fraction in (0.0, 0.5, 1.0):
        state = begin(term, unlabeled=400)
        state["cost"][:-1, :-1] = -log_q.repeat(100, 1)
        for _ in range(3):
            _, state = term.loss(state, model, batch(weak, weak), Step(0, fraction))
        shares[fraction] = term.allocated(state, log_q).sum(1)
    assert shares[0.0].max() < 0.05
    assert shares[0.5][[0, 3]].min() > 0.9 > 0.1 > shares[0.5][[1, 2]].max()  # the surer half
    assert shares[1.0].min() > 0.9


def test_sla_keeps_a_class_within_its_bound():
    term, model = SLA(every=1), identity()
    weak = torch.tensor(
        [[LOG99, 0.0], [LOG9, 0.0], [LOG3, 0.0], [0.1, 0.0]]
    )  # all prefer class 0, which has two places
    state = begin(term, unlabeled=400)
    state["cost"][:-1, :-1] = -weak.log_softmax(1).repeat(100, 1)
    _, state = term.loss(state, model, batch(weak, weak), Step(0, 1.0))
    assert term.allocated(state, weak.log_softmax(1)).argmax(1).tolist() == [0, 0, 1, 1]
    loose = SLA(every=1, bound=2.0)
    _, state = loose.loss({**state, "columns": torch.zeros(3)}, model, batch(weak, weak), Step(0, 1.0))
    assert loose.allocated(state, weak.log_softmax(1)).argmax(1).tolist() == [0, 0, 0, 0]


def test_slas_loss_is_the_cross_entropy_with_the_rows_of_the_plan():
    term, model = SLA(reg=0.5, every=1), identity()
    _, state = term.loss(begin(term), model, batch(OTHER, OTHER), NOW)
    log_q = OTHER.log_softmax(1)
    rows, columns = masses(3, HALF, 0.5)
    cost = torch.zeros(4, 3)
    cost[:3, :2] = -log_q
    plan = sinkhorn(cost, rows, columns, reg=0.5, tol=1e-5)
    targets = plan.matrix[:3, :2]
    assert torch.allclose(term.allocated(state, log_q), targets, atol=0.02)  # 1 % is its tolerance
    expected = -(term.allocated(state, log_q) * STUDENT.log_softmax(1)).sum(1).mean()
    assert loss(term, STUDENT, OTHER, state=state) == pytest.approx(float(expected), rel=1e-5)


def favoured(n=2_000):
    """Logits that are moderately sure, of ten classes with equal shares; the first class is favoured."""
    logits = 2 * torch.randn(n, 10, generator=torch.Generator().manual_seed(0))
    logits[torch.arange(n), torch.arange(n) % 10] += 4
    logits[:, 0] += 3
    return logits


@pytest.mark.parametrize("most", [None, 10])
def test_slas_state_says_how_far_the_marginals_are_off(most, monkeypatch):
    if most is not None:
        monkeypatch.setattr(sla, "_MOST", most)
    weak, prior = favoured(), torch.full((10,), 0.1)
    term = SLA(every=1)
    state = begin(term, unlabeled=len(weak), prior=prior)
    assert state["error"] == torch.inf  # nothing was solved yet
    _, state = term.loss(state, nn.Identity(), batch(weak, weak), Step(0, 1.0))
    plan = ((state["rows"][:, None] + state["columns"] - state["cost"]).double() / term.reg).exp()
    rows, columns = masses(len(weak), prior, 1.0)
    off = (plan.sum(1) - rows).abs().sum() + (plan.sum(0) - columns).abs().sum()
    assert float(state["error"]) == pytest.approx(float(off / rows.sum()), rel=0.05, abs=1e-4)
    assert (float(state["error"]) <= 0.01) == (most is None)  # from a cold start at rho = 1, with the default


def test_slas_transport_is_not_rounded_by_autocast():
    weak = torch.tensor([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0]])  # whole numbers: the network's pass is exact in bf16
    term, states = SLA(every=1), []
    for low in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            states.append(term.loss(begin(term), identity(), batch(STUDENT, weak), NOW)[1])
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


def test_sla_remembers_which_image_it_saw():
    term = SLA(every=1)
    rows = torch.tensor([7, 2, 4])
    _, state = term.loss(begin(term, unlabeled=9), identity(), batch(STUDENT, OTHER, indices=rows), NOW)
    assert torch.equal(state["cost"][rows, :-1], -OTHER.log_softmax(1))
    assert state["cost"][0, 0] == pytest.approx(log(2.0))
    assert not state["cost"][-1].any()
    assert not state["cost"][:, -1].any()


@pytest.mark.parametrize("total", [0.8, 1.0, 1.5])
@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_slas_masses_balance(rho, total):
    rows, columns = masses(50, total * torch.tensor([0.2, 0.3, 0.5]), rho)
    assert float(rows.sum()) == pytest.approx(float(columns.sum()), rel=1e-6)
    assert min(rows.min(), columns.min()) > 0
    forced = float(columns[:-1].sum() - rows[-1])  # what the last row cannot fill of the classes' places
    assert forced == pytest.approx(50 * min(rho, total) - 1, abs=1e-3)  # the unit is the unlabelled column's


@pytest.mark.parametrize("term", [SoftMatch(), SLA(every=1)])
def test_every_process_learns_from_all_of_them(term):
    def share(part):
        """What one of two processes hears: ``gather`` gives it every rank's rows."""
        whole = iter([OTHER.log_softmax(1), torch.arange(3)] if isinstance(term, SLA) else [OTHER.softmax(1)])
        own = batch(STUDENT[part], OTHER[part], indices=torch.arange(3)[part], gather=lambda rows: next(whole))
        return term.loss(begin(term), identity(), own, NOW)[1]

    together = term.loss(begin(term), identity(), batch(STUDENT, OTHER), NOW)[1]
    for part in (slice(0, 1), slice(1, 3)):
        assert all(torch.equal(together[key], value) for key, value in share(part).items())


@pytest.mark.parametrize("term", [Pi(), MeanTeacher(), VAT(), FixMatch(), SoftMatch(), SLA()])
def test_two_views_are_asked_for_by_name(term):
    with pytest.raises(InputError, match=r"compares two views of an image and the recipe shows 1"):
        loss(term, STUDENT)


def test_sla_says_when_the_network_has_diverged():
    with pytest.raises(Diverged, match="not finite"):
        loss(SLA(every=1), STUDENT, OTHER * float("nan"))
