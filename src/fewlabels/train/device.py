"""Where a run computes: device, precision and processes, through Lightning Fabric."""

from __future__ import annotations

import logging
import os
from contextlib import AbstractContextManager

import torch
from lightning_fabric import Fabric

from fewlabels.errors import InputError

# What Fabric would say stands in the run's headline. Set as this is imported, so that spawned processes are quiet too.
logging.getLogger("lightning_fabric").setLevel(logging.WARNING)

PRECISIONS = {"bf16": "bf16-mixed", "float32": "32-true", "fp16": "16-mixed"}


def has_fast_bfloat16(device: str) -> bool:
    """Whether bfloat16 is computed by the hardware. Emulated, it is slower than float32 (2.5 times, measured)."""
    if device == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device != "cpu":
        return False
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in probes)


def pick_device(device: str) -> str:
    """'auto' is CUDA where there is one, else the CPU; ask for 'mps' by name."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device not in ("cpu", "cuda", "mps"):
        raise InputError(f"there is no device {device!r}: choose auto, cpu, cuda or mps")
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}[device]
    if not there:
        raise InputError(
            f"this machine's torch sees no {device} device: leave --device out, or install a torch built for it"
        )
    return device


def pick_precision(precision: str, device: str) -> str:
    """'auto' is bf16 where the hardware computes it, else float32."""
    if precision == "auto":
        return "bf16" if has_fast_bfloat16(device) else "float32"
    if precision not in PRECISIONS:
        raise InputError(f"there is no precision {precision!r}: choose auto, {', '.join(PRECISIONS)}")
    if precision == "fp16" and device == "cpu":
        raise InputError("precision fp16 needs a GPU: choose bf16 or float32 on the CPU")
    return precision


def started_outside() -> bool:
    """Whether torchrun or Slurm has started this process as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ or int(os.environ.get("SLURM_NTASKS", "1")) > 1


def processes(devices: int, nodes: int) -> tuple[int, int]:
    """Processes on each node, and nodes: as asked, or as torchrun or Slurm have already started them."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        local, world = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["WORLD_SIZE"])
        return local, world // local
    if int(os.environ.get("SLURM_NTASKS", "1")) > 1:
        there = int(os.environ.get("SLURM_NNODES", "1"))
        return int(os.environ["SLURM_NTASKS"]) // there, there
    return devices, nodes


def make_fabric(*, device: str, precision: str, devices: int, nodes: int) -> Fabric:
    """The Fabric of a run. Several processes are spawned here unless torchrun or Slurm has started them."""
    outside = started_outside()
    if nodes > 1 and not outside:
        raise InputError(
            f"--nodes {nodes} needs one process started on each node: run the same command under torchrun or srun"
        )
    if device == "cuda" and devices > torch.cuda.device_count():
        raise InputError(f"--devices {devices} asks for more GPUs than the {torch.cuda.device_count()} there are")
    several = devices * nodes > 1
    strategy = ("ddp" if outside else "ddp_spawn") if several else "auto"
    return Fabric(
        accelerator=device,
        devices=devices,
        num_nodes=nodes,
        strategy=strategy,
        precision=PRECISIONS[precision],
    )


def repeatable() -> AbstractContextManager[None]:
    """While it lasts, cuDNN's convolutions give the same bits each time, and float32 ones are not rounded to TF32."""
    return torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False)


def describe(device: torch.device) -> str:
    """'cuda: NVIDIA H200', 'cpu: <model name>'."""
    if device.type == "cuda":
        return f"cuda: {torch.cuda.get_device_name(device)}"
    if device.type == "cpu":
        threads = torch.get_num_threads()
        return f"cpu: {torch.backends.cpu.get_cpu_capability()}, {threads} thread{'' if threads == 1 else 's'}"
    return device.type
