from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from tiny_preset import TINY, tiny

from fewlabels.errors import InputError, RunError
from fewlabels.experiments import reproduce as module
from fewlabels.experiments.catalogue import EXPERIMENTS
from fewlabels.experiments.command import command
from fewlabels.experiments.experiment import cells
from fewlabels.experiments.job import Job
from fewlabels.experiments.ledger import Ledger
from fewlabels.experiments.presets import PRESETS
from fewlabels.experiments.reproduce import reproduce
from fewlabels.report.records import parse_record, read_records
from fewlabels.train.run import Epoch, start

ONE = {"preset": "smoke", "methods": ["supervised"], "data": "svhn", "seeds": [0]}  # one run of Table 1


class Told(list):
    def say(self, text):
        self.append(text)

    def show(self, state):
        self.append(state)

    def close(self):
        pass


def lines(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_table_and_figure_is_drawn_from_its_records(name, pool, tmp_path):
    outcome = reproduce(name, preset="smoke", out=tmp_path / "out")
    wanted = ["md", "tex", "csv"] if EXPERIMENTS[name].table else ["svg", "png"]
    assert list(outcome.written) == [tmp_path / "out" / f"{name}.{form}" for form in wanted]
    assert all(path.stat().st_size > 100 for path in outcome.written)
    assert not outcome.failed
    assert len(lines(tmp_path / "out")) == len(outcome.finished) == outcome.estimate.runs
    assert {line["preset"] for line in lines(tmp_path / "out")} == {"smoke"}
    again = reproduce(name, preset="smoke", out=tmp_path / "out")
    assert (again.finished, again.estimate.runs, again.estimate.held) == ((), 0, outcome.estimate.runs)
    assert [path.read_bytes() for path in again.written]  # drawn again, from records alone


def test_the_figure_says_which_images_are_missing(pool, tmp_path, monkeypatch):
    desk = dataclasses.replace(TINY, apply=lambda ask: dataclasses.replace(tiny(ask), data=ask.data))
    monkeypatch.setitem(PRESETS, "smoke", desk)
    drawn = []
    monkeypatch.setattr("fewlabels.report.figures.save", lambda figure, out: drawn.append(figure) or ())
    monkeypatch.setattr(module, "_run", lambda *_: ((), {}))
    monkeypatch.setattr(module, "not_here", lambda *_: ())
    record = parse_record(
        {
            "schema_version": 1,
            "kind": "run",
            "data": "svhn",
            "method": "rot",
            "labels": 50,
            "seed": 0,
            "test_error": 0.5,
        }
    )
    monkeypatch.setattr(Ledger, "of_cells", lambda *_: (record,))
    outcome = reproduce("figure2", preset="smoke", data_dir=str(tmp_path), out=tmp_path / "out", images_per_second=1.0)
    assert "additional images of SVHN are left out" in outcome.notes[0]
    assert [text.get_text() for text in drawn[0].axes[-1].texts] == [
        "not run: the files of SVHN-extra\nare not on this machine"
    ]


def test_a_table_shows_mean_deviation_runs_preset_and_budget(pool, tmp_path):
    reproduce("table2", preset="smoke", methods=["sm-gnn"], seeds=[0, 1], out=tmp_path)
    table = (tmp_path / "table2.md").read_text()
    errors = [100 * line["test_error"] for line in lines(tmp_path) if line["labels"] == 200]
    assert f"{sum(errors) / 2:.2f} ± " in table
    assert "(n = 2, smoke, 2 steps)" in table
    assert "Digits, 200 labels: preset smoke" in table
    assert "ROT" not in table  # no record, no row


def test_what_the_records_hold_is_not_run_again(pool, tmp_path):
    asked = {"preset": "smoke", "methods": ["ss-gnn"], "data": "svhn"}
    first = reproduce("table2", **asked, seeds=[0, 1], out=tmp_path / "results")
    elsewhere = reproduce("table2", **asked, seeds=[0, 1], out=tmp_path / "out", results=tmp_path / "results")
    assert len(first.finished) == len(pool.jobs) == 2
    assert elsewhere.finished == ()
    assert elsewhere.written[0].read_text() == first.written[0].read_text()
    more = reproduce("table2", **asked, seeds=[0, 3], out=tmp_path / "results")
    assert [name.split("-")[-2] for name in more.finished] == ["s3"]
    assert "n = 3" in more.written[0].read_text()  # every seed there is, whoever asked for it


def test_a_run_of_the_same_settings_counts_under_whatever_name(pool, tmp_path):
    (config,) = cells(EXPERIMENTS["table1"], PRESETS["smoke"], **{k: v for k, v in ONE.items() if k != "preset"})
    start(dataclasses.replace(config, preset=None, model="auto"), tmp_path / "results" / "mine")
    outcome = reproduce("table1", **ONE, out=tmp_path / "out", results=tmp_path / "results")
    assert (outcome.finished, outcome.estimate.held) == ((), 1)
    assert "n = 1, smoke" in outcome.written[0].read_text()


def test_a_cut_off_run_goes_on_from_its_checkpoint(pool, tmp_path):
    def cut(job: Job) -> None:
        def stop_at_one(event):
            if isinstance(event, Epoch) and event.metrics["epoch"] == 1:
                raise KeyboardInterrupt

        start(job.config, job.folder, listener=stop_at_one)

    pool.before = cut
    with pytest.raises(KeyboardInterrupt):
        reproduce("table1", **ONE, out=tmp_path / "out")
    (folder,) = [path for path in (tmp_path / "out" / "runs").iterdir() if path.is_dir()]
    began = (folder / "config.toml").stat().st_mtime_ns
    pool.before = lambda job: None
    outcome = reproduce("table1", **ONE, out=tmp_path / "out")
    assert (outcome.estimate.cut_off, outcome.estimate.steps) == (1, 1)
    assert (folder / "config.toml").stat().st_mtime_ns == began  # gone on with, not begun again
    straight = reproduce("table1", **ONE, out=tmp_path / "straight")
    assert straight.estimate.steps == 2
    (mine,), (theirs,) = lines(tmp_path / "out"), lines(tmp_path / "straight")
    assert mine["curve"] == theirs["curve"]
    assert mine["test_error"] == theirs["test_error"]


def test_a_run_cut_off_before_its_first_checkpoint_begins_again(pool, tmp_path):
    first = reproduce("table1", **ONE, out=tmp_path / "out")
    folder = tmp_path / "out" / "runs" / first.finished[0]
    (tmp_path / "out" / "records.jsonl").unlink()
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "config.toml").write_text("")
    assert reproduce("table1", **ONE, out=tmp_path / "out").finished == first.finished


