from __future__ import annotations

import dataclasses

import pytest

from fewlabels.errors import InputError
from fewlabels.experiments.catalogue import EXPERIMENTS
from fewlabels.experiments.experiment import cells
from fewlabels.experiments.identity import key
from fewlabels.experiments.presets import PRESETS, preset
from fewlabels.methods import METHODS
from fewlabels.report.records import Budget, Record
from fewlabels.report.tables import Setting, error_table
from fewlabels.train.config import plan_of

COUNTS = {
    "table1": 16,
    "table2": 8,
    "methods": 30,
    "ablation": 24,
    "full": 2,
    "figure1": 10,
    "figure2": 17,
    "figure3": 9,
    "figure4": 9,
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_cell_is_run_once_a_seed(name):
    assert len(cells(EXPERIMENTS[name], PRESETS["desk"])) == COUNTS[name]
    on_paper = {**COUNTS, "ablation": 18}[name]  # six of its changes are what Sec. 7 does anyway
    assert len(cells(EXPERIMENTS[name], PRESETS["paper"])) == 5 * on_paper
    assert len(cells(EXPERIMENTS[name], PRESETS["paper"], seeds=[7, 7, 8])) == 2 * on_paper


def test_a_first_seed_of_everything_comes_before_a_second():
    seeds = [cell.seed for cell in cells(EXPERIMENTS["table1"], PRESETS["paper"])]
    assert seeds == sorted(seeds)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_presets_have_no_run_in_common(name):
    keys = [{key(cell) for cell in cells(EXPERIMENTS[name], p, seeds=[0])} for p in PRESETS.values()]
    assert not keys[0] & keys[1]
    assert not keys[0] & keys[2]
    assert not keys[1] & keys[2]


def test_at_the_desk_methods_differ_in_what_they_are_and_in_nothing_else():
    drawn = cells(EXPERIMENTS["table1"], PRESETS["desk"])
    recipes = {dataclasses.replace(plan_of(cell).recipe, unlabeled_views=()) for cell in drawn}
    assert len(recipes) == 1
    assert {view for cell in drawn for view in plan_of(cell).recipe.unlabeled_views} == {"strong"}
    budgets = {(cell.data, cell.steps, cell.model, cell.preset) for cell in drawn}
    assert budgets == {("cifar10", 2560, "wrn-16-2", "desk"), ("svhn", 1536, "wrn-16-2", "desk")}


def test_every_method_of_the_catalogue_can_be_compared():
    drawn = cells(EXPERIMENTS["methods"], PRESETS["desk"])
    assert {cell.method for cell in drawn} == set(METHODS)
    keys = {key(cell) for cell in drawn}
    assert all(key(cell) in keys for name in ("table1", "table2") for cell in cells(EXPERIMENTS[name], PRESETS["desk"]))


def test_on_paper_each_column_has_the_recipe_it_was_published_with():
    drawn = {cell.method: cell for cell in cells(EXPERIMENTS["table1"], PRESETS["paper"], data="cifar10")}
    assert {name: cell.recipe for name, cell in drawn.items()} == {
        "supervised": "paper",
        "rot": "paper",
        "soft-rot": "paper",
        "pi": "oliver",
        "mean-teacher": "oliver",
        "vat": "oliver",
        "vat-entmin": "oliver",
        "pseudo-label": "oliver",
    }
    rates = {name: plan_of(cell).recipe.learning_rate for name, cell in drawn.items()}
    assert rates["rot"] == rates["vat"] == 3e-3
    assert (rates["pi"], rates["mean-teacher"]) == (3e-4, 4e-4)
    assert {cell.steps for cell in drawn.values()} == {500_000}


def test_presets_never_share_a_column():
    runs = [
        Record(
            cell.data,
            cell.method,
            cell.labels or 0,
            cell.seed,
            preset=p.name,
            budget=Budget(cell.steps),
            test_error=0.1,
        )
        for p in PRESETS.values()
        for cell in cells(EXPERIMENTS["table1"], p)
    ]
    table = error_table("Errors", runs, [Setting("cifar10", 4000), Setting("svhn", 1000)], ["rot", "vat"], quotes=())
    assert [column.preset for column in table.columns] == ["desk", "paper", "desk", "paper"]
    for row in table.rows:
        assert [cell.preset for cell in row.cells] == ["desk", "paper", "desk", "paper"]


def test_what_is_not_there_is_refused_with_what_is():
    table = EXPERIMENTS["table1"]
    with pytest.raises(InputError, match=r"no preset 'desc'. Did you mean 'desk'"):
        preset("desc")
    with pytest.raises(InputError, match=r"table1 has no method 'mean-techer'. Did you mean 'mean-teacher'"):
        cells(table, PRESETS["smoke"], methods=["mean-techer"])
    with pytest.raises(InputError, match=r"figure3 has no data set 'cifar10'. There are: svhn"):
        cells(EXPERIMENTS["figure3"], PRESETS["smoke"], data="cifar10")
