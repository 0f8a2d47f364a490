"""Arithmetic over rows, in two twins: NumPy, which defines it, and C++.

Every kernel is a NumPy function in a module ``reference…``, which says what it does, and a native twin of the same name
and signature in a module ``compiled…``; `dispatch` says which of them computes.
"""

from __future__ import annotations

from typing import Any

from suffice.kernels import (
    reference,
    reference_cells,
    reference_expect,
    reference_holes,
    reference_linear,
    reference_quadratic,
)
from suffice.kernels.dispatch import LARGE, LARGE_PASS, job, of_components, of_rows, of_values, twins
from suffice.kernels.reference import cell_hash, centred_rows, column_keys, merge
from suffice.kernels.reference_cells import Cells, CellSums

__all__ = [
    "LARGE",
    "LARGE_PASS",
    "CellSums",
    "Cells",
    "cell_hash",
    "centred_rows",
    "column_keys",
    "columns_e_step",
    "count_range",
    "counts",
    "extremes",
    "gaussian_e_step",
    "gaussian_log_prob",
    "holed_log_prob",
    "holed_scatter",
    "integer_range",
    "job",
    "linear_e_step",
    "merge",
    "missing_e_step",
    "moments",
    "nearest",
    "normal_e_step",
    "normal_log_prob",
    "quadratic_e_step",
    "quadratic_step",
    "row_hash",
    "scatter",
    "shared_scatter",
    "sparse_scores",
    "sparse_sums",
    "sums",
    "table_e_step",
    "tied_gaussian_e_step",
]


def _of_levels(x: Any, _levels: int, weights: Any = None, *_: Any, **__: Any) -> tuple[int, int]:
    return of_rows(x, weights)


def _of_compressed(_values: Any, _places: Any, ends: Any, *_: Any, **__: Any) -> tuple[int, int]:
    return int(ends[-1] - ends[0]), 1


def _of_compressed_scores(_values: Any, _places: Any, ends: Any, slopes: Any, *_: Any) -> tuple[int, int]:
    return int(ends[-1] - ends[0]), len(slopes)


def _of_columns(cells: Cells, *_: Any, **__: Any) -> tuple[int, int]:
    return cells.size, len(cells.offset)


def _of_products(x: Any, _weights: Any, _centre: Any, _scale: Any, coefficients: Any) -> tuple[int, int]:
    return x.size, len(coefficients)


def _of_sums(sums: Any, *_: Any) -> tuple[int, int]:
    return 0, len(sums)


def _of_holes(x: Any, _starts: Any, columns: Any, _sizes: Any, mean: Any, *_: Any, **__: Any) -> tuple[int, int]:
    """A pattern takes a factor of a matrix, which is as much work as some rows."""
    return x.size + columns.size * columns.shape[1], len(mean)


moments = twins(reference.moments, "compiled", of_rows)
scatter = twins(reference.scatter, "compiled", of_rows)
shared_scatter = twins(reference.shared_scatter, "compiled", of_rows)
sums = twins(reference.sums, "compiled", of_rows)
counts = twins(reference.counts, "compiled", _of_levels)
extremes = twins(reference.extremes, "compiled", of_rows)
sparse_sums = twins(reference.sparse_sums, "compiled", _of_compressed)
sparse_scores = twins(reference.sparse_scores, "compiled", _of_compressed_scores)
count_range = twins(reference.count_range, "compiled", of_values, LARGE_PASS)
integer_range = twins(reference.integer_range, "compiled", of_values)
row_hash = twins(reference.row_hash, "compiled", of_values)
normal_log_prob = twins(reference.normal_log_prob, "compiled", of_components)
gaussian_log_prob = twins(reference.gaussian_log_prob, "compiled", of_components)

normal_e_step = twins(reference_linear.normal_e_step, "compiled_linear", of_components, LARGE_PASS)
linear_e_step = twins(reference_linear.linear_e_step, "compiled_linear", of_components, LARGE_PASS)
table_e_step = twins(reference_linear.table_e_step, "compiled_linear", of_components, LARGE_PASS)
columns_e_step = twins(reference_cells.columns_e_step, "compiled_cells", _of_columns, LARGE_PASS)
gaussian_e_step = twins(reference_expect.gaussian_e_step, "compiled_expect", of_components, LARGE_PASS)
tied_gaussian_e_step = twins(reference_expect.tied_gaussian_e_step, "compiled_expect", of_components, LARGE_PASS)
quadratic_e_step = twins(reference_quadratic.quadratic_e_step, "compiled_quadratic", _of_products, LARGE_PASS)
quadratic_step = twins(reference_quadratic.quadratic_step, "compiled_quadratic", _of_sums, LARGE_PASS)
holed_log_prob = twins(reference_holes.holed_log_prob, "compiled_holes", _of_holes, LARGE_PASS)
holed_scatter = twins(reference_holes.holed_scatter, "compiled_holes", _of_holes, LARGE_PASS)
missing_e_step = twins(reference_holes.missing_e_step, "compiled_holes", _of_holes, LARGE_PASS)

WIDE = 1024  # columns: longer rows fill a core's cache by themselves, and NumPy's loops along them are as fast


def _of_centres(x: Any, centres: Any, *_: Any, **__: Any) -> tuple[int, int]:
    return x.size, 0 if x.shape[1] > WIDE else len(centres)


nearest = twins(reference_linear.nearest, "compiled_linear", _of_centres, LARGE_PASS)
