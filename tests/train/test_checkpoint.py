from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from fewlabels.errors import InputError
from fewlabels.train.checkpoint import load, save

TREE = {
    "step": 3,
    "name": "état",
    "none": None,
    "nested": [{"a": torch.arange(6).view(2, 3), "b": (1.5, True)}, torch.tensor(2.0)],
    "mapping": {0: torch.zeros(0), 1: torch.randn(3, generator=torch.Generator().manual_seed(0)).bfloat16()},
}


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return type(b) is dict and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def test_a_tree_comes_back_as_it_was(tmp_path):
    path = tmp_path / "tree"
    save(path, TREE, kind="checkpoint")
    assert same(load(path, kind="checkpoint"), TREE)
    assert [p.name for p in tmp_path.iterdir()] == ["tree"]


def test_shared_tensors_are_stored_apart(tmp_path):
    x = torch.arange(4.0)
    save(tmp_path / "tree", {"a": x, "b": x, "c": x[1:]}, kind="checkpoint")
    assert same(load(tmp_path / "tree", kind="checkpoint"), {"a": x, "b": x, "c": x[1:]})


def test_what_has_no_place_in_a_checkpoint_is_named(tmp_path):
    with pytest.raises(TypeError, match="/model is a Linear"):
        save(tmp_path / "tree", {"model": torch.nn.Linear(1, 1)}, kind="checkpoint")


@pytest.mark.parametrize("where", ["header", "body", "end"])
def test_damage_is_refused(tmp_path, where):
    path = tmp_path / "tree"
    save(path, TREE, kind="checkpoint")
    content = bytearray(path.read_bytes())
    if where == "end":
        content = content[: len(content) // 2]
    else:
        content[3 if where == "header" else -1] ^= 0x5A
    path.write_bytes(content)
    with pytest.raises(InputError, match="is damaged"):
        load(path, kind="checkpoint")


def test_no_flipped_bit_goes_unseen(tmp_path):
    path = tmp_path / "tree"
    save(path, TREE, kind="checkpoint")
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        content = bytearray(whole)
        content[at] ^= 1 << at % 8
        path.write_bytes(content)
        try:
            found = load(path, kind="checkpoint")
        except InputError:
            continue
        assert same(found, TREE), f"byte {at}"  # padding may change


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "tree"
    save_file({"w": torch.zeros(1)}, path)
    with pytest.raises(InputError, match=r"not a fewlabels checkpoint \(it says 'nothing'\)"):
        load(path, kind="checkpoint")
    save(path, {}, kind="weights")
    with pytest.raises(InputError, match="it says 'weights'"):
        load(path, kind="checkpoint")
    save_file({"w": torch.zeros(1)}, path, metadata={"fewlabels": "checkpoint", "schema": "1"})
    with pytest.raises(InputError, match="is damaged"):
        load(path, kind="checkpoint")
    save_file({}, path, metadata={"fewlabels": "checkpoint", "schema": "99"})
    with pytest.raises(InputError, match="schema 99, this version reads 1"):
        load(path, kind="checkpoint")
    path.write_text("hello")
    with pytest.raises(InputError, match="is damaged"):
        load(path, kind="checkpoint")
    with pytest.raises(InputError, match="there is no"):
        load(tmp_path / "none", kind="checkpoint")


FULL_DISK = """
import json, resource, sys, torch
from pathlib import Path
from fewlabels.errors import RunError
from fewlabels.train.checkpoint import load, save
path = Path(sys.argv[1])
save(path, {"epoch": 1, "w": torch.zeros(10)}, kind="checkpoint")
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # the next one does not fit
try:
    save(path, {"epoch": 2, "w": torch.zeros(100_000)}, kind="checkpoint")
except RunError as error:
    print(json.dumps([str(error), load(path, kind="checkpoint")["epoch"], [p.name for p in path.parent.iterdir()]]))
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="this system limits no file sizes")
def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "checkpoint")], capture_output=True, text=True, check=True
    )
    message, epoch, files = json.loads(done.stdout)
    assert "could not write" in message
    assert "untouched" in message
    assert epoch == 1
    assert files == ["checkpoint"]
