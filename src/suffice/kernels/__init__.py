"""Arithmetic over rows, in two twins: NumPy, which defines it and serves small work, and Numba for the rest.

Numba costs half a second to load, so it waits for work that is worth it. ``work`` is the number of cells of the whole
job that a call sees a slice of: all slices take the same twin. The engine says it, else the cells at hand count.
``SUFFICE_KERNELS=reference`` or ``compiled`` decides for every call.

Over 400 lines: one short function for each kernel, which chooses its twin.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from suffice.kernels import (
    reference,
    reference_cells,
    reference_expect,
    reference_holes,
    reference_linear,
    reference_quadratic,
)
from suffice.kernels.reference import Array, Integers, Moments, Real, cell_hash, column_keys, merge
from suffice.kernels.reference_cells import Cells, CellSums
from suffice.kernels.reference_expect import GaussianExpected
from suffice.kernels.reference_holes import HoledExpected, HoledMoments
from suffice.kernels.reference_linear import Expected, Nearest, NormalExpected
from suffice.kernels.reference_quadratic import Members, QuadraticSums

__all__ = [
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

LARGE = 1 << 20  # cells times components: some 10 ms in NumPy
LARGE_PASS = 1 << 17  # of a pass that is made a hundred times: some 4 ms each, where loading Numba takes 400
WIDE = 1024  # columns: longer rows fill a core's cache by themselves, and NumPy's loops along them are as fast
_job = threading.local()


@contextmanager
def job(work: int) -> Iterator[None]:
    """Calls inside, on this thread, see slices of a job of ``work`` cells."""
    outer = getattr(_job, "work", 0)
    _job.work = max(outer, work)
    try:
        yield
    finally:
        _job.work = outer


def is_small(cells: int, work: int | None, n_components: int = 1, large: int = LARGE) -> bool:
    chosen = os.environ.get("SUFFICE_KERNELS", "").strip()
    if chosen:
        if chosen in {"reference", "compiled"}:
            return chosen == "reference"
        msg = f"SUFFICE_KERNELS must be 'reference' or 'compiled', got {chosen!r}; unset it to let the work decide"
        raise ValueError(msg)
    return max(cells, getattr(_job, "work", 0) if work is None else work) * n_components < large


@contextmanager
def loading() -> Iterator[None]:
    """Load compiled loops: what was interrupted half-way is forgotten, and loaded again when next needed."""
    try:
        yield
    except BaseException:
        for module in list(sys.modules):
            if module.partition(".")[0] == "numba" or (
                module.startswith("suffice.kernels.") and "reference" not in module
            ):
                del sys.modules[module]
        raise


def _columns(weights: Array | None) -> int:
    return 1 if weights is None or weights.ndim == 1 else weights.shape[1]


def moments(
    x: Real,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
    *,
    work: int | None = None,
) -> Moments:
    """Weight, centre, shift, scatter, each (k, d): mean = centre + shift, scatter = Σ w (x − mean)²; NaN is absent."""
    if is_small(x.size, work, _columns(weights)):
        return reference.moments(x, weights, codes, n_components)
    with loading():
        from suffice.kernels import compiled
    return compiled.moments(x, weights, codes, n_components)


def scatter(
    x: Real,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
    *,
    work: int | None = None,
) -> Moments:
    """Weight (k,), centre and shift (k, d), scatter matrix (k, d, d) about centre + shift; the rows are complete."""
    if is_small(x.size, work, _columns(weights)):
        return reference.scatter(x, weights, codes, n_components)
    with loading():
        from suffice.kernels import compiled
    return compiled.scatter(x, weights, codes, n_components)


def shared_scatter(
    x: Real,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
    *,
    work: int | None = None,
) -> Moments:
    """Weight, centre and shift as `scatter`, and the sum (1, d, d) of the components' scatter matrices."""
    if is_small(x.size, work, _columns(weights)):
        return reference.shared_scatter(x, weights, codes, n_components)
    with loading():
        from suffice.kernels import compiled
    return compiled.shared_scatter(x, weights, codes, n_components)


def centred_rows(
    x: Real, weights: Array | None = None, codes: Integers | None = None, n_components: int = 1
) -> tuple[Array, Array, Array, list[Array]]:
    """Weight, centre and shift as `scatter`, and rows R (n, d) of each component whose RᵀR is its scatter."""
    return reference.centred_rows(x, weights, codes, n_components)


