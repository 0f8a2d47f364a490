"""Arithmetic over rows, in two twins: NumPy, which defines it, and C++.

Every kernel is a function in a module of ``kernels.numpy``, which says what it does, and has a native twin of the same
name and signature in the same module of ``kernels.native``; `dispatch` says which of them computes.
"""

from __future__ import annotations

from suffice.kernels.dispatch import twins
from suffice.kernels.numpy import (
    covariances,
    decisions,
    gaussian,
    linear,
    markov,
    missing,
    mixed_columns,
    primitives,
    quadratic,
)
from suffice.kernels.numpy.mixed_columns import Cells, CellSums
from suffice.kernels.numpy.primitives import cell_hash, centred_rows, column_keys, merge

__all__ = [
    "CellSums",
    "Cells",
    "above_best",
    "above_sums",
    "best_path",
    "cell_hash",
    "centred_rows",
    "chosen",
    "column_keys",
    "columns_e_step",
    "columns_run",
    "count_range",
    "counts",
    "extremes",
    "filtered",
    "forward_backward",
    "gaussian_e_step",
    "gaussian_log_prob",
    "holed_log_prob",
    "holed_scatter",
    "integer_range",
    "linear_e_step",
    "log_likelihoods",
    "merge",
    "missing_e_step",
    "moments",
    "nearest",
    "normal_best",
    "normal_e_step",
    "normal_log_prob",
    "quadratic_e_step",
    "quadratic_runs",
    "quadratic_step",
    "row_hash",
    "scatter",
    "shared_scatter",
    "shares",
    "sparse_best",
    "sparse_scores",
    "sparse_sums",
    "sums",
    "table_best",
    "table_e_step",
    "tied_gaussian_e_step",
    "whitened_covariances",
]

# sums over rows, for each component
moments = twins(primitives.moments)
scatter = twins(primitives.scatter)
shared_scatter = twins(primitives.shared_scatter)
sums = twins(primitives.sums)
counts = twins(primitives.counts)
extremes = twins(primitives.extremes)
sparse_sums = twins(primitives.sparse_sums)
sparse_scores = twins(primitives.sparse_scores)
count_range = twins(primitives.count_range)
integer_range = twins(primitives.integer_range)
row_hash = twins(primitives.row_hash)

# log-densities of rows under components
normal_log_prob = twins(primitives.normal_log_prob)
gaussian_log_prob = twins(primitives.gaussian_log_prob)
holed_log_prob = twins(missing.holed_log_prob)

# passes of EM: log-densities, responsibilities and sums at once
normal_e_step = twins(linear.normal_e_step)
linear_e_step = twins(linear.linear_e_step)
table_e_step = twins(linear.table_e_step)
columns_e_step = twins(mixed_columns.columns_e_step)
columns_run = twins(mixed_columns.columns_run)
gaussian_e_step = twins(gaussian.gaussian_e_step)
tied_gaussian_e_step = twins(gaussian.tied_gaussian_e_step)
quadratic_e_step = twins(quadratic.quadratic_e_step)
quadratic_step = twins(quadratic.quadratic_step)
quadratic_runs = twins(quadratic.quadratic_runs)
holed_scatter = twins(missing.holed_scatter)
missing_e_step = twins(missing.missing_e_step)
whitened_covariances = twins(covariances.whitened_covariances)
nearest = twins(linear.nearest)

# which component made a row, and how surely
chosen = twins(decisions.chosen)
shares = twins(decisions.shares)
normal_best = twins(decisions.normal_best)
table_best = twins(decisions.table_best)
sparse_best = twins(decisions.sparse_best)
above_best = twins(decisions.above_best)
above_sums = twins(decisions.above_sums)

# hidden Markov chains: the states of sequences from the scores of their rows
forward_backward = twins(markov.forward_backward)
filtered = twins(markov.filtered)
log_likelihoods = twins(markov.log_likelihoods)
best_path = twins(markov.best_path)
