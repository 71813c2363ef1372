"""How a command ends when it cannot go on: one line on standard error, and an exit code that tells why."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Final, ParamSpec

import pyarrow as pa
import typer

from watersmeet.errors import ConfigError, WatersmeetError

__all__ = ["DATA_ERROR", "INTERRUPTED", "PIPE_CLOSED", "USAGE_ERROR", "guarded"]

DATA_ERROR: Final = 1
USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells count
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE

P = ParamSpec("P")


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn the errors that a user can cause into one line and an exit code; others are bugs and are shown."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except ConfigError as error:
            _fail(str(error), USAGE_ERROR)
        except BrokenPipeError:
            # The reader has gone, as in `watersmeet ... | head`; Python must not flush to it on exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None
        except (WatersmeetError, pa.ArrowException, OSError, MemoryError) as error:
            _fail(str(error) or type(error).__name__, DATA_ERROR)
        except KeyboardInterrupt:
            _fail("interrupted", INTERRUPTED)

    return run


def _fail(message: str, code: int) -> None:
    typer.echo(f"watersmeet: {' '.join(message.split())}", err=True)
    raise typer.Exit(code) from None
