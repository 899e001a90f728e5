"""The page's request for a run is the run's own, from its folder and from its record alone."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from report_fixtures import make_record

from fewlabels.experiments.catalogue import EXPERIMENTS
from fewlabels.experiments.experiment import cells
from fewlabels.experiments.identity import key, key_of_record
from fewlabels.experiments.presets import PRESETS
from fewlabels.methods import METHODS, RECIPES
from fewlabels.report.records import Record, parse_record
from fewlabels.report.rerun import from_record, rerun
from fewlabels.report.runs import Run
from fewlabels.train.config import Config, from_toml, plan_of
from fewlabels.train.record import request


def recorded(config: Config, labels: int) -> Record:
    """What is left of a request in a line of a ``.jsonl`` file."""
    plan = plan_of(config)
    steps = None if config.minutes else config.steps or plan.recipe.epochs * plan.recipe.epoch_steps
    tree: dict[str, Any] = {
        "schema_version": 1,
        "data": config.data,
        "method": config.method,
        "recipe": config.recipe or "own",
        "labels": labels,
        "seed": config.seed,
        "budget": {"steps": steps, "minutes": config.minutes},
        "config": request(config, plan),
    }
    return parse_record(json.loads(json.dumps(tree)))


def asked_again(record: Record, file: Path, request: dict[str, Any] | None = None) -> Config:
    file.write_text(rerun(Run("a run", record, request=request or {})).toml, encoding="utf-8")
    return from_toml(file)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("preset", PRESETS)
def test_a_record_of_every_cell_is_asked_for_again(name, preset, tmp_path):
    for cell in cells(EXPERIMENTS[name], PRESETS[preset]):
        record = recorded(cell, cell.labels)
        assert key(asked_again(record, tmp_path / "config.toml")) == key(cell) == key_of_record(record), cell


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("recipe", [None, *RECIPES])
def test_a_record_of_every_method_with_every_recipe_is_asked_for_again(method, recipe, tmp_path):
    for budget in ({}, {"epochs": 3}, {"steps": 100}, {"minutes": 1.5}):
        config = Config("digits", method, recipe=recipe, labels=50, **budget)
        again = asked_again(recorded(config, 50), tmp_path / "config.toml")
        assert key(again) == key(config)
        assert plan_of(again) == plan_of(config)


def test_what_was_turned_off_stays_off(tmp_path):
    off = {"ema": None, "evaluate": "student", "match_with": "student", "supervised_batch": None}
    config = Config("digits", recipe="strong", labels=50, steps=64, overrides=off)
    again = asked_again(recorded(config, 50), tmp_path / "config.toml")
    assert plan_of(again) == plan_of(config)
    assert plan_of(again).recipe.ema is None
    assert key(again) == key(config)


def test_a_request_says_how_many_labels_a_benchmark_had_and_not_how_many_a_folder_had(tmp_path):
    for data, labels in (("digits", 100), ("photos", None)):
        record = recorded(Config(data, steps=64), 100)
        assert from_record(record).get("labels") is None
        (command, _) = rerun(Run("a run", record, request={"data": data, "method": "rot", "steps": 64})).commands
        assert ("--labels 100" in command) == (labels is not None)
        assert asked_again(record, tmp_path / "config.toml").labels == labels


def test_what_was_asked_for_goes_before_what_came_out():
    """Of 40 labels a tenth may judge: 36 are learnt from, and 36 is another request."""
    record = recorded(Config("digits", labels=40, validation=0, steps=64), 36)
    asked = {"data": "digits", "method": "rot", "labels": 40, "steps": 64}
    command, _ = rerun(Run("a run", record, request=asked)).commands
    assert shlex.split(command) == shlex.split("fewlabels train digits --method rot --labels 40 --steps 64")


def test_a_recipe_by_name_stands_before_the_settings():
    found = rerun(Run("a run", make_record()))
    assert "recipe" not in found.toml.split("[overrides]")[0]  # the method's own needs no name
    assert 'recipe = "strong"' in rerun(Run("a run", recorded(Config("digits", recipe="strong"), 100))).toml
