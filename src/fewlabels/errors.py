"""What can go wrong, as the command line tells it apart.

    Exception
    ├── ValueError
    │   └── InputError      the request or its input is wrong: exit code 2
    └── RuntimeError
        └── RunError        a run that started has failed: exit code 1
            └── Diverged    the network's outputs are no longer numbers

Every message says what was found, what was needed and what to do.
"""

from __future__ import annotations


class InputError(ValueError):
    """The request or its input is wrong; nothing was written."""


class RunError(RuntimeError):
    """A run that had started failed; its last checkpoint is intact."""


class Diverged(RunError):  # noqa: N818 - the name says what happened
    """The network's outputs are not finite any more."""
