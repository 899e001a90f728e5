"""Who is labelled: the paper's sizes, and the laws of a draw."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from real_images import real
from torch import Generator, Tensor

from fewlabels.data.images import UNKNOWN, seal
from fewlabels.data.splits import SEEDS, Split, draw_pool, draw_split
from fewlabels.errors import InputError

SIZES = (50, 80, 120)  # of three classes


@pytest.fixture
def labels() -> Tensor:
    known = torch.arange(3).repeat_interleave(torch.tensor(SIZES))
    mixed = torch.cat([known, torch.full((30,), UNKNOWN)])
    return mixed[torch.randperm(len(mixed), generator=Generator().manual_seed(0))]


def members(split: Split) -> list[Tensor]:
    return [split.labeled, split.unlabeled, split.validation]


def sizes(labels: Tensor, rows: Tensor) -> list[int]:
    return labels[rows].bincount(minlength=3).tolist()


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "labels", "train", "validation", "test"),
    [("cifar10", 4000, 45_000, 5_000, 10_000), ("svhn", 1000, 65_932, 7_325, 26_032)],
)
def test_the_papers_sizes(name: str, labels: int, train: int, validation: int, test: int) -> None:
    source = real(name)
    assert (source.default_labels, source.validation_size) == (labels, validation)
    split = draw_split(source.train.labels, classes=10, count=labels, validation=validation, seed=0)
    assert len(split.labeled) == labels
    assert len(split.labeled) + len(split.unlabeled) == train
    assert len(split.validation) == validation
    assert source.test is not None
    assert len(source.test) == test
    assert source.train.labels[split.labeled].bincount().tolist() == [labels // 10] * 10


@pytest.mark.real_data
def test_validation_follows_the_class_sizes_and_not_the_seed() -> None:
    source = real("svhn")
    splits = [draw_split(source.train.labels, classes=10, count=1000, validation=7_325, seed=s) for s in SEEDS]
    assert all(torch.equal(split.validation, splits[0].validation) for split in splits)
    share = source.train.labels[splits[0].validation].bincount() / source.train.labels.bincount()
    assert ((share - 7_325 / 73_257).abs() < 1e-3).all()


@given(
    count=st.integers(3, 150),
    seed=st.integers(0, 2**31),
    per=st.sampled_from(["equal", "proportional"]),
    validation=st.sampled_from([None, 20, "tenth"]),
)
@settings(max_examples=60, deadline=None)
def test_every_image_has_one_role(count: int, seed: int, per: str, validation: int | str | None) -> None:
    labels = torch.arange(3).repeat_interleave(torch.tensor((70, 80, 120)))
    labels = torch.cat([labels, torch.full((30,), UNKNOWN)])
    split = draw_split(labels, classes=3, count=count, per=per, validation=validation, seed=seed)  # type: ignore[arg-type]
    together = torch.cat(members(split))
    assert torch.equal(together.sort().values, torch.arange(300))
    assert all(torch.equal(rows, rows.sort().values) for rows in members(split))
    assert (labels[split.labeled] != UNKNOWN).all()
    assert (labels[split.validation] != UNKNOWN).all()
    assert set(range(270, 300)) <= set(split.unlabeled.tolist())


def test_equal_shares_give_the_remainder_to_the_first_classes(labels: Tensor) -> None:
    assert sizes(labels, draw_split(labels, classes=3, count=20).labeled) == [7, 7, 6]


def test_proportional_shares_follow_the_largest_remainders(labels: Tensor) -> None:
    # 24 of 50, 80, 120: quotas 4.8, 7.68, 11.52.
    assert sizes(labels, draw_split(labels, classes=3, count=24, per="proportional").labeled) == [5, 8, 11]


def test_a_rare_class_keeps_one_label() -> None:
    labels = torch.tensor([0] * 98 + [1] * 2)
    assert draw_split(labels, classes=2, count=4, per="proportional").labeled[-1] >= 98


def test_all_labels_are_used_when_no_number_is_given(labels: Tensor) -> None:
    assert sizes(labels, draw_split(labels, classes=3).labeled) == list(SIZES)


def test_fewer_labels_are_among_more(labels: Tensor) -> None:
    few, more = (draw_split(labels, classes=3, count=n, validation=30, seed=4) for n in (15, 90))
    assert set(few.labeled.tolist()) < set(more.labeled.tolist())
    assert torch.equal(few.validation, more.validation)


def test_five_splits_are_fixed_and_differ(labels: Tensor) -> None:
    first = [draw_split(labels, classes=3, count=30, seed=seed) for seed in SEEDS]
    again = [draw_split(labels, classes=3, count=30, seed=seed) for seed in SEEDS]
    assert len(SEEDS) == 5
    assert all(torch.equal(a.labeled, b.labeled) for a, b in zip(first, again, strict=True))
    assert len({tuple(split.labeled.tolist()) for split in first}) == 5


def test_a_draw_leaves_the_global_generator_alone(labels: Tensor) -> None:
    before = torch.get_rng_state()
    draw_split(labels, classes=3, count=30, validation="tenth", unlabeled=20)
    assert torch.equal(before, torch.get_rng_state())


def test_a_tenth_of_each_class_judges_only_where_there_are_ten(labels: Tensor) -> None:
    assert sizes(labels, draw_split(labels, classes=3, count=90, validation="tenth").validation) == [3, 3, 3]
    assert len(draw_split(labels, classes=3, count=27, validation="tenth").validation) == 0


def test_a_number_of_unlabelled_images_is_drawn_from_all(labels: Tensor) -> None:
    whole = draw_split(labels, classes=3, count=30, seed=1)
    part = draw_split(labels, classes=3, count=30, seed=1, unlabeled=40)
    assert torch.equal(whole.labeled, part.labeled)
    assert len(part.unlabeled) == 40
    assert set(part.unlabeled.tolist()) <= set(whole.unlabeled.tolist())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"classes": 1}, "tells classes apart, but there is 1"),
        ({"classes": 2}, r"label 2 of image \d+ is not in 0 .. 1"),
        ({"classes": 4}, "class 3 has no labelled image"),
        ({"classes": 3, "count": 2}, "2 labels cannot cover 3 classes"),
        ({"classes": 3, "count": 251}, "only 250 images are labelled: ask for 250 or fewer"),
        ({"classes": 3, "count": 200}, "need 67 of class 0, which has 50: ask for at most 150"),
        ({"classes": 3, "validation": 250}, "a validation part of 250 images was asked of 250 labelled"),
        ({"classes": 3, "count": 30, "unlabeled": 251}, "there are 250: ask for 250 or fewer"),
    ],
)
def test_what_cannot_be_drawn_is_refused(labels: Tensor, asked: dict[str, int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        draw_split(labels, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "expected"), [(5, 5), (100, 20), ("all", 20), (None, 20), (0, 0)])
def test_a_pool_has_its_size_and_no_repeats(size: int | str | None, expected: int) -> None:
    pool = draw_pool(20, size, Generator().manual_seed(0))  # type: ignore[arg-type]
    assert len(pool) == len(set(pool.tolist())) == expected
    assert torch.equal(pool, pool.sort().values)


def test_pools_of_one_generator_differ() -> None:
    generator = Generator().manual_seed(0)
    assert not torch.equal(draw_pool(1000, 10, generator), draw_pool(1000, 10, generator))


def test_the_seal_shows_only_what_is_visible(labels: Tensor) -> None:
    visible = torch.tensor([0, 7, 9])
    shown, truth = seal(labels, visible)
    hidden = torch.ones(len(labels), dtype=torch.bool)
    hidden[visible] = False
    assert torch.equal(shown[visible], labels[visible])
    assert (shown[hidden] == UNKNOWN).all()
    assert torch.equal(truth.open_for_metrics(), labels)
    assert str(truth) == f"Sealed({len(labels)} labels)"


def test_scrambled_hidden_labels_show_the_same(labels: Tensor) -> None:
    visible = draw_split(labels, classes=3, count=30, seed=0).labeled
    scrambled = (labels + 1) % 3
    scrambled[visible] = labels[visible]
    assert torch.equal(seal(labels, visible)[0], seal(scrambled, visible)[0])


def test_the_seal_does_not_change_with_the_source(labels: Tensor) -> None:
    _, truth = seal(labels, torch.tensor([0]))
    kept = labels.clone()
    labels.fill_(0)
    assert torch.equal(truth.open_for_metrics(), kept)
