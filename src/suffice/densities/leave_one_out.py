"""Log densities of rows under the Gaussian kernels of all other rows."""

from __future__ import annotations

from math import log

import numpy as np

from suffice.densities.far import log_sums
from suffice.densities.gauss_transform import Boxes
from suffice.types import Array

ENOUGH = 1e-5  # of the weight around a row: what other rows must add so that the row itself can be subtracted


def log_leave_one_out(x: Array, w: Array, h: float) -> Array:
    """Log of Σ_{j≠i} wⱼ φ((xᵢ − xⱼ)/h)/h / (n − 1) at sorted points, of each of which weight 1 is left out."""
    own = 1 / np.sqrt(2 * np.pi)
    sums, near = Boxes.of(x, w, h).sums(x)
    others = sums - own
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.log(others)
    lost = others < ENOUGH * near
    if lost.any():
        where = np.flatnonzero(lost)
        out[where] = log_sums(x, w, h, x[where], without=where)
    return np.asarray(out - log(h) - log(float(w.sum()) - 1))
