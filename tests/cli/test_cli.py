from __future__ import annotations

import contextlib
import csv
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fewlabels.cli import call

QUICK = ("--method", "supervised", "--labels", "40", "--steps", "8", "--epoch-steps", "4")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "run"
    assert call(["train", "digits", *QUICK, "--out", str(folder)]) == 0
    return folder


def test_help_says_what_there_is(capsys):
    assert call(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("train", "resume", "evaluate", "predict", "report", "reproduce", "data"))
    assert call(["train", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("--method", "--labels", "--minutes", "--pool", "--devices", "--precision"))
    assert call(["--version"]) == 0


def test_a_run_says_what_it_does_and_what_came_out(tmp_path, capsys):
    assert call(["train", "digits", *QUICK, "--out", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert "Supervised on Digits: 40 labelled, 1,160 unlabelled, 237 validation images" in out
    assert "8 steps on cpu" in out
    assert "test error" in out
    assert str(tmp_path / "run") in out


def test_json_lines(tmp_path, capsys):
    assert call(["train", "digits", *QUICK, "--out", str(tmp_path / "run"), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["started", "epoch", "epoch", "finished"]
    assert lines[-1]["record"] == json.loads((tmp_path / "run/record.json").read_text())


def test_evaluate_agrees_with_the_record(finished, capsys):
    assert call(["evaluate", str(finished), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    record = json.loads((finished / "record.json").read_text())
    assert found["total"] == 360
    assert found["error"] == pytest.approx(record["test_error"], abs=0.01)  # float32 here, bfloat16 perhaps there
    assert call(["evaluate", str(finished)]) == 0
    assert "on 360 images of digits" in capsys.readouterr().out


def test_predict_writes_a_row_an_image(finished, tmp_path, capsys):
    from sklearn.datasets import load_digits

    images = (load_digits().images[:20] * 255 / 16).astype(np.uint8)
    for i, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / f"{i:02}.png")
    out = tmp_path / "predictions.csv"
    assert call(["predict", str(finished), str(tmp_path), "--out", str(out)]) == 0
    assert "20 images labelled" in capsys.readouterr().out
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert len(rows) == 20
    for row in rows:
        share = {name: float(row[name]) for name in "0123456789"}
        assert sum(share.values()) == pytest.approx(1, abs=1e-4)
        assert row["label"] == max(share, key=share.__getitem__)
    assert call(["predict", str(finished), str(tmp_path), "--out", str(out)]) == 2
    assert "exists and is never overwritten" in capsys.readouterr().err


def test_a_run_that_made_no_pseudo_label_says_so(tmp_path, capsys):
    assert call(["train", "digits", "--steps", "2", "--out", str(tmp_path / "run")]) == 0
    assert "no pseudo-label was made: the warm-up took the whole budget" in capsys.readouterr().out


def test_resume_of_a_finished_run_says_so(finished, capsys):
    assert call(["resume", str(finished)]) == 0
    assert "has ended already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "cifra10"], "cifar10"),
        (["train", "digits", "--method", "rott"], "Did you mean 'rot'"),
        (["train", "digits", "--model", "wrn-28"], "wrn-28-2"),
        (["train", "digits", "--lables", "100"], "--labels"),
        (["train", "digits", "--labels", "5"], "5 labels cannot cover 10 classes"),
        (["train", "digits", "--labels", "5000"], "5000 labels"),
        (["train", "digits", "--epochs", "1", "--minutes", "2"], "one budget"),
        (["train", "digits", "--size", "32"], "never resized"),
        (["train", "digits", "--threshold", "0.5"], "no setting 'threshold'"),
        (["train", "no/such/folder"], "no/such/folder"),
        (["train", "digits", "--device", "cuda"], "device"),
        (["resume", "no/such/run"], "no/such/run"),
        (["evaluate", "no/such/run"], "there is no run folder"),
        (["data", "fetch", "mnist"], "mnist"),
        (["trian", "digits"], "train"),
        (["train"], "SOURCE requires an argument"),
        (["train", "digits", "svhn"], "svhn"),
        (["train", "digits", "--seed", "-1"], "--seed must lie in 0"),
        (["train", "digits", "--minutes", "0"], "--minutes must be above zero"),
        (["train", "digits", "--minutes", "nan"], "--minutes must be above zero"),
        (["train", "digits", "--learning-rate", "fast"], "unable to convert"),
        (["train", "digits", "--epoch-steps", "0"], "epoch_steps is 0"),
        (["train", "digits", "--pool", "0"], "pool is 0"),
        (["train", "digits", "--clusters", "1"], "1 clusters for 10 classes"),
        (["train", "digits", "--normalize", "zca"], "no normalisation is called 'zca'"),
        (["train", "digits", "--labeled-view", "heavy"], "no view is called 'heavy'"),
        (["train", "digits", "--unlabeled", "0"], "learns from unlabelled images"),
        (["train", "digits", "--unlabeled", "9999"], "ask for 1100 or fewer"),
        (["train", "digits", "--precision", "fp16", "--device", "cpu"], "fp16 needs a GPU"),
        (["train", "digits", "--model", "wrn-10-0"], "a width of at least 1"),
        (["train", "digits", "--nodes", "2"], "under torchrun or srun"),
        (["train", "digits", "--config", "none.toml"], "there is no none.toml"),
        (["train", "digits", "--out", "/dev/null/run"], "no run folder can be made"),
        (["predict", "no/such/run", "images", "--out", "p.csv"], "there is no run folder"),
        (["predict", "no/such/run", "images"], "--out requires an argument"),
    ],
)
def test_a_wrong_request_is_one_sentence_and_code_2(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert call(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == []


def picture(path: Path, seed: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def photos(root: Path) -> Path:
    for i in range(6):
        picture(root / f"labeled/{('cat', 'dog')[i % 2]}/{i}.png", i)
        picture(root / f"unlabeled/{i}.png", 100 + i)
    return root


def bomb(path: Path) -> None:
    Image.new("1", (12_000, 12_000)).save(path)


BAD_FOLDERS = {
    "empty": (lambda p: shutil.rmtree(p) or p.mkdir(), "is empty: a folder of images holds"),
    "no labels": (lambda p: shutil.rmtree(p / "labeled"), "has no labeled/ folder"),
    "an empty class": (lambda p: (p / "labeled/bird").mkdir(), "labeled/bird has no image"),
    "one class": (lambda p: shutil.rmtree(p / "labeled/dog"), "labelled images of one class, 'cat'"),
    "unreadable": (lambda p: (p / "unlabeled/0.png").write_text("hello"), "0.png cannot be read"),
    "truncated": (
        lambda p: (p / "unlabeled/0.png").write_bytes((p / "unlabeled/0.png").read_bytes()[:90]),
        "0.png cannot be read",
    ),
    "huge": (lambda p: bomb(p / "unlabeled/0.png"), "too many to be decoded safely"),
    "labelled and not": (
        lambda p: shutil.copy(p / "labeled/cat/0.png", p / "unlabeled/copy.png"),
        "is the same image as",
    ),
    "another kind": (lambda p: (p / "unlabeled/notes.txt").write_text("x"), "notes.txt is not an image"),
    "a misspelt part": (lambda p: (p / "labeled").rename(p / "labelled"), "did you mean labeled/?"),
}


@pytest.mark.parametrize("kind", BAD_FOLDERS)
def test_a_bad_folder_is_one_sentence_and_code_2(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spoil, said = BAD_FOLDERS[kind]
    spoil(photos(tmp_path / "photos"))
    refused(["train", "photos"], said, tmp_path, capsys)


def refused(arguments, said, folder, capsys):
    before = sorted(folder.rglob("*"))
    assert call(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["a.png,cat", "b.png,dog", "a.png,cat"], "a.png is listed twice (line 2)"),
        (["a.png,cat", "b.png,dog", "a.png,"], "a.png is both labelled and unlabelled (line 2)"),
        (["a.png,cat", "b.png,dog", "none.png,"], "there is no file none.png"),
        (["a.png,cat", "b.png,cat"], "labelled images of one class, 'cat'"),
        (["a.png,", "b.png,"], "has no labelled image"),
    ],
)
def test_a_bad_table_is_one_sentence_and_code_2(lines, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate(("a.png", "b.png")):
        picture(tmp_path / name, i)
    (tmp_path / "photos.csv").write_text("\n".join(["path,label", *lines]) + "\n")
    refused(["train", "photos.csv"], said, tmp_path, capsys)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"x": np.full((8, 6, 6), np.nan)}, "values that are not numbers"),
        ({"y": np.array([0, 1, 0, 5, -1, -1, -1, -1])}, "y runs to 5 with 4 labelled images"),
        ({"y": np.array([0, 1, 0, -7, -1, -1, -1, -1])}, "label -7 for image 3"),
        ({"y": np.array([0, 0, 0, 0, -1, -1, -1, -1])}, "y has one class, 0"),
        ({"y": np.array([0, 2, 0, 2, -1, -1, -1, -1])}, "class 1 of 0 .. 2 has no labelled image"),
    ],
)
def test_bad_arrays_are_one_sentence_and_code_2(changes, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    good = {"x": np.zeros((8, 6, 6)), "y": np.array([0, 1, 0, 1, -1, -1, -1, -1])}
    np.savez(tmp_path / "photos.npz", **(good | changes))
    refused(["train", "photos.npz"], said, tmp_path, capsys)


def test_a_run_folder_that_exists_is_never_touched(finished, capsys):
    before = {p: p.read_bytes() for p in finished.iterdir()}
    assert call(["train", "digits", *QUICK, "--out", str(finished)]) == 2
    assert "exists and is never overwritten" in capsys.readouterr().err
    assert {p: p.read_bytes() for p in finished.iterdir()} == before


def test_a_run_without_a_name_takes_the_next_that_is_free(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert call(["train", "digits", *QUICK, "--json"]) == 0
    assert {p.name for p in (tmp_path / "runs").iterdir()} == {
        "digits-supervised-40-s0",
        "digits-supervised-40-s0-2",
    }


def test_a_folder_of_photos_from_end_to_end(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    photos(tmp_path / "été 🐱")
    assert call(["train", "été 🐱", "--steps", "2", "--epoch-steps", "1", "--out", "run"]) == 0
    assert call(["predict", "run", "été 🐱/unlabeled", "--out", "none/p.csv"]) == 2
    assert "there is no folder none to write p.csv into" in capsys.readouterr().err
    assert call(["predict", "run", "été 🐱/unlabeled", "--out", "p.csv"]) == 0
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["path"] for row in rows] == [f"été 🐱/unlabeled/{i}.png" for i in range(6)]
    assert set(rows[0]) == {"path", "label", "cat", "dog"}


def test_a_misused_variable_is_told(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEWLABELS_SEED", "one")
    refused(["train", "digits"], "one", tmp_path, capsys)


def test_what_fails_while_running_has_code_1_and_leaves_its_checkpoint(tmp_path, capsys):
    options = ["--method", "supervised", "--optimizer", "sgd", "--learning-rate", "1e30", "--epoch-steps", "4"]
    assert call(["train", "digits", *options, "--steps", "40", "--out", str(tmp_path / "run")]) == 1
    assert "lower learning_rate" in capsys.readouterr().err
    assert (tmp_path / "run/checkpoint.fewlabels").exists()


@pytest.mark.slow
def test_a_terminal_shows_epoch_loss_error_speed_and_time_left(tmp_path):
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "fewlabels", "train", "digits", *QUICK, "--out", str(tmp_path / "run")]
    process = subprocess.Popen(
        command, stdout=follower, stderr=follower, env={**os.environ, "COLUMNS": "160", "TERM": "xterm"}
    )
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # Linux says so at the end
        while part := os.read(leader, 1 << 16):
            shown += part
    assert process.wait() == 0
    for word in (b"epoch 2", b"loss ", b"validation error ", b"images/s", b"left", b"100%", b"test error"):
        assert word in shown, shown
    assert shown.count(b"\x1b[?25l") == shown.count(b"\x1b[?25h")  # the cursor is back


FULL = """
import resource, sys
from fewlabels.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
main(sys.argv[2:])
"""


@pytest.mark.slow
def test_a_disk_that_fills_up_ends_the_run_and_it_goes_on(tmp_path, capsys):
    command = [sys.executable, "-c", FULL, "800000", "train", "digits", *QUICK, "--out", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "could not write" in done.stderr
    assert "Traceback" not in done.stderr
    assert call(["resume", str(tmp_path / "run")]) == 0
    assert json.loads((tmp_path / "run/record.json").read_text())["steps"] == 8


def test_variables_and_a_file_set_options_and_the_command_line_comes_first(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.toml").write_text('data = "digits"\nmethod = "supervised"\nsteps = 4\nlabels = 50\n')
    monkeypatch.setenv("FEWLABELS_SEED", "3")
    assert (
        call(
            ["train", "digits", "--config", str(tmp_path / "mine.toml"), "--labels", "20", "--out", str(tmp_path / "r")]
        )
        == 0
    )
    record = json.loads((tmp_path / "r/record.json").read_text())
    assert (record["method"], record["steps"], record["labels"], record["seed"]) == ("supervised", 4, 20, 3)


@pytest.mark.slow
def test_ctrl_c_leaves_a_run_that_goes_on(tmp_path):
    command = [sys.executable, "-m", "fewlabels", "train", "digits", "--method", "supervised", "--labels", "40"]
    command += ["--steps", "4000", "--epoch-steps", "8", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    while not (tmp_path / "run/metrics.jsonl").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "fewlabels resume" in err
    assert "Traceback" not in err
    assert (tmp_path / "run/checkpoint.fewlabels").exists()
    done = len((tmp_path / "run/metrics.jsonl").read_text().splitlines())
    assert done >= 1
    config = tmp_path / "run/config.toml"
    config.write_text(config.read_text().replace("4000", str(8 * (done + 1))))  # one epoch more is enough here
    assert call(["resume", str(tmp_path / "run")]) == 0
    assert json.loads((tmp_path / "run/record.json").read_text())["epochs"] == done + 1
