from __future__ import annotations

import numpy as np
import pytest

from fewlabels.errors import InputError
from fewlabels.estimators.targets import masses_of, read_targets, without_label


@pytest.mark.parametrize(
    ("y", "unlabeled", "classes", "codes"),
    [
        (np.array([3, -1, 7, 3]), -1, [3, 7], [0, -1, 1, 0]),
        (np.array([3.0, -1.0, 7.0]), -1, [3.0, 7.0], [0, -1, 1]),
        (np.array(["dog", "", "cat"]), "", ["cat", "dog"], [1, -1, 0]),
        (np.array(["dog", -1, "cat"]), -1, ["cat", "dog"], [1, -1, 0]),
        (np.array(["dog", -1, "cat"], dtype=object), -1, ["cat", "dog"], [1, -1, 0]),
        (np.array(["dog", None, "cat"], dtype=object), None, ["cat", "dog"], [1, -1, 0]),
        (np.array([None, 7, 3, None], dtype=object), None, [3, 7], [-1, 1, 0, -1]),
        (np.array([None, True, False], dtype=object), None, [False, True], [-1, 1, 0]),
        (np.array(["", 7.0, 3.0], dtype=object), "", [3.0, 7.0], [-1, 1, 0]),
        (np.array([True, False]), -1, [False, True], [1, 0]),
        (np.array([2, 1]), "", [1, 2], [1, 0]),
    ],
)
def test_labels_of_every_kind_become_numbers(y, unlabeled, classes, codes):
    targets = read_targets(y, unlabeled)
    assert targets.classes.tolist() == classes
    assert targets.codes.tolist() == codes
    assert targets.labeled.tolist() == [i for i, code in enumerate(codes) if code >= 0]
    assert targets.unlabeled.tolist() == [i for i, code in enumerate(codes) if code < 0]


def test_a_mark_that_is_no_number_marks_no_number():
    assert not without_label(np.array([-1, 0]), "?").any()


def test_a_prior_is_plain_numbers():
    assert masses_of(None) is None
    assert masses_of(np.array([0.25, 0.75], dtype=np.float32)) == (0.25, 0.75)


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(InputError, match=r"0 of 3 rows are labelled \(unlabeled=-1\)"):
        read_targets(np.array([-1, -1, -1]), -1)
    with pytest.raises(ValueError, match="Unknown label type"):
        read_targets(np.array([0.5, 1.5, -1.0]), -1)
    with pytest.raises(ValueError, match="Unknown label type"):
        read_targets(np.array([0.5, 1.5, None], dtype=object), None)
    with pytest.raises(InputError, match="the labels are of NoneType, int: give numbers alone or text alone, and as"):
        read_targets(np.array([None, 0, 1], dtype=object), -1)
    with pytest.raises(InputError, match="the labels are of int, str: give"):
        read_targets(np.array([None, 0, "cat"], dtype=object), None)
