"""What a run is asked to do, as plain data that stops at the door.

A request comes from the command line, ``FEWLABELS_*`` variables, a TOML file or ``fewlabels.fit``; all end as one
frozen ``Config``. ``plan_of`` turns its names into a ``Method`` with every override applied: the loop sees no names.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from fewlabels.errors import InputError
from fewlabels.methods import FOR_DATA, METHODS, RECIPES
from fewlabels.methods.method import Method, Recipe

Value = str | int | float | bool | tuple[Any, ...] | None
NONE = "none"  # how a file says None
MOST_SEED = 2**40  # generators are seeded with multiples of it

# The least and the largest value of a setting; some others must be above zero.
RANGES: dict[str, tuple[float, float]] = {
    "weight_decay": (0, math.inf),
    "labeled_batch": (1, math.inf),
    "unlabeled_batch": (1, math.inf),
    "supervised_batch": (1, math.inf),
    "epoch_steps": (1, math.inf),
    "epochs": (1, math.inf),
    "relabel_epochs": (1, math.inf),
    "momentum": (0, 1),
    "warmup": (0, 1),
    "alpha": (0, math.inf),
    "alpha_ramp": (0, 1),
    "ema": (0, 1),
    "pool": (1, math.inf),
    "threshold": (0, 1),
    "decay": (0, 1),
    "every": (1, math.inf),
    "iterations": (0, math.inf),
    "eps": (0, math.inf),
    "sigmas": (0, math.inf),
}
ABOVE_ZERO = ("learning_rate", "reg", "bound", "xi")


@dataclass(frozen=True)
class Config:
    """One run. ``overrides`` holds fields of the recipe, labeler and terms that differ from the method's own."""

    data: str
    method: str = "rot"
    recipe: str | None = None  # None: the method's own
    labels: int | None = None  # None: the source's default, or every label it has
    unlabeled: int | None = None  # None: all of them
    stratify: str = "equal"
    validation: int | None = None  # None: the source's own rule
    model: str = "auto"
    seed: int = 0
    epochs: int | None = None
    steps: int | None = None
    minutes: float | None = None
    normalize: str | None = None
    flip: bool | None = None  # whether a mirrored image keeps its class; None: the source's own answer
    size: int | None = None  # side to which images of a folder or table are resized
    device: str = "auto"
    precision: str = "auto"
    devices: int = 1
    nodes: int = 1
    compile: bool = False
    data_dir: str | None = None
    preset: str | None = None
    overrides: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        budgets = [name for name in ("epochs", "steps", "minutes") if getattr(self, name) is not None]
        if len(budgets) > 1:
            raise InputError(f"a run has one budget, got {' and '.join('--' + b for b in budgets)}: keep one of them")
        for name in (*budgets, "labels", "devices", "nodes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:  # also refuses what is not a number
                raise InputError(f"--{name} must be above zero, got {value}")
        for name in ("unlabeled", "validation"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise InputError(f"--{name} must be zero or more, got {value}")
        if not 0 <= self.seed <= MOST_SEED:
            raise InputError(f"--seed must lie in 0 .. {MOST_SEED:,}, got {self.seed}")
        if self.stratify not in ("equal", "proportional"):
            raise InputError(f"--stratify is {self.stratify!r}: choose equal or proportional")


def frozen(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with their lists as the tuples that a frozen request holds."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


def nearest(word: str, choices: Iterable[str]) -> str:
    """' Did you mean x?' for the closest of the choices, or what there is to choose from."""
    names = sorted(choices)
    close = difflib.get_close_matches(word, names, n=1)
    return f" Did you mean {close[0]!r}?" if close else f" There are: {', '.join(names)}."


def pick(table: Mapping[str, Any], name: str, kind: str) -> Any:
    """An entry of a catalogue, or an error that names the nearest one."""
    if name not in table:
        raise InputError(f"there is no {kind} {name!r}.{nearest(name, table)}")
    return table[name]


def plan_of(config: Config) -> Method:
    """The method a request names, with its recipe and its overrides in place."""
    method: Method = pick(METHODS, config.method, "method")
    recipe: Recipe = method.recipe if config.recipe is None else pick(RECIPES, config.recipe, "recipe")(method.recipe)
    labeler: Any = method.labeler
    settings = get_type_hints(Recipe)
    knobs = {} if labeler is None else get_type_hints(type(labeler))
    for _, term in method.terms:
        knobs |= get_type_hints(type(term))
    for name, value in config.overrides.items():
        if name not in {**settings, **knobs}:
            known = nearest(name, {**settings, **knobs})
            raise InputError(f"method {config.method!r} with its recipe has no setting {name!r}.{known}")
        check_setting(name, value, {**settings, **knobs}[name])
    chosen = dict(config.overrides)
    normalizations, known_for = FOR_DATA.get(config.data, ((), {}))
    tuned = {**(known_for if config.normalize in (None, *normalizations) else {}), **chosen}
    if labeler is not None:
        labeler = _tuned(labeler, tuned)
    terms = tuple((weight, _tuned(term, tuned)) for weight, term in method.terms)
    chosen_settings: dict[str, Any] = {name: value for name, value in chosen.items() if name in settings}
    if config.epochs is not None:
        chosen_settings["epochs"] = config.epochs
    recipe = _without_average(dataclasses.replace(recipe, **chosen_settings), chosen)
    return dataclasses.replace(method, labeler=labeler, terms=terms, recipe=recipe)


def _without_average(recipe: Recipe, chosen: Mapping[str, Value]) -> Recipe:
    """A recipe that keeps no average of the weights looks at the student; who asks for the average needs one."""
    if recipe.ema:
        return recipe
    for name in ("evaluate", "match_with"):
        if chosen.get(name) == "ema":
            raise InputError(f"{name} is 'ema' and no average of the weights is kept: give ema=0.99 as well")
    return dataclasses.replace(recipe, evaluate="student", match_with="student")


def _tuned(part: Any, values: Mapping[str, Value]) -> Any:
    """A labeler or a term with those of the values that are knobs of it."""
    return dataclasses.replace(part, **{name: values[name] for name in get_type_hints(type(part)) if name in values})


def check_value(name: str, value: Any, hint: Any) -> None:
    """Refuse a setting whose value is not of its type: it would fail, or be ignored, far from here.

    >>> check_value("ema", 0.99, float | None)
    >>> check_value("ema", None, float | None)
    >>> check_value("schedule", "linear", Literal["constant", "cosine"])
    Traceback (most recent call last):
    fewlabels.errors.InputError: schedule is 'linear': give 'constant' or 'cosine'
    """
    if not isinstance(value, str | int | float | bool | tuple | None):
        raise InputError(f"{name} is {value!r}, which the file of a run cannot hold: give a word or a number")
    if not _fits(value, hint):
        raise InputError(f"{name} is {value!r}: give {_in_words(hint)}")


def check_setting(name: str, value: Any, hint: Any) -> None:
    """Refuse a setting of the recipe, the labeler or a term that is not of its type, or a number no run could use."""
    check_value(name, value, hint)
    if not isinstance(value, int | float):
        return
    if name in ABOVE_ZERO and not 0 < value < math.inf:
        raise InputError(f"{name} is {value}: give a number above 0")
    least, most = RANGES.get(name, (-math.inf, math.inf))
    if not least <= value <= most or value == math.inf:
        within = f"from {least:g} to {most:g}" if most < math.inf else f"of at least {least:g}"
        raise InputError(f"{name} is {value}: give a number {within if name in RANGES else 'that is finite'}")


def _fits(value: Any, hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and len(value) > 0 and all(_fits(item, get_args(hint)[0]) for item in value)
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    return isinstance(value, hint)


_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", NoneType: "none"}


def _in_words(hint: Any) -> str:
    """What a type asks for.

    >>> _in_words(int | Literal["labeled", "all"])
    "a whole number, 'labeled' or 'all'"
    """
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    words: list[str] = []
    for part in parts:
        if get_origin(part) is Literal:
            words += [repr(choice) for choice in get_args(part)]
        elif get_origin(part) is tuple:
            words.append(f"a list of one or more, each of it {_in_words(get_args(part)[0])}")
        else:
            words.append(_WORDS.get(part, getattr(part, "__name__", str(part))))
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def to_toml(config: Config) -> str:
    """The request as a TOML file that ``from_toml`` reads back; fields left open are left out."""
    plain = {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.name != "overrides"}
    lines = [f"{name} = {_literal(value)}" for name, value in plain.items() if value is not None]
    if config.overrides:
        lines += ["", "[overrides]", *(f"{name} = {_literal(value)}" for name, value in config.overrides.items())]
    return "\n".join(lines) + "\n"


def from_toml(path: Path) -> Config:
    """Read what ``to_toml`` wrote, or what a person did."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"there is no {path}: is this a run folder?") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a TOML file: {error}") from None
    known = {f.name for f in dataclasses.fields(Config)}
    for name in table:
        if name not in known:
            raise InputError(f"{path} has an unknown setting {name!r}.{nearest(name, known)}")
    chosen = table.pop("overrides", {})
    if not isinstance(chosen, dict):
        raise InputError(f"{path} has overrides = {chosen!r}: give a table, [overrides] and a line a setting")
    overrides = frozen({name: None if value == NONE else value for name, value in chosen.items()})
    if "data" not in table:
        raise InputError(f'{path} lacks data: say what to train on, data = "digits" say')
    hints = get_type_hints(Config)
    for name, value in table.items():
        check_value(name, value, hints[name])
    return Config(**table, overrides=overrides)


def _literal(value: Value) -> str:
    """A TOML literal. TOML escapes what JSON does, and the delete character; it has no null but our word."""
    if value is None:
        return json.dumps(NONE)
    if isinstance(value, tuple):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
