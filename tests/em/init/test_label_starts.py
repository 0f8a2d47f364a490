"""Starts of latent classes."""

from __future__ import annotations

import numpy as np

import suffice as sf
from suffice.tables.row_draws import RowDraws

COUNTS = (  # McCutcheon 1987, Latent Class Analysis, table 3.1: purpose × accuracy × understanding × cooperation
    419, 35, 2, 71, 25, 5, 270, 25, 4, 42, 16, 5,
    23, 4, 1, 6, 2, 0, 43, 9, 2, 9, 3, 2,
    26, 3, 0, 1, 2, 0, 85, 23, 6, 13, 12, 8,
)  # fmt: skip
BEST = -2754.545  # published for poLCA, three classes
SEEDS = 10


def test_most_seeds_reach_the_published_maximum() -> None:
    x = np.repeat(np.array(list(np.ndindex(3, 2, 2, 3))), COUNTS, axis=0)
    heights = [sf.LatentClass(3, random_state=seed).fit(x).score(x) * len(x) for seed in range(SEEDS)]
    assert sum(height > BEST - 0.01 for height in heights) >= 9


def test_random_shares_add_up_and_follow_the_rows() -> None:
    x = np.arange(400.0).reshape(200, 2)
    shares = RowDraws.of(x).simplex(3, np.random.default_rng(0))
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert np.allclose(shares.mean(axis=0), 1 / 3, atol=0.06)
    assert np.allclose(shares.var(axis=0), 1 / 18, atol=0.02)  # of Dirichlet(1, 1, 1)
    turned = RowDraws.of(x[::-1]).simplex(3, np.random.default_rng(0))
    assert np.array_equal(turned[::-1], shares)
