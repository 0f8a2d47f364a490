"""How much EM gains by chance on noise, beside the bound of `suffice.models.chance`.

``python -m benchmarks.chance`` draws rows from one normal distribution and fits two components from many starts on few
rows, those nearest to a plane or to a point. Each line has the greatest rise of the log-likelihood over one component,
the rows of the small component there, and the bound for so many; `over` counts ends above their bound.
"""

from __future__ import annotations

import sys

import numpy as np

import suffice as sf
from suffice.models.chance import chance_gain

SIZES = ((1, 100), (1, 500), (2, 100), (2, 500), (4, 150), (8, 150))


def few_rows(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows near one another, or near a plane through as many rows as there are columns."""
    n, d = x.shape
    m = int(rng.integers(d + 2, 4 * d + 6))
    chosen = rng.choice(n, d, replace=False)
    if d > 1 and rng.random() < 0.5:
        normal = np.linalg.svd(x[chosen] - x[chosen].mean(axis=0))[2][-1]
        away = np.abs((x - x[chosen].mean(axis=0)) @ normal)
    else:
        away = np.square(x - x[chosen[0]]).sum(axis=1)
    return np.isin(np.arange(n), np.argsort(away)[:m]).astype(int)


def main(starts: int = 100) -> None:
    """Print the greatest chance gains on noise of several sizes."""
    sys.stdout.write("columns  rows    gain  of rows  bound  over\n")
    for d, n in SIZES:
        rng = np.random.default_rng([d, n])
        x = rng.normal(size=(n, d))
        degrees = np.stack([np.ones(d), np.arange(1.0, d + 1)], axis=1)
        one, ends = sf.fit(sf.MultivariateNormal(), x).log_likelihood, []
        for _ in range(starts):
            fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), x, start=few_rows(x, rng), tol=1e-7)
            rows = fit.statistics.rows.min()
            if rows > d and "collapsed" not in dict(fit.alerts):
                ends.append(
                    (fit.log_likelihood - one, rows, float(chance_gain(np.array([rows]), float(n), degrees)[0]))
                )
        gain, rows, bound = max(ends)
        over = sum(own > most for own, _, most in ends)
        sys.stdout.write(f"{d:7d} {n:5d} {gain:7.1f} {rows:8.1f} {bound:6.1f} {over:5d}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
