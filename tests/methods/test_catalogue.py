"""What the catalogue says of each method, and which of its knobs belong to the data."""

from __future__ import annotations

from dataclasses import fields
from math import exp
from pathlib import Path
from typing import get_type_hints

import pytest
import torch

from fewlabels.data.normalize import fit
from fewlabels.data.sources import NAMED, open_source
from fewlabels.errors import InputError
from fewlabels.methods import FOR_DATA, METHODS, VAT, EntMin, FixMatch, MeanTeacher, Pi, PseudoLabel, Ramp, Step
from fewlabels.methods.method import weight_at
from fewlabels.report.quoted import QUOTES
from fewlabels.train.config import Config, plan_of


def the(kind: type, plan):
    """The method's term of this kind."""
    [found] = [term for _, term in plan.terms if isinstance(term, kind)]
    return found


@pytest.mark.parametrize("method", ["vat", "vat-entmin"])
@pytest.mark.parametrize(("data", "eps"), [("cifar10", 6.0), ("svhn", 1.0), ("svhn-extra", 1.0), ("digits", None)])
def test_vats_radius_belongs_to_the_data(method, data, eps):
    for recipe in (None, "strong", "oliver", "paper"):
        assert the(VAT, plan_of(Config(data, method, recipe=recipe))).eps == eps
    assert the(VAT, plan_of(Config(data, method, overrides={"eps": 2.5}))).eps == 2.5
    assert the(VAT, plan_of(Config(data, method, normalize="standardize"))).eps is None  # other units


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "normalize", "share"),
    [("cifar10", "gcn-zca", 0.222), ("cifar10", "gcn", 0.109), ("svhn", "symmetric", 0.078)],
)
def test_vats_radius_is_this_share_of_an_image(name, normalize, share):
    try:
        pixels = torch.as_tensor(open_source(name).train.pixels[:10_000])
    except InputError as missing:
        pytest.skip(str(missing))
    images = fit(normalize, pixels)(pixels).flatten(1)
    contrast = (images - images.mean(1, keepdim=True)).norm(dim=1).median()
    normalizations, knobs = FOR_DATA[name]
    assert normalize in normalizations
    assert knobs["eps"] / float(contrast) == pytest.approx(share, abs=0.001)


def test_what_belongs_to_the_data_is_a_knob_of_some_term():
    knobs = {name for entry in METHODS.values() for _, term in entry.terms for name in get_type_hints(type(term))}
    assert set(FOR_DATA) <= set(NAMED)
    assert {name for _, values in FOR_DATA.values() for name in values} <= knobs


def test_a_terms_knobs_are_settings_of_a_run():
    assert the(FixMatch, plan_of(Config("digits", "fixmatch", overrides={"threshold": 0.8}))).threshold == 0.8
    assert plan_of(Config("svhn", "rot")) == METHODS["rot"]


# Oliver et al. (2018): learning rate, and the largest weight of each term; the weights of consistency ramp up.
OLIVER = {
    "supervised": (3e-3, ()),
    "pi": (3e-4, ((Ramp(20.0, over=0.4), Pi()),)),
    "mean-teacher": (4e-4, ((Ramp(8.0, over=0.4), MeanTeacher(decay=0.95)),)),
    "vat": (3e-3, ((Ramp(0.3, over=0.4), VAT(eps=6.0, xi=1e-6, iterations=1)),)),
    "vat-entmin": (3e-3, ((Ramp(0.3, over=0.4), VAT(eps=6.0, xi=1e-6, iterations=1)), (0.1, EntMin()))),
    "pseudo-label": (3e-4, ((Ramp(1.0, over=0.4), PseudoLabel(threshold=0.95)),)),
}


@pytest.mark.parametrize("name", OLIVER)
def test_the_recipe_of_the_comparison_columns(name):
    plan = plan_of(Config("cifar10", name, recipe="oliver"))
    recipe, (rate, terms) = plan.recipe, OLIVER[name]
    assert plan.terms == terms
    assert recipe.learning_rate == rate
    assert (recipe.optimizer, recipe.schedule, recipe.weight_decay) == ("adam", "step", 0.0)
    assert (recipe.labeled_batch, recipe.unlabeled_batch, recipe.supervised_batch) == (50, 50, 100)
    assert (recipe.divide_by, recipe.ema, recipe.evaluate) == ("batch", None, "student")
    assert {recipe.labeled_view, *recipe.unlabeled_views} == {"standard"}
    assert plan.labeler is None


def test_a_ramp_is_that_of_200_000_steps_of_500_000():
    for steps in (0, 50_000, 100_000, 200_000, 400_000):
        expected = 20.0 * exp(-5.0 * (1 - min(steps / 200_000, 1)) ** 2)
        assert weight_at(Ramp(20.0), Step(steps, steps / 500_000)) == pytest.approx(expected)


PAGES = Path(__file__).parents[2] / "docs" / "methods"
HEADINGS = ["## Equation", "## Knobs", "## Quoted numbers", "## Our own numbers"]


def parts(name):
    return [part for part in (METHODS[name].labeler, *(term for _, term in METHODS[name].terms)) if part is not None]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_a_page_that_names_its_knobs_with_their_defaults(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    table = page.partition("## Knobs")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip(" `") for cell in line.split("|")[1:3]] for line in table if line.startswith("| `")]
    written = dict(rows)
    assert len(written) == len(rows)
    knobs = {f.name: getattr(part, f.name) for part in parts(name) for f in fields(part)}
    assert set(written) == set(knobs)
    for knob, value in knobs.items():
        shown = written[knob].strip('"')
        assert shown == str(value) if isinstance(value, str | bool | None) else float(shown) == value
    headings = [line for line in page.splitlines() if line in HEADINGS]  # a page may have more
    assert headings == HEADINGS


@pytest.mark.parametrize("name", METHODS)
def test_a_page_quotes_what_the_tables_quote(name):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for quote in QUOTES:
        if quote.method == name:
            assert f"{100 * quote.mean:.2f}" in page, quote
    if any(isinstance(weight, Ramp) for weight, _ in METHODS[name].terms):
        assert "exp(-5 (1 - t / 0.4)^2)" in page


def test_the_index_lists_every_page():
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    assert {page.stem for page in PAGES.glob("*.md")} == {*METHODS, "README"}
    for name in METHODS:
        assert f"| [`{name}`]({name}.md) |" in index
