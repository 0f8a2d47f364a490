"""From moments about a pilot to moments about the means of the components, for Numba."""
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import kernel, minus

NOBODY = 1e-17  # share of the rows that is none


@kernel
def about_means(moments, centre, scale, lost):
    """Weight (k,), centre and shift (k, d), scatter (k, d, d) in the units of the rows, of Σ w (1, y) (1, y)ᵀ.

    And √(Σ w y² / Σ w) (k, d), 0 for components that have no digits to lose; and whether no scatter has lost more.
    """
    k, d = moments.shape[0], centre.size
    weight, middle, shift = moments[:, 0, 0].copy(), np.zeros((k, d)), np.zeros((k, d))
    scatter, deviation, kept, all_rows = np.empty((k, d, d)), np.zeros((k, d)), True, weight.sum()
    for m in range(k):
        share = 1.0 / weight[m] if weight[m] > 0 else 1.0
        for i in range(d):
            square = moments[m, i + 1, i + 1]
            a = share * moments[m, i + 1, 0]
            for j in range(i + 1):
                b = share * moments[m, j + 1, 0]
                left = minus(moments[m, i + 1, j + 1], weight[m] * (a * b))
                scatter[m, i, j] = scatter[m, j, i] = left / (scale[i] * scale[j])
                if j == i:
                    about = 0.0 if weight[m] < NOBODY * all_rows else share * square
                    deviation[m, i] = np.sqrt(about)
                    kept = kept and about <= lost * share * left
            if weight[m] != 0:
                middle[m, i], shift[m, i] = centre[i], a / scale[i]
    return weight, middle, shift, scatter, deviation, kept