def test_a_finished_run_that_was_not_gathered_is(pool, tmp_path):
    reproduce("table1", **ONE, out=tmp_path / "out")
    file = tmp_path / "out" / "records.jsonl"
    line = file.read_text()
    file.write_text(line[:100])  # the power failed while it was written
    dry = reproduce("table1", **ONE, out=tmp_path / "out", dry_run=True)
    assert (dry.estimate.runs, file.read_text()) == (0, line[:100])  # nothing is touched
    outcome = reproduce("table1", **ONE, out=tmp_path / "out")
    assert (outcome.finished, file.read_text()) == ((), line)


def test_a_failing_cell_is_told_and_the_others_go_on(pool, tmp_path):
    def fail(job: Job) -> None:
        if job.config.method == "sm-gnn":
            raise RunError("the disk is full")
        if job.config.seed == 1:
            raise ZeroDivisionError("division by zero")

    pool.before = fail
    told = Told()
    asked = {"preset": "smoke", "seeds": [0, 1], "out": tmp_path}
    outcome = reproduce("table2", **asked, data="svhn", methods=["sm-gnn", "ss-gnn"], watch=told)
    assert len(outcome.finished) == 1
    assert sorted(outcome.failed.values()) == ["ZeroDivisionError: division by zero", *["the disk is full"] * 2]
    assert any("sm-gnn" in str(line) and "failed: the disk is full" in str(line) for line in told)
    assert "S-S-GNN" in outcome.written[0].read_text()
    with pytest.raises(RunError, match=r"2 runs failed; the same command tries them again:\n  .*: the disk is full"):
        command("table2", **asked, dataset="svhn", methods=["sm-gnn"])


