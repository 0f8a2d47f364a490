"""The errors of suffice, and a way to say in which part one was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from suffice.errors import (
    ArgumentError,
    DataError,
    ModelFileError,
    ParameterError,
    SufficeError,
    SufficeWarning,
    UnsupportedError,
)

__all__ = [
    "ArgumentError",
    "DataError",
    "ModelFileError",
    "ParameterError",
    "SufficeError",
    "SufficeWarning",
    "UnsupportedError",
    "naming",
]


@contextmanager
def naming(where: str, kind: type[SufficeError] = DataError) -> Iterator[None]:
    """Say in which part bad data, or another kind of mistake, were found."""
    try:
        yield
    except kind as error:
        msg = f"{where}: {error}"
        raise kind(msg) from error
