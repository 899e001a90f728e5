"""What the catalogue says of each method, and which of its knobs belong to the data."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from fewlabels.data.sources import NAMED
from fewlabels.methods import FOR_DATA, METHODS, VAT, FixMatch
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


def test_what_belongs_to_the_data_is_a_knob_of_some_term():
    knobs = {name for entry in METHODS.values() for _, term in entry.terms for name in get_type_hints(type(term))}
    assert set(FOR_DATA) <= set(NAMED)
    assert {name for values in FOR_DATA.values() for name in values} <= knobs


def test_a_terms_knobs_are_settings_of_a_run():
    assert the(FixMatch, plan_of(Config("digits", "fixmatch", overrides={"threshold": 0.8}))).threshold == 0.8
    assert plan_of(Config("svhn", "rot")) == METHODS["rot"]
