"""What the page shows of one run, in words and numbers ready to print; nothing here knows HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fewlabels.report import heat
from fewlabels.report.charts import Drawn
from fewlabels.report.curves import run_charts
from fewlabels.report.heat import Heat
from fewlabels.report.names import STAGES, data_name, duration, labels_name, method_name, percent, thousands
from fewlabels.report.records import Record, flatten
from fewlabels.report.rerun import BUDGETS, Rerun, rerun
from fewlabels.report.runs import PseudoLabels, Run
from fewlabels.report.sprite import Sprite


class Fact(NamedTuple):
    """A number in large type: its name, the number, its unit, and what else is to be said."""

    name: str
    value: str
    unit: str = ""
    note: str = ""


class ClassCount(NamedTuple):
    """How many images were given a label; how many of them rightly, and how many have it in truth, where known."""

    name: str
    given: int
    right: int | None
    truth: int | None


class Stage(NamedTuple):
    """Where a run's time went."""

    name: str
    time: str
    share: float


class Picture(NamedTuple):
    """One picture of the gallery, and where it stands on the sheet."""

    column: int
    row: int
    label: str
    confidence: float
    truth: str | None
    name: str | None

    @property
    def state(self) -> str:
        """Right, wrong, or unknown."""
        return "unknown" if self.truth is None else "right" if self.truth == self.label else "wrong"

    @property
    def spoken(self) -> str:
        """What somebody who cannot see it is told.

        >>> Picture(0, 0, "cat", 0.981, "dog", None).spoken
        'image labelled cat, 98 % sure; wrong, it is dog'
        """
        verdict = {"unknown": "", "right": "; right", "wrong": f"; wrong, it is {self.truth}"}[self.state]
        return f"{self.name or 'image'} labelled {self.label}, {100 * self.confidence:.0f} % sure{verdict}"


@dataclass(frozen=True)
class View:
    """One run as the page shows it."""

    key: str
    name: str
    title: str
    subtitle: str
    state: str | None
    facts: tuple[Fact, ...]
    charts: tuple[Drawn, ...]
    counts: tuple[ClassCount, ...]
    plan: Heat | None
    confusion: Heat | None
    sprite: Sprite | None
    pictures: tuple[Picture, ...]
    stages: tuple[Stage, ...]
    settings: tuple[tuple[str, str], ...]
    provenance: tuple[tuple[str, str], ...]
    rerun: Rerun

    @property
    def picture_classes(self) -> tuple[str, ...]:
        """The labels that the gallery's pictures have, for its filter."""
        return tuple(sorted({picture.label for picture in self.pictures}))

    @property
    def truth_known(self) -> bool:
        """Whether right and wrong can be told."""
        return any(picture.truth is not None for picture in self.pictures)


def view(run: Run, key: str, sprite: Sprite | None, runs: int = 1) -> View:
    """Everything that is known of a run."""
    record = run.record
    return View(
        key=key,
        name=run.name,
        title=title(record),
        subtitle=_subtitle(run),
        state=_state(run),
        facts=_facts(run),
        charts=run_charts(run.curve, record, runs),
        counts=_counts(run),
        plan=None if run.plan is None else heat.plan(run.plan),
        confusion=None if record.confusion is None else heat.confusion(record.confusion, record.classes),
        sprite=sprite,
        pictures=() if sprite is None else _pictures(sprite, record.classes),
        stages=_stages(run.stage_seconds, record.seconds),
        settings=_settings(record),
        provenance=_provenance(record),
        rerun=rerun(run),
    )


def title(record: Record) -> str:
    """What a run is.

    >>> title(Record("cifar10", "rot", 4000, 0))
    'ROT on CIFAR-10, 4,000 labels'
    """
    return f"{method_name(record.method)} on {setting(record)}"


def setting(record: Record) -> str:
    """Its data and its labels; a run that has not ended may not know how many.

    >>> setting(Record("svhn", "rot", 0, 0))
    'SVHN'
    """
    return data_name(record.data) + (f", {labels_name(record.labels)}" if record.labels else "")


def _subtitle(run: Run) -> str:
    record = run.record
    used = record.uses_unlabeled and record.unlabeled is not None
    unlabeled = f"{thousands(record.unlabeled or 0)} unlabelled images" if used else None
    preset = None if record.preset is None else f"preset {record.preset}"
    started = None if record.started is None else record.started[:16].replace("T", " ")
    parts = (unlabeled, f"seed {record.seed}", preset, None if not run.finished else str(record.budget), started)
    return " · ".join(part for part in parts if part)


def _state(run: Run) -> str | None:
    """What is to be said of a run that has not ended."""
    if run.finished:
        return None
    epochs = len(run.curve.get("epoch", ()))
    after = f"after {thousands(epochs)} epoch{'s' * (epochs != 1)}" if epochs else "before its first epoch"
    return f"The page shows how this run stood {after}; there is no test error yet. fewlabels resume goes on with it."


