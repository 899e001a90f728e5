"""The Python face: arrays in, settings as the command line has them, a cut-off run taken up again."""

from __future__ import annotations

import tomllib

import pytest
import torch

import fewlabels
from fewlabels.errors import InputError
from fewlabels.train.run import Epoch

ASKED = {"labels": 8, "steps": 8, "epoch_steps": 4, "warmup": 0.0, "labeled_batch": 4, "unlabeled_batch": 8}


def letters() -> tuple[torch.Tensor, torch.Tensor]:
    """Bars on the left or on the right: a mirrored one is of the other class."""
    x = torch.zeros(80, 8, 8, dtype=torch.uint8)
    y = torch.arange(80) % 2
    x[y == 0, :, :3] = 200
    x[y == 1, :, 5:] = 200
    y[40:] = -1
    return x + torch.randint(50, x.shape, generator=torch.Generator().manual_seed(0)).byte(), y


def weights(run: fewlabels.Run) -> list[torch.Tensor]:
    return list(run.model.state_dict().values())


def test_whether_images_are_mirrored_is_a_setting_of_the_run(tmp_path):
    plain, mirrored = (fewlabels.fit(letters(), out=tmp_path / str(flip), flip=flip, **ASKED) for flip in (False, None))
    assert tomllib.loads((plain.folder / "config.toml").read_text())["flip"] is False
    assert not all(torch.equal(a, b) for a, b in zip(weights(plain), weights(mirrored), strict=True))
    with pytest.raises(InputError, match="whether digits may be mirrored is fixed"):
        fewlabels.fit("digits", flip=True, out=tmp_path / "digits", **ASKED | {"labels": 20})


def test_a_run_on_arrays_goes_on_as_it_began(tmp_path):
    def cut(event: object) -> None:
        if isinstance(event, Epoch) and event.metrics["epoch"] == 1:
            raise KeyboardInterrupt

    whole = fewlabels.fit(letters(), out=tmp_path / "whole", flip=False, **ASKED)
    with pytest.raises(KeyboardInterrupt):
        fewlabels.fit(letters(), out=tmp_path / "cut", flip=False, listener=cut, **ASKED)
    with pytest.raises(InputError, match="was trained on arrays"):
        fewlabels.resume(tmp_path / "cut")
    again = fewlabels.resume(tmp_path / "cut", data=letters())
    assert all(torch.equal(a, b) for a, b in zip(weights(whole), weights(again), strict=True))
    assert fewlabels.resume(tmp_path / "cut").record == again.record


def test_a_list_is_as_good_as_a_tuple(tmp_path):
    run = fewlabels.fit(letters(), class_prior=[0.25, 0.75], out=tmp_path / "run", **ASKED)
    assert run.record["config"]["labeler"]["class_prior"] == [0.25, 0.75]


def test_predictions_are_names_and_probabilities(tmp_path):
    x, y = letters()
    run = fewlabels.fit((x, y), method="supervised", flip=False, out=tmp_path / "run", **ASKED | {"steps": 40})
    share = run.predict_proba(x[:6])
    assert torch.allclose(share.sum(1), torch.ones(6))
    assert run.predict(x[:6]) == [run.classifier.classes[i] for i in share.argmax(1)]
    assert fewlabels.load(run.folder).predict(x[:6]) == run.predict(x[:6])
