"""The one idea: a method is a labeler, a sum of terms, and a recipe.

    Method(labeler, terms, recipe)

A *labeler* gives pseudo-labels once per epoch (``fewlabels.labels``). A *term* is a loss inside each step, in Optax's
shape ``init / loss / update``: state goes in, state comes out, and teachers and running statistics live in that state
and nowhere else. A *recipe* says how the sum is minimised. All three are plain data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from fewlabels.errors import InputError
from fewlabels.labels.classifier import Argmax
from fewlabels.labels.types import Labeler
from fewlabels.methods.ramps import Ramp

State = (
    Any  # a tree of dicts, lists, tuples, tensors, numbers and None, so that a checkpoint can store it; never a module
)
Weight = float | Ramp


@dataclass(frozen=True)
class Step:
    """Where in the run a loss is asked for."""

    index: int  # optimizer updates done so far
    fraction: (
        float  # the part of the whole budget that is spent, 0 to 1; ramps are written in it, so they fit any budget
    )


@dataclass(frozen=True)
class Batch:
    """What a term sees of one step. Everything is this rank's share; ``gather`` joins the shares of all ranks.

    The student has already run once, with gradients, over the labelled images and the *last* view of the unlabelled
    ones: ``logits`` and ``student`` are its outputs, so a term that needs no other pass costs none.
    """

    images: Float[Tensor, "l *shape"]
    labels: Int[Tensor, " l"]
    logits: Float[Tensor, "l c"]
    views: tuple[Float[Tensor, "u *shape"], ...]
    student: Float[Tensor, "u c"]
    indices: Int[Tensor, " u"]  # which unlabelled images these are, 0 .. n_u - 1
    generator: Generator  # for terms that draw; on the images' device, and nobody else's stream
    gather: Callable[[Tensor], Tensor] = lambda rows: rows  # every rank's rows, without gradient


@runtime_checkable
class Term(Protocol):
    """A loss inside each step. State goes in and comes out; a call may reuse the storage of the state it was given.

    ``loss`` is called once a step, inside the precision context (autocast) the student ran in, with ``model`` as the
    loop holds it, wrapped or not, in training mode. Its passes leave batch normalisation's running statistics alone.
    """

    def init(self, model: nn.Module, *, classes: int, unlabeled: int, prior: Float[Tensor, " c"]) -> State:
        """The state before the first step, for ``unlabeled`` unlabelled images of classes with masses ``prior``."""

    def loss(self, state: State, model: nn.Module, batch: Batch, step: Step) -> tuple[Float[Tensor, ""], State]:
        """A mean over this rank's unlabelled rows, with gradients to ``model`` alone, and what the batch taught."""

    def update(self, state: State, model: nn.Module, step: Step) -> State:
        """The state after an optimizer update; ``step`` is the one whose loss was minimised."""


@dataclass(frozen=True)
class Recipe:
    """How a method is trained. A *step* is one optimizer update; an *epoch* is ``epoch_steps`` of them, always."""

    optimizer: Literal["adam", "sgd"] = "sgd"
    learning_rate: float = 0.1
    momentum: float = 0.9  # sgd only, with nesterov
    weight_decay: float = 5e-4  # never on batch normalisation and biases
    schedule: Literal["constant", "step", "cosine"] = "cosine"
    labeled_batch: int = 64
    unlabeled_batch: int = 128
    supervised_batch: int | None = None  # labelled images a step when nothing unlabelled is used; None: labeled_batch
    divide_by: Literal["part", "batch"] = "part"  # each part of the loss by its own images, or both by all (Oliver)
    labeled_view: str = "strong"
    unlabeled_views: tuple[str, ...] = ("strong",)
    epoch_steps: int = 64
    epochs: int = 60
    warmup: float = 0.15  # the part of the budget spent on labels alone, before a labeler's first labels
    alpha: float = 1.0  # Eq. (5): the weight of the pseudo-labelled loss
    alpha_ramp: float = 0.0  # the part of the budget over which alpha grows from 0
    pool: int | Literal["labeled", "all"] = "labeled"  # unlabelled images labelled anew each time
    relabel_epochs: int = 1
    ema: float | None = 0.99  # decay of the averaged weights; None: no average is kept
    evaluate: Literal["student", "ema"] = "ema"  # whose outputs are judged
    match_with: Literal["student", "ema"] = "ema"  # whose outputs the labeler sees
    match_on: Literal["outputs", "features"] = "outputs"  # features: what the last layer sees, scaled to one-hot rows
    reset_optimizer: bool = False  # forget the optimizer's state when pseudo-labels first appear


@dataclass(frozen=True)
class Method:
    """A labeler or none, a tuple of (weight, term), and the recipe that goes with them."""

    labeler: Labeler | None = None
    terms: tuple[tuple[Weight, Term], ...] = ()
    recipe: Recipe = field(default_factory=Recipe)
    summary: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.labeler, Argmax) and self.recipe.match_on != "outputs":
            raise InputError(
                "match_on='features' and the classifier labels by its own outputs: leave match_on out, or choose "
                "rot, soft-rot, ss-gnn or sm-gnn"
            )

    @property
    def active(self) -> tuple[tuple[Weight, Term], ...]:
        """The terms that are run: all but those that never weigh anything."""
        return tuple((weight, term) for weight, term in self.terms if _peak(weight) != 0)

    @property
    def uses_unlabeled(self) -> bool:
        """Whether a run needs unlabelled images at all."""
        return self.labeler is not None or bool(self.active)


def _peak(weight: Weight) -> float:
    return weight.peak if isinstance(weight, Ramp) else weight


def weight_at(weight: Weight, step: Step) -> float:
    """What a term weighs at a step."""
    return weight(step.fraction) if isinstance(weight, Ramp) else weight
