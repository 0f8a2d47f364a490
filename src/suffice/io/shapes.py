"""Shapes of the arrays of statistics and traces in a file, which must fit together."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.io.messages import require
from suffice.numerics.low_rank import LowRank

# Shapes of arrays, axis by axis: a letter is the same number in all arrays of a value, "1" is 1, "…" any more axes.
SHAPES = {
    "Sums": {"weight": "k d", "base": "k d", "total": "k d …"},
    "Counts": {"count": "k d l"},
    "Extremes": {"weight": "k d", "low": "k d", "high": "k d"},
    "Moments": {"weight": "k d", "centre": "k d", "shift": "k d", "scatter": "k d"},
    "Scatter": {"weight": "k", "centre": "k d", "shift": "k d", "scatter": "m d d"},
    "Cuts": dict.fromkeys(("weight", "base"), "k d") | dict.fromkeys(("mass", "moment", "low", "high"), "k d b"),
    "Joint": {"count": "k", "log_likelihood": "1", "entropy": "1", "solid": "1"},
    "Parts": {"weight": "k c"},
    "WeightedRows": {"rows": "m d", "mass": "k m", "incomplete": "k"},
    "BinCounts": {"edges": "e", "mass": "k b"},
    "Trace": dict.fromkeys(("log_likelihood", "bound", "change"), "t")
    | {name: f"t_{name}" for name in ("entropy", "seconds", "objective")},
}
AMOUNTS = {"weight", "count", "mass", "solid", "incomplete"}  # finite, and at least 0
ENDLESS = {"low", "high", "log_likelihood", "base"}  # may be infinite: the least of no rows; a row that cannot be


def check_shapes(kind: str, found: dict[str, Any]) -> None:
    """Refuse arrays whose shapes do not fit together, or whose numbers no rows can have."""
    sizes: dict[str, int] = {"1": 1}
    for name, axes in SHAPES[kind].items():
        if name not in found:
            continue
        array, letters = found[name], axes.removesuffix("…").split()
        fits = array.ndim >= len(letters) if axes.endswith("…") else array.ndim == len(letters)
        same = fits and all(
            sizes.setdefault(one, size) == size for one, size in zip(letters, array.shape, strict=False)
        )
        require(same, f"{name} of {kind} has the shape {array.shape}, which does not fit ({', '.join(letters)}).")
        if kind == "Trace" or isinstance(array, LowRank):  # whose numbers were checked when it was read
            continue
        require(not np.isnan(array).any(), f"{name} of {kind} has a number that is none (nan).")
        require(name in ENDLESS or np.isfinite(array).all(), f"{name} of {kind} has a number that is not finite.")
        require(name not in AMOUNTS or (array >= 0).all(), f"{name} of {kind} has a number below 0.")
    require(sizes.get("k", 1) >= 1, f"{kind} of no component says nothing.")
    if kind == "Scatter":
        require(sizes["m"] in (1, sizes["k"]), "scatter is one matrix for each component, or one of all.")
