"""Which component made a row, and how surely: the twins for it, chosen by the size of the work like the others."""

from __future__ import annotations

from typing import Any

from suffice.kernels import reference_best
from suffice.kernels.dispatch import of_components, of_rows, of_values, twins

__all__ = ["above_best", "above_sums", "chosen", "normal_best", "shares", "sparse_best", "table_best"]


def _of_compressed(_values: Any, _places: Any, ends: Any, slopes: Any, *_: Any) -> tuple[int, int]:
    return int(ends[-1] - ends[0]), len(slopes)


def _of_flags(x: Any, _threshold: float, slopes: Any, *_: Any) -> tuple[int, int]:
    return x.size, len(slopes)


def _of_flagged(x: Any, _threshold: float, weights: Any = None, *_: Any, **__: Any) -> tuple[int, int]:
    return of_rows(x, weights)


chosen = twins(reference_best.chosen, "compiled_best", of_values)
shares = twins(reference_best.shares, "compiled_best", of_values)
normal_best = twins(reference_best.normal_best, "compiled_best", of_components)
table_best = twins(reference_best.table_best, "compiled_best", of_components)
sparse_best = twins(reference_best.sparse_best, "compiled_best", _of_compressed)
above_best = twins(reference_best.above_best, "compiled_best", _of_flags)
above_sums = twins(reference_best.above_sums, "compiled_best", _of_flagged)
