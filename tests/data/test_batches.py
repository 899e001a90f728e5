"""Streams of indices: full passes, bit-exact resumes, shards."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Generator, Tensor

from fewlabels.data.batches import Stream, shard
from fewlabels.errors import InputError


def stream(count: int, batch: int, seed: int = 0) -> Stream:
    return Stream(count, batch, Generator().manual_seed(seed))


def drawn(source: Stream, batches: int) -> list[Tensor]:
    return list(islice(source, batches))


@given(count=st.integers(1, 40), batch=st.integers(1, 50))
@settings(max_examples=50, deadline=None)
def test_each_pass_holds_every_index_once(count: int, batch: int) -> None:
    flat = torch.cat(drawn(stream(count, batch), -(-3 * count // batch)))
    for part in flat[: 3 * count].split(count):
        assert torch.equal(part.sort().values, torch.arange(count))


@given(count=st.integers(1, 40), batch=st.integers(1, 50))
@settings(max_examples=30, deadline=None)
def test_every_batch_is_full(count: int, batch: int) -> None:
    assert all(len(rows) == batch for rows in drawn(stream(count, batch), 4))


def test_passes_are_shuffled_anew() -> None:
    first, second = drawn(stream(100, 100), 2)
    assert not torch.equal(first, second)
    assert not torch.equal(first, torch.arange(100))


@given(done=st.integers(0, 12))
@settings(max_examples=20, deadline=None)
def test_a_resumed_stream_goes_on_bit_exactly(done: int) -> None:
    left_alone = stream(10, 3)
    drawn(left_alone, done)
    other = stream(10, 3, seed=9)
    other.load_state_dict(left_alone.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(drawn(left_alone, 15), drawn(other, 15), strict=True))


def test_a_saved_state_does_not_move_on() -> None:
    source = stream(10, 3)
    drawn(source, 2)
    saved = source.state_dict()
    expected = drawn(source, 5)
    again = stream(10, 3)
    again.load_state_dict(saved)
    assert all(torch.equal(a, b) for a, b in zip(drawn(again, 5), expected, strict=True))


def test_a_stream_of_other_images_is_refused() -> None:
    with pytest.raises(InputError, match="the checkpoint draws from 10 images, this run from 11"):
        stream(11, 3).load_state_dict(stream(10, 3).state_dict())


@pytest.mark.parametrize(("count", "batch"), [(0, 1), (1, 0)])
def test_empty_streams_are_refused(count: int, batch: int) -> None:
    with pytest.raises(InputError, match="both must be at least 1"):
        stream(count, batch)


@given(count=st.integers(0, 200), world=st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_shards_cover_a_batch_without_overlap_and_evenly(count: int, world: int) -> None:
    shares = [list(range(count))[shard(count, rank, world)] for rank in range(world)]
    assert sum(shares, []) == list(range(count))  # noqa: RUF017 - nine short lists
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