def test_a_dry_run_counts_what_is_left_and_touches_nothing(pool, tmp_path):
    desk = reproduce("table1", preset="desk", out=tmp_path / "none", images_per_second=1000.0, dry_run=True)
    steps, warmup = 2560 + 1536, 6 * 64 + 4 * 64  # ROT's first 0.15, to the end of the epoch
    assert (desk.estimate.runs, desk.estimate.held, desk.estimate.steps) == (16, 0, 8 * steps)
    alone = steps * 64  # supervised sees its labels alone, and so does ROT in its warm-up
    labelled, others = alone + (steps - warmup) * 128, alone + steps * 128
    assert desk.estimate.images == alone + 2 * labelled + 5 * others
    assert desk.estimate.seconds == pytest.approx(desk.estimate.images / 1000)
    assert not (tmp_path / "none").exists()
    assert pool.jobs == []
    reproduce("table1", **ONE, out=tmp_path / "out")
    rest = reproduce("table1", preset="smoke", out=tmp_path / "out", images_per_second=1.0, dry_run=True).estimate
    assert (rest.runs, rest.held, rest.measured) == (15, 1, 1)  # supervised has been timed: one more of it
    assert "15 runs (1 more in the records already" in str(rest)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"images_per_second": 0.0}, "--images-per-second must be above zero, got 0.0"),
        ({"images_per_second": float("nan")}, "--images-per-second must be above zero"),
        ({"jobs": 0}, "--jobs must be above zero, got 0"),
        ({"seeds": []}, "--seeds is empty: name at least one"),
        ({"methods": []}, "--methods is empty: name at least one"),
        ({"results": Path("typo")}, "--results typo does not exist"),
        ({"out": Path(__file__)}, "is a file: give a folder"),
    ],
)
def test_what_would_fail_later_is_refused_first_and_in_a_dry_run_too(asked, message, tmp_path):
    with pytest.raises(InputError, match=message):
        reproduce("table2", **{"preset": "smoke", "out": tmp_path, "dry_run": True, **asked})


def test_a_broken_line_of_the_records_is_named(tmp_path):
    (tmp_path / "records.jsonl").write_text('{"kind": "run"\n')
    with pytest.raises(InputError, match=r"records.jsonl:1 is not JSON .* mend or remove the line"):
        reproduce("table2", preset="smoke", out=tmp_path, dry_run=True)


def test_data_that_is_not_here_is_said_once_and_before_anything_is_written(tmp_path):
    asked = {"preset": "desk", "data_dir": str(tmp_path / "none"), "out": tmp_path / "out", "images_per_second": 1.0}
    asked["results"], told = None, Told()
    assert len(reproduce("table2", **asked, dry_run=True, watch=told).notes) == 2
    assert [line.split(" is not here")[0] for line in told[1:]] == ["cifar10", "svhn"]
    with pytest.raises(InputError, match=r"cifar10 is not here; looked in .* Run `fewlabels data fetch cifar10`"):
        reproduce("table2", **asked)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", ["supervised", "rot", "pi"])
def test_images_are_counted_as_the_loop_counts_them(method, pool, tmp_path):
    outcome = reproduce("table1", preset="smoke", methods=[method], data="svhn", seeds=[0], out=tmp_path)
    assert lines(tmp_path)[0]["images"] == outcome.estimate.images


def test_the_additional_images_of_svhn_are_left_out_in_so_many_words(pool, tmp_path):
    told = Told()
    asked = {"preset": "desk", "data": "svhn", "images_per_second": 1.0, "dry_run": True, "watch": told}
    outcome = reproduce("figure2", **asked, data_dir=str(tmp_path), out=tmp_path / "out")
    assert outcome.estimate.runs == 6
    assert "5 runs with the additional images of SVHN are left out: svhn-extra is not here" in outcome.notes[0]
    assert "fewlabels data fetch svhn-extra" in told[1]
    for name in ("train", "test", "extra"):
        (tmp_path / f"{name}_32x32.mat").touch()
    assert reproduce("figure2", **asked, data_dir=str(tmp_path), out=tmp_path / "out").estimate.runs == 11


def test_who_watches_sees_what_runs_and_the_end(pool, tmp_path):
    told = Told()
    reproduce("table2", preset="smoke", methods=["ss-gnn"], data="svhn", seeds=[0, 1], out=tmp_path, watch=told)
    states = [state for state in told if not isinstance(state, str)]
    assert all(0 <= state.fraction <= 1 and state.total == 2 for state in states)
    assert list(states[-1].running.values()) == [1.0]
    assert [text.split(":")[0] for text in told[-3:] if isinstance(text, str)][-1].startswith("digits-ss-gnn-50-s1")


def test_without_matplotlib_a_figure_is_refused_before_anything_is_run(pool, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"drawn with matplotlib.*fewlabels\[figures\]"):
        reproduce("figure3", preset="smoke", out=tmp_path)
    assert pool.jobs == []


def test_a_wrong_request_is_refused():
    with pytest.raises(InputError, match="no table or figure 'table3'"):
        reproduce("table3", preset="smoke")


def test_records_are_read_by_whoever_reads_records(pool, tmp_path):
    reproduce("table1", **ONE, out=tmp_path / "out")
    (record,) = read_records([tmp_path / "out" / "records.jsonl"])
    assert (record.method, record.preset, record.budget.steps) == ("supervised", "smoke", 2)
