"""The command line. Torch is imported when a command needs it, so that ``--help`` answers at once."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.config import Env

from fewlabels import __version__
from fewlabels.errors import InputError, RunError
from fewlabels.experiments.command import command as reproduce

if TYPE_CHECKING:
    from fewlabels.train.config import Config

DONE, FAILED, WRONG_REQUEST, INTERRUPTED = 0, 1, 2, 130

app = App(
    name="fewlabels",
    help="Train image classifiers from a few labels and many unlabelled images.",
    version=__version__,
    config=Env("FEWLABELS_", command=False),
    help_format="plaintext",
    default_parameter=Parameter(show_env_var=False),
    suppress_keyboard_interrupt=False,
)
data_app = App(name="data", help="Fetch the benchmark data sets.")
app.command(data_app)

_RECIPE, _MATCHING, _MACHINE = Group("Recipe"), Group("Matching"), Group("Machine")


@Parameter(name="*", group=_RECIPE)
@dataclass(frozen=True)
class RecipeOptions:
    """How the method is trained. What is left out is the recipe's own."""

    recipe: str | None = None
    "A recipe by name in place of the method's own: strong, paper or oliver."
    optimizer: Literal["adam", "sgd"] | None = None
    "The optimizer."
    learning_rate: float | None = None
    "The highest learning rate."
    weight_decay: float | None = None
    "Weight decay, never on biases and batch normalisation."
    schedule: str | None = None
    "How the learning rate falls: constant, step or cosine."
    labeled_batch: int | None = None
    "Labelled images a step."
    unlabeled_batch: int | None = None
    "Unlabelled images a step."
    labeled_view: str | None = None
    "How labelled images are augmented: plain, standard, weak, strong or randaugment."
    unlabeled_views: tuple[str, ...] | None = None
    "How unlabelled images are augmented, one name a view."
    epoch_steps: int | None = None
    "Steps an epoch."
    warmup: float | None = None
    "The part of the budget spent on labels alone before the first pseudo-labels."
    alpha: float | None = None
    "The weight of the pseudo-labelled loss, alpha of Eq. 5."
    alpha_ramp: float | None = None
    "The part of the budget over which alpha grows from 0."
    pool: str | None = None
    "Unlabelled images labelled anew each time: a number, labeled (as many as labelled) or all."
    relabel_epochs: int | None = None
    "Epochs between two labellings."
    ema: float | None = None
    "Decay of the averaged weights; 0 averages nothing."
    evaluate: Literal["student", "ema"] | None = None
    "Whose outputs are judged."
    match_with: Literal["student", "ema"] | None = None
    "Whose outputs are matched."
    match_on: Literal["outputs", "features"] | None = None
    "What is matched: the softmax outputs, or the features before the last layer."
    reset_optimizer: bool | None = None
    "Forget the optimizer's state when pseudo-labels first appear."


@Parameter(name="*", group=_MATCHING)
@dataclass(frozen=True)
class MatchingOptions:
    """How pseudo-labels are made; what a method's labeler does not know is refused."""

    reg: float | None = None
    "lambda of Eq. 3, the entropy of the plan between clusters and classes."
    clusters: int | None = None
    "Clusters of the pool; as many as classes if left out."
    weights: Literal["free", "uniform", "prior"] | None = None
    "The masses of the clusters."
    class_prior: tuple[float, ...] | None = None
    "The masses of the classes, in their order; the labelled shares if left out."
    solver: Literal["bound", "exact"] | None = None
    "What a cluster and a class are apart: a lower bound that gives the same labels, or the exact distance."
    threshold: float | None = None
    "Keep a pseudo-label only above this confidence."


@Parameter(name="*", group=_MACHINE)
@dataclass(frozen=True)
class MachineOptions:
    """Where it runs."""

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    "auto is CUDA where there is one, else the CPU."
    precision: Literal["auto", "bf16", "fp16", "float32"] = "auto"
    "auto is bf16 where the hardware has it."
    devices: int = 1
    "Processes on each node; on CPUs each normalises its own share of a batch, on GPUs they do so together."
    nodes: int = 1
    "Nodes; with more than one, start the command under torchrun or srun."
    compile: bool = False
    "Compile the network first."
    data_dir: str | None = None
    "Where data sets live; else FEWLABELS_DATA, else the user's cache folder."