def sums(
    features: Real,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
    *,
    work: int | None = None,
) -> Array:
    """Σ w f of every feature, (k, m)."""
    if is_small(features.size, work, _columns(weights)):
        return reference.sums(features, weights, codes, n_components)
    with loading():
        from suffice.kernels import compiled
    return compiled.sums(features, weights, codes, n_components)


def counts(
    levels: Integers,
    n_levels: int,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
    *,
    work: int | None = None,
) -> Array:
    """Weight of each level of each column, (k, d, n_levels); a level outside 0 … n_levels−1 is missing."""
    if is_small(levels.size, work, _columns(weights)):
        return reference.counts(levels, n_levels, weights, codes, n_components)
    with loading():
        from suffice.kernels import compiled
    return compiled.counts(levels, n_levels, weights, codes, n_components)


def sparse_sums(
    values: Array,
    places: Integers,
    ends: Integers,
    width: int,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
    *,
    work: int | None = None,
) -> tuple[Array, float]:
    """Σ w x (k, width) of compressed rows, and the least x that counts, or 0.

    Row i has the cells ends[i] … ends[i + 1], and at most one weight.
    """
    if is_small(int(ends[-1] - ends[0]), work):
        return reference.sparse_sums(values, places, ends, width, weights, codes, n_components)
    with loading():
        from suffice.kernels import compiled
    return compiled.sparse_sums(values, places, ends, width, weights, codes, n_components)


def sparse_scores(values: Array, places: Integers, ends: Integers, slopes: Array, *, work: int | None = None) -> Array:
    """X · slopes (n, k) of compressed rows, slopes (k, width)."""
    if is_small(int(ends[-1] - ends[0]), work, len(slopes)):
        return reference.sparse_scores(values, places, ends, slopes)
    with loading():
        from suffice.kernels import compiled
    return compiled.sparse_scores(values, places, ends, slopes)


def count_range(x: Integers, low: int, high: int, *, work: int | None = None) -> NDArray[np.int64]:
    """How often each of low … high occurs in x (n,); other values are not counted.

    Counts are exact, so where loops are loaded already they may count less than would be worth to load them.
    """
    if is_small(x.size, work, large=LARGE_PASS if "suffice.kernels.compiled" in sys.modules else LARGE):
        return reference.count_range(x, low, high)
    with loading():
        from suffice.kernels import compiled
    return compiled.count_range(x, low, high)


def integer_range(x: Integers, *, work: int | None = None) -> tuple[int, int]:
    """Smallest and largest of x (n,); (0, −1), the empty range, when there is nothing."""
    if is_small(x.size, work):
        return reference.integer_range(x)
    with loading():
        from suffice.kernels import compiled
    return compiled.integer_range(x)


def extremes(
    x: Real,
    weights: Array | None = None,
    codes: Integers | None = None,
    n_components: int = 1,
    *,
    work: int | None = None,
) -> tuple[Array, Array, Array]:
    """Weight, smallest and largest of the cells that have weight, each (k, d); (0, inf, −inf) where there is none."""
    if is_small(x.size, work, _columns(weights)):
        return reference.extremes(x, weights, codes, n_components)
    with loading():
        from suffice.kernels import compiled
    return compiled.extremes(x, weights, codes, n_components)


def normal_log_prob(x: Real, mean: Array, std: Array, *, work: int | None = None) -> Array:
    """Log-density (n, k) of rows under k products of d normals, mean and std (k, d); a NaN cell contributes 0."""
    if is_small(x.size, work, len(mean)):
        return reference.normal_log_prob(x, mean, std)
    with loading():
        from suffice.kernels import compiled
    return compiled.normal_log_prob(x, mean, std)


def gaussian_log_prob(x: Real, mean: Array, whiten: Array, log_det: Array, *, work: int | None = None) -> Array:
    """Log-density (n, k) of complete rows; whiten (k, d, d) inverts the Cholesky factor, log_det = log |whiten|."""
    if is_small(x.size, work, len(mean)):
        return reference.gaussian_log_prob(x, mean, whiten, log_det)
    with loading():
        from suffice.kernels import compiled
    return compiled.gaussian_log_prob(x, mean, whiten, log_det)


def normal_e_step(
    x: Real, mean: Array, std: Array, log_weights: Array, weights: Array | None = None, *, work: int | None = None
) -> NormalExpected:
    """One EM pass under k products of d normals, mean and std (k, d), over complete rows.

    Log-likelihood, entropy, weight (k,), and centre, shift, scatter (k, d) as `moments` of the responsibilities.
    """
    if is_small(x.size, work, len(mean), LARGE_PASS):
        return reference_linear.normal_e_step(x, mean, std, log_weights, weights)
    with loading():
        from suffice.kernels import compiled_linear
    return compiled_linear.normal_e_step(x, mean, std, log_weights, weights)


