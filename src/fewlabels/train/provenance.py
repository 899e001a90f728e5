"""Where a result comes from: the versions, the commit, the time of day."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fewlabels


def provenance() -> dict[str, Any]:
    """Versions, commit and the time of day."""
    versions = {"python": platform.python_version(), "fewlabels": fewlabels.__version__}
    return {
        "versions": versions
        | {p: importlib.metadata.version(p) for p in ("torch", "lightning-fabric", "numpy", "POT")},
        "commit": _commit(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _commit() -> str | None:
    """The commit of the source tree this package runs from; None when it is an installed copy."""
    here = Path(__file__).resolve().parent
    try:
        found = subprocess.run(
            ["git", "-C", str(here), "ls-files", "--error-unmatch", Path(__file__).name],
            capture_output=True,
            timeout=10,
        )
        if found.returncode:
            return None
        described = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip()
