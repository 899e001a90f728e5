"""State trees on disk: one safetensors file, written whole or not at all, refused when it is not what it says.

A tree is dictionaries, lists, tuples, tensors and plain values. Its tensors go into the file's body, everything else
into its header as JSON, beside a schema version, what the file is, and a checksum a tensor. No pickle is involved.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialized
from torch import Tensor

from fewlabels.errors import InputError, RunError

SCHEMA = 1
OUTLINE = "outline"  # no tensor is called so: their names start with a slash
Tree = Any


def save(path: Path, tree: Tree, *, kind: str) -> None:
    """Write a tree beside its final place, flush it to the disk, then move it there."""
    tensors: dict[str, Tensor] = {}
    outline = _flatten(tree, tensors)
    header = {
        "fewlabels": kind,
        "schema": str(SCHEMA),
        "outline": json.dumps(outline),
    }
    sums = {name: _checksum(tensor) for name, tensor in tensors.items()}
    header["checksums"] = json.dumps({OUTLINE: zlib.crc32(header["outline"].encode()), **sums})
    beside = path.with_name(path.name + ".part")
    try:
        with beside.open("wb") as file:
            file.write(serialized(tensors, metadata=header))
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise RunError(
            f"could not write {path}: {error}. What stood there before is untouched; free some space and resume"
        ) from error


def load(path: Path, *, kind: str) -> Tree:
    """Read a tree that ``save`` wrote as the same kind of thing."""
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except FileNotFoundError:
        raise InputError(f"there is no {path}") from None
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"{path} is damaged or cut short ({error}): restore it from a copy, or start a new run"
        ) from None
    if header.get("fewlabels") != kind:
        raise InputError(f"{path} is not a fewlabels {kind} (it says {header.get('fewlabels', 'nothing')!r})")
    if header.get("schema") != str(SCHEMA):
        raise InputError(
            f"{path} has schema {header.get('schema')}, this version reads {SCHEMA}: use the version that wrote it"
        )
    found = {name: _checksum(tensor) for name, tensor in tensors.items()}
    found[OUTLINE] = zlib.crc32(header.get("outline", "").encode())
    try:
        sums = json.loads(header["checksums"])
    except (KeyError, ValueError):
        sums = {}
    for name in found:
        if found[name] != sums.get(name):
            raise InputError(
                f"{path} is damaged: {name} does not match its checksum. Restore a copy, or start a new run"
            )
    return _build(json.loads(header["outline"]), tensors)


def _checksum(tensor: Tensor) -> int:
    return zlib.crc32(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)


def _flatten(node: Tree, tensors: dict[str, Tensor], path: str = "") -> Any:
    """The outline of a tree; its tensors are put aside, on the CPU, under the path that leads to them."""
    if isinstance(node, Tensor):
        # A copy of its own: safetensors refuses tensors that share memory.
        tensors[path] = node.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        return {"tensor": path}
    if isinstance(node, dict):
        return {"dict": [[key, _flatten(value, tensors, f"{path}/{key}")] for key, value in node.items()]}
    if isinstance(node, list | tuple):
        items = [_flatten(value, tensors, f"{path}/{i}") for i, value in enumerate(node)]
        return {"tuple" if isinstance(node, tuple) else "list": items}
    if node is None or isinstance(node, bool | int | float | str):
        return {"value": node}
    raise TypeError(
        f"a checkpoint holds tensors, containers and plain values; {path or 'it'} is a {type(node).__name__}"
    )


def _build(node: Any, tensors: dict[str, Tensor]) -> Tree:
    ((form, content),) = node.items()
    if form == "tensor":
        return tensors[content]
    if form == "dict":
        return {key: _build(value, tensors) for key, value in content}
    if form == "value":
        return content
    items = [_build(value, tensors) for value in content]
    return tuple(items) if form == "tuple" else items
