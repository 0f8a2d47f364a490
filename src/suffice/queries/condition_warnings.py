"""Values that a model is asked about and hardly ever expects: what follows from them is extrapolation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from suffice.display.names import display_name
from suffice.display.values import number
from suffice.errors import SufficeError, SufficeWarning
from suffice.types import Array

RARE = 1e-6  # tail probability below which a value is far from all that was learned
ORDINARY = 0.999  # probability of the range that a warning names


def warn_of_unusual(model: Any, known: Mapping[Any, Any], names: Mapping[Any, Any] | None = None) -> None:
    """Warn of known numbers, by label, that lie far out in the tails of the model's marginals.

    ``known`` has one value, or those of many rows, for each column; ``names`` are the names of the labels, where
    these are places. Labels and missing cells are not looked at.
    """
    for label, values in known.items():
        cells = np.atleast_1d(np.asarray(values))
        if cells.dtype.kind not in "iuf" or label in model.vector_labels:
            continue
        cells = cells[np.isfinite(cells)].astype(float)
        if not cells.size:
            continue
        try:
            found = _unusual(model.marginal_column(label), cells)
        except (SufficeError, NotImplementedError, TypeError):  # what has no tails, or cannot tell them
            continue
        if found is None:
            continue
        value, low, high = found
        text = (
            f"{display_name((names or {}).get(label, label))} = {number(value, 6)} is far from what the model expects: "
            f"{100 * ORDINARY:g} % of its values lie between {number(low)} and {number(high)}. "
            "What follows from it is extrapolation."
        )
        warnings.warn(text, SufficeWarning, stacklevel=4)


def _unusual(one: Any, cells: Array) -> tuple[float, float, float] | None:
    """The first of the least and the largest number that lies far out, and the ends of the ordinary range.

    Far out is beyond all but ``RARE`` of the probability, and where the density is lower than at both ends of the
    range: an angle is never far out, nor is a number next to 0 where the density is highest.
    """
    least, largest = float(cells.min()), float(cells.max())
    tails = float(one.cdf(least)), 1.0 - float(one.cdf(largest - 1.0 if one.discrete else largest))
    if min(tails) >= RARE:
        return None
    low, high = (float(one.quantile((1 + sign * ORDINARY) / 2)) for sign in (-1, 1))
    edge = min(float(one.log_prob(low)), float(one.log_prob(high)))
    for value, tail in zip((least, largest), tails, strict=True):
        if tail < RARE and float(one.log_prob(value)) < edge:
            return value, low, high
    return None
