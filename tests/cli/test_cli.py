from __future__ import annotations

import csv
import json
import os
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
    ],
)
def test_a_wrong_request_is_one_sentence_and_code_2(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert call(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err + captured.out
    assert "Traceback" not in captured.err
    assert list(tmp_path.iterdir()) == []


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
