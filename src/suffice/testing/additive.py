"""Laws of statistics: they add, they forget, they do not care how the rows came."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from suffice.engines import local
from suffice.errors import UnsupportedError
from suffice.statistics.sums import Extremes, Statistics, component_statistics
from suffice.statistics.weights import OneHot
from suffice.testing.law import (
    DoesNotApply,
    close,
    law,
    learnable,
    require,
    rows_of,
    same_statistics,
    same_value,
    swapped,
)

ROUNDING = 1e-10


@law("any split merges to the whole", "the statistics' __add__, a base or weight that gather forgets, empty blocks")
def any_split_merges(dist: Any, rng: np.random.Generator) -> None:
    """One chunk, two, seven uneven ones, empty ones: their sum is the statistics of all rows, in any order."""
    x = rows_of(dist, rng)
    whole = dist.suffstats(x)
    nothing = dist.suffstats(x[:0])
    require(not np.any(nothing.weight), f"the statistics of no rows have weight {nothing.weight}.")
    require(len(dist.log_prob(x[:0])) == 0, "log_prob of no rows is not empty.")
    same_statistics(nothing + whole, whole, 0.0, "no rows + all rows")
    same_statistics(whole + nothing, whole, 0.0, "all rows + no rows")
    for cuts in ([len(x) // 3], sorted(rng.integers(0, len(x), 6).tolist()), [0, 1, len(x)]):
        parts = [dist.suffstats(part) for part in np.split(x, cuts)]
        forward, backward = parts[0], parts[-1]
        for part in parts[1:]:
            forward = forward + part
        for part in parts[-2::-1]:
            backward = backward + part
        same_statistics(forward, whole, ROUNDING, f"{len(parts)} chunks, cut at {cuts}")
        same_statistics(backward, whole, ROUNDING, f"{len(parts)} chunks in reverse")


@law("the order of the rows does not matter", "a gather that looks at neighbouring rows or keeps state")
def order_does_not_matter(dist: Any, rng: np.random.Generator) -> None:
    """Permuted rows give the same statistics to rounding."""
    x = rows_of(dist, rng)
    same_statistics(dist.suffstats(x[rng.permutation(len(x))]), dist.suffstats(x), ROUNDING, "permuted rows")


@law("integer weight = repetition, weight 0 = absent", "gather that ignores the weights in one of its sums")
def weight_is_repetition(dist: Any, rng: np.random.Generator) -> None:
    """A row of weight 3 is that row three times; a row of weight 0 may even hold what the support excludes."""
    x = rows_of(dist, rng)
    times = rng.integers(0, 4, len(x))
    weighted = dist.suffstats(x, times.astype(float))
    same_statistics(weighted, dist.suffstats(np.repeat(x, times, axis=0)), ROUNDING, "weights 0 to 3")
    same_statistics(weighted, dist.suffstats(x[times > 0], times[times > 0]), ROUNDING, "rows of weight 0 dropped")
    learnable(dist)
    again = dist.estimate(dist.suffstats(np.repeat(x, times, axis=0)))
    same_value(dist.estimate(weighted), again, x, 1e-7, "the estimate")


@law("scaling the statistics keeps the estimate", "an estimate that reads weights as a number of rows")
def scaling_keeps_the_estimate(dist: Any, rng: np.random.Generator) -> None:
    """Forgetting makes evidence lighter, not different."""
    learnable(dist)
    x = rows_of(dist, rng)
    stats = dist.suffstats(x)
    require(np.allclose((stats * 0.25).weight, 0.25 * stats.weight), "stats * 0.25 does not scale the weight.")
    same_value(dist.estimate(stats * 0.25), dist.estimate(stats), x, 1e-7, "a quarter of the statistics")


@law("k together = k alone", "a formula that mixes the components' axis with another, OneHot handled apart")
def together_is_alone(dist: Any, rng: np.random.Generator) -> None:
    """A stack under (n, k) weights gathers, estimates and scores as each component alone does."""
    k = 3 if dist.lone else dist.n_components
    x = rows_of(dist, rng)
    stack = dist.stack(k) if dist.lone else dist
    weights = rng.uniform(0.1, 2.0, (len(x), k))
    codes = rng.integers(-1, k, len(x))
    together = stack.suffstats(x, weights)
    dense = np.where(codes[:, None] == np.arange(k), weights.max(axis=1)[:, None], 0.0)
    coded = stack.suffstats(x, OneHot(codes, k, weights.max(axis=1)))
    same_statistics(coded, stack.suffstats(x, dense), ROUNDING, "OneHot against its dense matrix")
    scores = stack.log_prob(x)
    require(scores.shape == (len(x), k), f"log_prob of a stack has shape {scores.shape} instead of {(len(x), k)}.")
    for index, alone in enumerate(stack.unstacked):
        close(scores[:, index], alone.log_prob(x), 1e-11, f"log_prob of component {index}")
        mine = alone.suffstats(x, weights[:, index])
        same_statistics(of_component(together, index), mine, ROUNDING, f"statistics of component {index}")
    learnable(dist)
    different = stack.estimate(together)
    scores = different.log_prob(x)
    for index, alone in enumerate(different.unstacked):
        close(scores[:, index], alone.log_prob(x), 1e-11, f"log_prob of the learned component {index}")
    if stack.n_parameters < sum(alone.n_parameters for alone in stack.unstacked):
        return  # the components share parameters: together they learn something else
    for index, alone in enumerate(stack.unstacked):
        mine = alone.estimate(alone.suffstats(x, weights[:, index]))
        same_value(different.unstacked[index], mine, x, 1e-7, f"estimate of component {index}")


def of_component(stats: Statistics, index: int) -> Any:
    """The statistics of one component, as it would gather them alone."""
    cut = component_statistics(stats, index)
    return cut.parts[0] if getattr(cut, "of_components", False) else cut


@law("missing = absent", "gather or log_density that does not ask which cells were seen")
def missing_is_absent(dist: Any, rng: np.random.Generator) -> None:
    """A row without any value is not a row; a missing cell takes nothing but itself away."""
    x = rows_of(dist, rng)
    holes = rng.random(len(x)) < 0.3
    holes[:2] = True, False
    blank = None if x.dtype.kind in "OUS" else np.nan
    gone = x.astype(object) if blank is None else x.astype(float)
    gone[holes] = blank
    if dist.lone and not dist.row_vector:
        same_statistics(dist.suffstats(gone), dist.suffstats(x[~holes]), ROUNDING, "rows of missing cells")
        nothing: Any = None
        listed = np.where(np.equal(gone, gone), gone, nothing).tolist()
        if not dist.support.core:
            same_statistics(dist.suffstats(listed), dist.suffstats(x[~holes]), ROUNDING, "None for a missing cell")
    elif dist.exact:
        seen = dist.suffstats(gone)
        learned, expected = dist.estimate(seen), dist.estimate(dist.suffstats(x[~holes]))
        same_value(learned, expected, x, 1e-6, "the estimate with rows that are missing altogether")
    close(np.asarray(dist.log_prob(gone))[holes], np.zeros_like(dist.log_prob(x)[holes]), 0.0, "log_prob of nothing")
    if x.ndim - dist.support.core == 2 and not dist.row_vector:
        first, others = x.astype(gone.dtype), x.astype(gone.dtype)
        first[:, 1:], others[:, 0] = blank, blank
        whole = np.asarray(dist.log_prob(first)) + np.asarray(dist.log_prob(others))
        close(whole, dist.log_prob(x), 1e-12, "log_prob of the first column + that of the others")
    if x.ndim == 2 and dist.row_vector and not dist.blocks and x.dtype.kind == "f":
        some = np.where(
            rng.random(x.shape) < 0.3, np.nan, x
        )  # cells that others predict are expected values, not left out
        stats, seen = dist.suffstats(some), float(np.sum(dist.log_prob(some)))
        close(np.sum(dist.log_likelihood(stats)), seen, ROUNDING, "the likelihood of rows with holes")
        better = float(np.sum(dist.estimate(stats).log_prob(some)))
        require(better >= seen - 1e-9 * (1 + abs(seen)), f"an estimate of rows with holes fell: {seen:g} → {better:g}.")


@law("removing rows = never seen", "the statistics' __sub__")
def removing_is_never_seen(dist: Any, rng: np.random.Generator) -> None:
    """Statistics that can, forget rows exactly; those that cannot, refuse."""
    x = rows_of(dist, rng)
    whole, part, rest = dist.suffstats(x), dist.suffstats(x[:40]), dist.suffstats(x[40:])
    forgetful = whole.exact and not any(isinstance(one, Extremes) for one in getattr(whole, "parts", (whole,)))
    try:
        left = whole - part
    except UnsupportedError as refusal:
        require(not forgetful, f"it refuses to remove rows ({refusal}), though its statistics are exact sums.")
        raise DoesNotApply(str(refusal)) from refusal
    require(forgetful, "it removes rows from statistics that cannot forget them (Extremes, or inexact).")
    same_statistics(left, rest, 1e-9, "all − the first 40 rows")
    if dist.lone:
        gone = whole - whole
        require(not np.any(gone.weight), f"all − all rows leaves the weight {gone.weight}.")


@law("every form of the same rows agrees", "read(), and gather that assumes contiguous float64")
def forms_agree(dist: Any, rng: np.random.Generator) -> None:
    """One axis, two axes, lists, read-only, strided, float32, ints and bools are the same rows."""
    if not dist.lone:
        raise DoesNotApply("rows are read alike by a stack and by its components")
    x = rows_of(dist, rng)
    expected, scores = dist.suffstats(x), dist.log_prob(x)
    frozen = x.copy()
    frozen.flags.writeable = False
    strided = np.repeat(x, 2, axis=0)[::2]
    forms: dict[str, Any] = {
        "list": x.tolist(),
        "read-only": frozen,
        "strided": strided,
        "Fortran": np.asfortranarray(x),
    }
    if x.ndim == 1:
        forms["two axes"] = x[:, None]
    numeric = x.dtype.kind in "fiub"
    if numeric:
        forms["objects"] = x.astype(object)
    if numeric and dist.support.integer:
        forms["ints"] = x.astype(np.int64)
        forms["small ints"] = x.astype(np.int16)
        if not np.any((x != 0) & (x != 1)):
            forms["bools"] = x.astype(bool)
    for name, form in forms.items():
        same_statistics(dist.suffstats(form), expected, 1e-12, f"statistics of {name}")
        close(dist.log_prob(form), scores, 1e-12, f"log_prob of {name}")
    if numeric and not dist.support.core:
        short = x.astype(np.float32)
        close(dist.log_prob(short), dist.log_prob(short.astype(float)), 1e-6, "log_prob of float32")
        same_statistics(dist.suffstats(short), dist.suffstats(short.astype(float)), 1e-6, "statistics of float32")


@law("blocks and threads change nothing", "gather that needs all rows at once, sums added in the order of arrival")
def blocks_change_nothing(dist: Any, rng: np.random.Generator) -> None:
    """Small row blocks give the same answers to rounding, and any number of threads the same bits."""
    x = rows_of(dist, rng)
    whole, scores = dist.suffstats(x), dist.log_prob(x)
    with swapped(local, SLICE_CELLS=1, SLICE_ROWS=16):
        answers = []
        for count in ("1", "3"):
            with swapped(os.environ, SUFFICE_THREADS=count):
                answers.append((dist.suffstats(x), dist.log_prob(x)))
    (alone, alone_scores), (threaded, threaded_scores) = answers
    same_statistics(threaded, alone, 0.0, "three threads against one, bit by bit")
    require(np.array_equal(threaded_scores, alone_scores), "log_prob changes its bits with the number of threads.")
    same_statistics(alone, whole, ROUNDING, "blocks of 16 rows")
    close(alone_scores, scores, 1e-12, "log_prob by blocks of 16 rows")


@law("reference and compiled kernels agree", "kernels/native")
def kernels_agree(dist: Any, rng: np.random.Generator) -> None:
    """The native twins answer as the NumPy definitions do."""
    x = rows_of(dist, rng, 400)
    weights = rng.uniform(0.0, 2.0, len(x))
    answers = []
    for kind in ("reference", "compiled"):
        with swapped(os.environ, SUFFICE_KERNELS=kind):
            answers.append((dist.suffstats(x), dist.suffstats(x, weights), dist.log_prob(x)))
    for name, reference, compiled in zip(("statistics", "weighted statistics"), *answers, strict=False):
        same_statistics(compiled, reference, ROUNDING, name)
    close(answers[1][2], answers[0][2], 1e-10, "log_prob")