def columns_e_step(
    cells: Cells,
    log_weights: Array,
    weights: Array | None = None,
    shares: Array | None = None,
    *,
    work: int | None = None,
) -> CellSums:
    """One EM pass over columns of different kinds, any of whose cells may be missing.

    W r of every row and component is written into ``shares`` (n, k), for what else wants to know it.
    """
    if is_small(cells.size, work, len(cells.offset), LARGE_PASS):
        return reference_cells.columns_e_step(cells, log_weights, weights, shares)
    with loading():
        from suffice.kernels import compiled_cells
    return compiled_cells.columns_e_step(cells, log_weights, weights, shares)


def linear_e_step(
    features: Real,
    eta: Array,
    offset: Array,
    base: Array | None,
    log_weights: Array,
    weights: Array | None = None,
    *,
    work: int | None = None,
) -> Expected:
    """One EM pass with logits features·eta − offset + base: log-likelihood, entropy, weight (k,), Σ w r f (k, m)."""
    if is_small(features.size, work, len(eta), LARGE_PASS):
        return reference_linear.linear_e_step(features, eta, offset, base, log_weights, weights)
    with loading():
        from suffice.kernels import compiled_linear
    return compiled_linear.linear_e_step(features, eta, offset, base, log_weights, weights)


def table_e_step(
    levels: Integers, tables: Array, log_weights: Array, weights: Array | None = None, *, work: int | None = None
) -> Expected:
    """One EM pass of latent classes, tables (k, d, L) of logs: log-likelihood, entropy, weight (k,), counts (k, d, L).

    A level outside 0 … L−1 is missing.
    """
    if is_small(levels.size, work, len(tables), LARGE_PASS):
        return reference_linear.table_e_step(levels, tables, log_weights, weights)
    with loading():
        from suffice.kernels import compiled_linear
    return compiled_linear.table_e_step(levels, tables, log_weights, weights)


def nearest(
    x: Real,
    centres: Array,
    weights: Array | None = None,
    *,
    work: int | None = None,
    codes: NDArray[np.int32] | None = None,
) -> Nearest:
    """Inertia Σ w ‖x − c‖², weight (k,) and Σ w (x − c) (k, d), c being the centre nearest to the row.

    Of several that are equally near the first is taken; ``codes`` (n,) is filled with which.
    """
    if x.shape[1] > WIDE or is_small(x.size, work, len(centres), LARGE_PASS):
        return reference_linear.nearest(x, centres, weights, codes)
    with loading():
        from suffice.kernels import compiled_linear
    return compiled_linear.nearest(x, centres, weights, codes)


def gaussian_e_step(
    x: Real,
    mean: Array,
    whiten: Array,
    log_det: Array,
    log_weights: Array,
    weights: Array | None = None,
    *,
    work: int | None = None,
) -> GaussianExpected:
    """Log-likelihood and entropy of a pass of EM, and each component's weight, centre, shift and scatter matrix.

    The shares of the components in a row (complete; whiten (k, d, d), log_det as in `gaussian_log_prob`) are
    r = softmax(log_weights + log density), log_weights (k,) or (n, k), where −inf forbids a component. The statistics
    are those of `scatter` under the weights w r. A log-likelihood that is not finite tells of a cell that is not, which
    spoils all of the answer, or of a row that may belong to nobody, which has no part in the rest of it.
    """
    if is_small(x.size, work, len(mean), LARGE_PASS):
        return reference_expect.gaussian_e_step(x, mean, whiten, log_det, log_weights, weights)
    with loading():
        from suffice.kernels import compiled_expect
    return compiled_expect.gaussian_e_step(x, mean, whiten, log_det, log_weights, weights)


def quadratic_e_step(
    x: Real,
    weights: Array | None,
    centre: Array,
    scale: Array,
    coefficients: Array,
    *,
    work: int | None = None,
) -> QuadraticSums:
    """Log-likelihood, entropy and sums (k, m) of the products of (1, y), y = (x − centre) · scale, of a pass of EM.

    The rows are complete; a score of a component is its coefficients (k, m) times the products.
    """
    if is_small(x.size, work, len(coefficients), LARGE_PASS):
        return reference_quadratic.quadratic_e_step(x, weights, centre, scale, coefficients)
    with loading():
        from suffice.kernels import compiled_quadratic
    return compiled_quadratic.quadratic_e_step(x, weights, centre, scale, coefficients)