def _facts(run: Run) -> tuple[Fact, ...]:
    record = run.record
    facts = [_test_fact(record)]
    if record.validation_error is not None:
        epoch = "" if record.best_epoch is None else f"lowest, after epoch {thousands(record.best_epoch)}"
        facts.append(Fact("Validation error", percent(record.validation_error), "%", epoch))
    if (right := _last(run, "pseudo_label_accuracy")) is not None:
        own = _last(run, "classifier_accuracy")
        note = "" if own is None else f"of the last pool; the classifier itself {percent(own, 1)} %"
        facts.append(Fact("Right pseudo-labels", percent(right, 1), "%", note))
    if (cost := _last(run, "transport_cost")) is not None:
        facts.append(Fact("Transport cost", f"{cost:.3f}", "", "at the last labelling"))
    if record.seconds is not None:
        speed = "" if record.images_per_second is None else f"{thousands(record.images_per_second)} images per second"
        facts.append(Fact("Time", duration(record.seconds), "", speed))
    return tuple(fact for fact in facts if fact is not None)


def _test_fact(record: Record) -> Fact | None:
    error = record.reported_error
    if error is None:
        return None
    parts = ["after the last step: no validation images chose an epoch" if record.terminal else ""]
    if record.test_interval is not None and not record.terminal:
        low, high = record.test_interval
        parts = [f"95 % interval {percent(low)} to {percent(high)}", "at the epoch of lowest validation error"]
        if record.terminal_test_error is not None:
            parts.append(f"at the end {percent(record.terminal_test_error)} %")
    return Fact("Test error", percent(error), "%", "; ".join(part for part in parts if part))


def _last(run: Run, column: str) -> float | None:
    return next((value for value in reversed(run.curve.get(column, ())) if value is not None), None)


def _counts(run: Run) -> tuple[ClassCount, ...]:
    """Labels per class, from every label of the last labelling, else from the epochs."""
    if run.pseudo_labels is not None:
        return _counted(run.pseudo_labels, run.record.classes)
    return tuple(
        ClassCount(class_name(run.record.classes, j), n, None, None) for j, n in enumerate(run.labels_per_class)
    )


def _counted(found: PseudoLabels, classes: tuple[str, ...]) -> tuple[ClassCount, ...]:
    known = found.truth >= 0
    count = max(len(classes), int(max(found.label.max(initial=-1), found.truth.max(initial=-1))) + 1)
    given = np.bincount(found.label[found.label >= 0], minlength=count)
    right = np.bincount(found.label[known & (found.label == found.truth)], minlength=count)
    truth = np.bincount(found.truth[known], minlength=count)
    sealed = not known.all()
    return tuple(
        ClassCount(
            class_name(classes, j),
            int(given[j]),
            None if sealed else int(right[j]),
            None if sealed else int(truth[j]),
        )
        for j in range(count)
    )


def class_name(classes: tuple[str, ...], index: int) -> str:
    """A class's name, its number where it has none, and a word for no class at all.

    >>> class_name(("cat", "dog"), 1), class_name((), 1), class_name(("cat", "dog"), -1)
    ('dog', '1', 'no label')
    """
    if index < 0:
        return "no label"
    return classes[index] if index < len(classes) else str(index)


def _pictures(sprite: Sprite, classes: tuple[str, ...]) -> tuple[Picture, ...]:
    columns = sprite.gallery.columns
    return tuple(
        Picture(
            column=i % columns,
            row=i // columns,
            label=class_name(classes, tile.label),
            confidence=tile.confidence,
            truth=None if tile.truth is None else class_name(classes, tile.truth),
            name=tile.name,
        )
        for i, tile in enumerate(sprite.gallery.tiles)
    )


def _stages(seconds: Mapping[str, float], whole: float | None) -> tuple[Stage, ...]:
    """The stages in their order, and what is left of the whole."""
    known = {name: seconds[name] for name in (*STAGES, *seconds) if seconds.get(name)}
    total = max(whole or 0.0, sum(known.values()))
    if not known or not total:
        return ()
    rest = total - sum(known.values())
    if rest > 0.005 * total:
        known["other"] = known.get("other", 0.0) + rest
    return tuple(Stage(STAGES.get(name, name), duration(time), time / total) for name, time in known.items())


def _settings(record: Record) -> tuple[tuple[str, str], ...]:
    """The whole configuration. What a request leaves open is told as it came to be, before all that was asked."""
    asked = flatten(record.config)
    told = {"data_dir"} | ({"device"} if record.device else set())  # a path of that machine; what stands below
    told |= {"recipe.epochs"} if asked.keys() & BUDGETS else set()  # the recipe's own budget, which did not rule
    resolved = {
        "data": record.data,
        "method": record.method,
        "recipe": record.recipe,
        "labels": record.labels or None,
        "unlabeled": record.unlabeled if record.uses_unlabeled else None,
        "model": record.model,
        "precision": record.precision,
    }
    known = {name: _resolved(value, asked.get(name)) for name, value in resolved.items() if value is not None}
    rest = {name: _plain(value) for name, value in asked.items() if name not in {*known, *told}}
    return (*known.items(), *rest.items())


def _resolved(value: Any, asked: Any) -> str:
    """What was in force, and what was asked where that is something else.

    >>> _resolved("small", "auto"), _resolved(100, None)
    ('small (asked: auto)', '100')
    """
    return _plain(value) if asked in (None, value) else f"{_plain(value)} (asked: {_plain(asked)})"


def _plain(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(item)}" for name, item in flatten(value).items()) or "–"
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value) or "–"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _provenance(record: Record) -> tuple[tuple[str, str], ...]:
    facts = {
        "started": record.started,
        "device": record.device,
        "processes": None if record.world_size == 1 else str(record.world_size),
        "commit": record.commit,
        **record.versions,
    }
    return tuple((name, value) for name, value in facts.items() if value)