@app.command
def train(
    source: str,
    /,
    *,
    method: str = "rot",
    labels: int | None = None,
    unlabeled: int | None = None,
    model: str = "auto",
    epochs: int | None = None,
    steps: int | None = None,
    minutes: float | None = None,
    seed: int = 0,
    out: Path | None = None,
    config: Path | None = None,
    stratify: Literal["equal", "proportional"] = "equal",
    validation: int | None = None,
    normalize: str | None = None,
    flip: bool | None = None,
    size: int | None = None,
    recipe: RecipeOptions = RecipeOptions(),
    matching: MatchingOptions = MatchingOptions(),
    machine: MachineOptions = MachineOptions(),
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
    quiet: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Train a classifier.

    Parameters
    ----------
    source
        digits, cifar10, svhn, svhn-extra, a folder of images, a CSV table or an .npz of arrays.
    method
        supervised, rot, soft-rot, ss-gnn, sm-gnn, self-label, pi, mean-teacher, vat, vat-entmin, entmin, pseudo-label,
        fixmatch, softmatch or sla.
    labels
        How many labelled images to use, the same number of each class; the source's default, or all, if left out.
    unlabeled
        How many unlabelled images to use; all if left out.
    model
        small, wrn-28-2 or wrn-DEPTH-WIDTH; auto suits the images' size.
    epochs
        The budget in epochs of the recipe's number of steps.
    steps
        The budget in steps.
    minutes
        The budget in minutes.
    seed
        Draws the split, the weights and the batches.
    out
        The run's folder, which must not exist; a new one under runs/ if left out.
    config
        A TOML file with the same settings, such as another run's config.toml; options given here come first.
    stratify
        The same number of labels of each class, or in proportion to its size.
    validation
        How many labelled images judge; the source's own rule if left out.
    normalize
        symmetric, standardize, gcn or gcn-zca; the source's own if left out.
    flip
        Whether a mirrored image of one's own keeps its class, as letters do not; yes if left out.
    size
        The side to which images of a folder or table are resized.
    as_json
        Print one JSON object a line.
    quiet
        Print only what was asked and what came out.
    """
    from fewlabels.api import default_name
    from fewlabels.progress import pick
    from fewlabels.train.config import Config, from_toml
    from fewlabels.train.folder import free_name
    from fewlabels.train.run import start

    given = {
        "data": source,
        "method": method,
        "labels": labels,
        "unlabeled": unlabeled,
        "model": model,
        "epochs": epochs,
        "steps": steps,
        "minutes": minutes,
        "seed": seed,
        "stratify": stratify,
        "validation": validation,
        "normalize": normalize,
        "flip": flip,
        "size": size,
        "recipe": recipe.recipe,
        **dataclasses.asdict(machine),
    }
    overrides = {**dataclasses.asdict(recipe), **dataclasses.asdict(matching)}
    overrides = {
        name: _number_or_name(value) for name, value in overrides.items() if value is not None and name != "recipe"
    }
    asked = _merge(Config(**given, overrides=overrides), None if config is None else from_toml(config))
    folder = out or free_name(Path("runs"), default_name(asked))
    start(asked, folder, listener=pick(as_json=as_json, quiet=quiet))


def _number_or_name(value: Any) -> Any:
    """``--pool`` takes both."""
    return int(value) if isinstance(value, str) and value.isdigit() else value


def _merge(given: Config, file: Config | None) -> Config:
    """The file's settings, under those given on the command line."""
    if file is None:
        return given
    from fewlabels.train.config import Config

    changed = {
        f.name: getattr(given, f.name)
        for f in dataclasses.fields(Config)
        if f.name not in ("data", "overrides") and getattr(given, f.name) != f.default
    }
    if {"epochs", "steps", "minutes"} & set(changed):
        file = dataclasses.replace(file, epochs=None, steps=None, minutes=None)
    return dataclasses.replace(file, data=given.data, overrides={**file.overrides, **given.overrides}, **changed)


@app.command
def resume(
    run: Path,
    /,
    *,
    device: Literal["auto", "cpu", "cuda", "mps"] | None = None,
    data_dir: str | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
    quiet: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Go on with a run that was cut off.

    Parameters
    ----------
    run
        The run's folder.
    device
        Another device than the run was started on.
    data_dir
        Where data sets live now.
    as_json
        Print one JSON object a line.
    quiet
        Print only what was asked and what came out.
    """
    from fewlabels import progress
    from fewlabels.train.folder import RunFolder
    from fewlabels.train.run import finished_record
    from fewlabels.train.run import resume as go_on

    if RunFolder(run).finished:
        print(f"{run} has ended already")
        print(progress.conclusion(run, finished_record(run)))
        return
    go_on(run, device=device, data_dir=data_dir, listener=progress.pick(as_json=as_json, quiet=quiet))


@app.command
def evaluate(
    run: Path,
    /,
    source: str | None = None,
    *,
    data_dir: str | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> None:
    """Judge a finished run's network on a test part.

    Parameters
    ----------
    run
        The run's folder.
    source
        What to judge on; the run's own data if left out.
    data_dir
        Where data sets live.
    as_json
        Print one JSON object.
    """
    from fewlabels.train.judge import judge_run

    found = judge_run(run, source, data_dir=data_dir)
    print(json.dumps(found.as_dict()) if as_json else found)


@app.command
def predict(run: Path, images: Path, /, *, out: Path) -> None:
    """Label images with a finished run's network: path, label and a probability a class.

    Parameters
    ----------
    run
        The run's folder.
    images
        A folder of images, one image, or an .npz of arrays.
    out
        The CSV file to write; it must not exist.
    """
    from fewlabels.train.judge import write_predictions

    count = write_predictions(run, images, out)
    print(f"{count} images labelled in {out}")


@data_app.command
def fetch(name: Literal["cifar10", "svhn", "svhn-extra"], /, *, data_dir: Path | None = None) -> None:
    """Download a benchmark's official archives, check them and unpack them.

    Parameters
    ----------
    name
        Which one.
    data_dir
        Where to; else FEWLABELS_DATA, else the user's cache folder.
    """
    from fewlabels.data.fetch import fetch as download

    download(name, data_dir)


@app.command
def report(*runs: Path, out: Path) -> None:
    """Make one self-contained page of runs: their curves, labels, plan and pictures, or how they compare.

    Parameters
    ----------
    runs
        Run folders, record files, or folders of either.
    out
        The page to write, report.html say.
    """
    from fewlabels.report.page import write

    print(write(runs, out))


app.command(reproduce, name="reproduce")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with a code that means something."""
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: list[str]) -> int:
    """Run the command line; its exit code. 0 done, 1 failed while running, 2 a wrong request, 130 interrupted."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _say(f"{error} See `fewlabels --help`", WRONG_REQUEST)
    except InputError as error:
        return _say(error, WRONG_REQUEST)
    except RunError as error:
        return _say(error, FAILED)
    except KeyboardInterrupt as error:
        return _say(f"interrupted; {error}" if str(error) else "interrupted", INTERRUPTED)
    except BrokenPipeError:  # whoever read the output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return DONE


def _say(message: object, code: int) -> int:
    print(f"fewlabels: {message}", file=sys.stderr)
    return code