def quadratic_step(sums: Array, floor: Array, ridge: Array, log_scale: float, *, work: int | None = None) -> Members:
    """The Gaussian components that sums (k, m) of products tell of, and the coefficients (k, m) of their scores.

    ``ridge`` (d,) is added to variances, ``log_scale`` to log densities; no covariance is below ``floor`` (d, d).
    """
    if is_small(0, work, len(sums), LARGE_PASS):
        return reference_quadratic.quadratic_step(sums, floor, ridge, log_scale)
    with loading():
        from suffice.kernels import compiled_quadratic
    return compiled_quadratic.quadratic_step(sums, floor, ridge, log_scale)


def tied_gaussian_e_step(
    x: Real,
    mean: Array,
    whiten: Array,
    log_det: float,
    log_weights: Array,
    weights: Array | None = None,
    *,
    work: int | None = None,
) -> GaussianExpected:
    """The same for components with one covariance, whiten (d, d).

    The scatter (1, d, d) is the sum of the components'.
    """
    if is_small(x.size, work, len(mean), LARGE_PASS):
        return reference_expect.tied_gaussian_e_step(x, mean, whiten, log_det, log_weights, weights)
    with loading():
        from suffice.kernels import compiled_expect
    return compiled_expect.tied_gaussian_e_step(x, mean, whiten, log_det, log_weights, weights)


def holed_log_prob(
    x: Real,
    starts: Integers,
    columns: Integers,
    sizes: Integers,
    mean: Array,
    cov: Array,
    *,
    work: int | None = None,
) -> Array:
    """Log-density (n, k) of the cells that rows have, which come by pattern as `reference_holes` says; 0 of none."""
    if _is_small_with_holes(x, columns, work, len(mean)):
        return reference_holes.holed_log_prob(x, starts, columns, sizes, mean, cov)
    with loading():
        from suffice.kernels import compiled_holes
    return compiled_holes.holed_log_prob(x, starts, columns, sizes, mean, cov)


def holed_scatter(
    x: Real,
    starts: Integers,
    columns: Integers,
    sizes: Integers,
    mean: Array,
    cov: Array,
    weights: Array | None = None,
    codes: Integers | None = None,
    *,
    work: int | None = None,
) -> HoledMoments:
    """What is expected of rows with holes that belong to components: by weights (n, k), or as codes say, by (n,).

    Weight (k,), shift (k, d) of the mean from the component's own, scatter matrix (k, d, d), entropy (k,) of the cells
    that were not seen, and the weight (g, k) of each pattern; cov is (k, d, d), or (1, d, d) where components share
    one.
    """
    if _is_small_with_holes(x, columns, work, len(mean)):
        return reference_holes.holed_scatter(x, starts, columns, sizes, mean, cov, weights, codes)
    with loading():
        from suffice.kernels import compiled_holes
    return compiled_holes.holed_scatter(x, starts, columns, sizes, mean, cov, weights, codes)


def missing_e_step(
    x: Real,
    starts: Integers,
    columns: Integers,
    sizes: Integers,
    mean: Array,
    cov: Array,
    log_weights: Array,
    weights: Array | None = None,
    *,
    work: int | None = None,
) -> HoledExpected:
    """Log-likelihood and entropy of a pass of EM over rows with holes, and `holed_scatter` under the shares."""
    if _is_small_with_holes(x, columns, work, len(mean)):
        return reference_holes.missing_e_step(x, starts, columns, sizes, mean, cov, log_weights, weights)
    with loading():
        from suffice.kernels import compiled_holes
    return compiled_holes.missing_e_step(x, starts, columns, sizes, mean, cov, log_weights, weights)


def _is_small_with_holes(x: Real, columns: Integers, work: int | None, n_components: int) -> bool:
    """A pattern takes a factor of a matrix, which is as much work as some rows."""
    return is_small(x.size + columns.size * columns.shape[1], work, n_components, LARGE_PASS)


def row_hash(x: Real, seed: int, *, work: int | None = None) -> NDArray[np.uint64]:
    """A hash (n,) of the values of each row: −0 is 0, every NaN alike, and float32 counts as the float64 it equals."""
    if is_small(x.size, work):
        return reference.row_hash(x, seed)
    with loading():
        from suffice.kernels import compiled
    return compiled.row_hash(x, seed)
