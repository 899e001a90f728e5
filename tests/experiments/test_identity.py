from __future__ import annotations

import dataclasses
import json

import pytest

from fewlabels.experiments.appendix_f import sweeps
from fewlabels.experiments.catalogue import EXPERIMENTS
from fewlabels.experiments.experiment import cells
from fewlabels.experiments.identity import SEED, key, key_of_record, run_name
from fewlabels.experiments.presets import PRESETS
from fewlabels.report.records import parse_record
from fewlabels.train.config import Config
from fewlabels.train.run import start

ASKED = Config("digits", "rot", labels=100, steps=3, model="small", overrides={"epoch_steps": 2, "pool": 50})


@pytest.mark.parametrize(
    "change",
    [
        {"device": "cpu"},
        {"precision": "float32"},
        {"devices": 2},
        {"compile": True},
        {"data_dir": "elsewhere"},
        {"preset": "desk"},
        {"model": "auto"},
        {"overrides": {"epoch_steps": 2, "pool": 50, "epochs": 7}},
        {"overrides": {"epoch_steps": 2, "pool": 50, "reg": 0.25, "alpha": 1}},
    ],
)
def test_what_does_not_decide_the_result_is_the_same_run(change):
    assert key(dataclasses.replace(ASKED, **change)) == key(ASKED)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"labels": 110},
        {"unlabeled": 500},
        {"steps": 4},
        {"steps": None, "minutes": 1.0},
        {"method": "soft-rot"},
        {"recipe": "paper"},
        {"overrides": {"epoch_steps": 2, "pool": 50, "reg": 0.5}},
        {"stratify": "proportional"},
    ],
)
def test_what_decides_the_result_is_another_run(change):
    other = dataclasses.replace(ASKED, **change)
    assert key(other) != key(ASKED)
    assert run_name(other) != run_name(ASKED)


def test_a_record_is_known_by_the_request_it_came_from(tmp_path):
    tree = json.loads(json.dumps(start(ASKED, tmp_path / "run")))
    record = parse_record(tree)
    assert key_of_record(record) == key(ASKED)
    assert key_of_record(record, but=SEED) == key(dataclasses.replace(ASKED, seed=4), but=SEED)
    assert key_of_record(record) != key(dataclasses.replace(ASKED, seed=4))


def test_a_record_from_before_a_setting_was_added_is_still_known(tmp_path):
    asked = dataclasses.replace(ASKED, method="soft-rot")
    tree = json.loads(json.dumps(start(asked, tmp_path / "run")))
    del tree["config"]["recipe"]["alpha_ramp"]
    del tree["config"]["labeler"]["soft"]  # what the method has for it: True
    assert key_of_record(parse_record(tree)) == key(asked)
    tree["config"]["recipe"]["a_setting_that_is_gone"] = 1
    assert key_of_record(parse_record(tree)) != key(asked)


@pytest.mark.parametrize("preset", PRESETS)
def test_what_stands_in_two_tables_is_one_run(preset):
    drawn = {name: {key(c) for c in cells(EXPERIMENTS[name], PRESETS[preset], seeds=[0])} for name in EXPERIMENTS}
    assert len(drawn["table1"] & drawn["table2"]) == 4  # ROT and Soft-ROT on both sets
    assert drawn["figure1"] <= drawn["figure2"]
    assert drawn["full"] <= drawn["figure2"]
    assert not drawn["figure2"] & drawn["table1"]  # figures price the pairs exactly, tables by their bound
    assert len(drawn["figure3"] & drawn["table1"]) == len(drawn["figure4"] & drawn["table1"]) == 1
    assert len(drawn["figure3"]) == 9 < len(sweeps("svhn"))  # lambda = 0.25 with alpha = 1 is asked for three times
