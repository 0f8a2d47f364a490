"""A part of the rows of files that fits into memory, for pictures and reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.types import Data

Array = npt.NDArray[Any]
SIZE = 100_000  # rows that are taken from files
SEED = 0  # of every choice of rows


def subsample(data: Data, size: int = SIZE, seed: int = SEED) -> tuple[Any, Array | None]:
    """Data of at most so many rows, and which rows of files these are; None where all are there."""
    if data is None or not callable(getattr(type(data), "frames", None)):
        return data, None
    rng, total = np.random.default_rng(seed), len(data)
    pieces: dict[Any, list[Any]] = {}
    rows, begin = [], 0
    for frame in data.frames():
        count = len(frame)
        kept = np.arange(count)
        if total > size:
            kept = np.sort(rng.choice(count, min(count, round(size * count / total)), replace=False))
        rows.append(begin + kept)
        begin += count
        for name in frame:
            pieces.setdefault(name, []).append(frame[name][kept])
    index = np.concatenate(rows) if rows and total > size else None
    return {name: _joined(parts) for name, parts in pieces.items()}, index


def _joined(parts: list[Any]) -> Array:
    if any(isinstance(one, np.ma.MaskedArray) for one in parts):
        joined: Array = np.ma.concatenate(parts)  # type: ignore[no-untyped-call]
        return joined
    return np.concatenate(parts)
