"""Random problems: a model, rows that it could be fitted to, weights, and what it is asked. A seed is a problem."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import suffice as sf

STRUCTURES = [
    *("full", "diag", "spherical", "tied"),
    *("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"),
]
REAL = [sf.Normal(), sf.Laplace(), sf.StudentT(), sf.Uniform()]
POSITIVE = [sf.Gamma(), sf.LogNormal(), sf.Weibull(), sf.Exponential()]
COUNTS = [sf.Poisson(), sf.NegativeBinomial()]


@dataclass
class Problem:
    """What is learned from what; ``verb`` is fit, select, posterior or classify."""

    seed: int
    verb: str
    model: Any
    rows: Any
    weights: Any = None
    labels: Any = None
    names: tuple[str, ...] = ()
    start: str | None = None  # of a mixture; by default the best of many short runs, which take most of the time

    def __repr__(self) -> str:
        shape = {name: len(self.rows[name]) for name in self.names} if self.names else np.shape(self.rows)
        held = "" if self.weights is None else ", weights"
        return f"{self.verb}({self.model!r:.150}, {shape}{held})"


def make(seed: int) -> Problem:
    """The problem of a seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([3, 8, 20, 40, 60]))
    verb = rng.choice(["fit", "select", "posterior", "classify"], p=[0.82, 0.04, 0.08, 0.06])
    kinds = [alone, gaussian, table, mixture, gaussian_mixture, unlike, nested, mixed_table]
    if verb == "posterior":
        kinds = [conjugate]
    elif verb == "classify":
        kinds = [classifier]
    elif verb == "select":
        kinds = [alone]
    model, rows, names = kinds[rng.integers(len(kinds))](rng, n)
    weights = None
    if verb != "classify" and rng.random() < 0.3:
        weights = rng.choice([0.0, 1.0, 2.0, 3.0], n) if rng.random() < 0.5 else rng.uniform(0.1, 3.0, n)
        weights[0] = 1.0
    labels = np.arange(n) % 2 if verb == "classify" else None
    start = "k-means++" if isinstance(model, sf.Mixture) and rng.random() < 0.8 else None
    return Problem(seed, str(verb), model, rows, weights, labels, names, start)


# ---- rows ------------------------------------------------------------------------------------------------------------
def real(rng, n):
    x = rng.normal(size=n) + rng.choice([0.0, 4.0], n)
    what = rng.integers(7)
    if what == 0:
        x = np.round(x)
    elif what == 1:
        x = rng.choice([0.0, 1.0, 5.0], n)
    elif what == 2:
        x[rng.integers(n)] *= 1e4
    elif what == 3:
        x = x * 10.0 ** rng.integers(-8, 9)
    elif what == 4:
        x = x + 1e6
    return x


def positive(rng, n):
    x = rng.gamma(rng.choice([0.5, 2.0, 20.0]), size=n) + 1e-6
    what = rng.integers(5)
    if what == 0:
        x = np.ceil(x)
    elif what == 1:
        x = x * 10.0 ** rng.integers(-6, 7)
    elif what == 2:
        x[rng.integers(n)] *= 1e5
    return x


def counts(rng, n):
    return rng.negative_binomial(2, 0.3, n).astype(float) if rng.random() < 0.5 else rng.poisson(3.0, n).astype(float)


def words(rng, n):
    return np.array(list("abcd"))[rng.integers(0, rng.integers(1, 5), n)].astype(object)


def with_holes(rng, rows):
    """Some cells missing, at times, but never the first row's."""
    if rng.random() < 0.75:
        return rows
    rows = np.array(rows, dtype=object if rows.dtype.kind == "O" else float)
    holes = rng.random(rows.shape) < 0.15
    holes[0] = False
    rows[holes] = None if rows.dtype.kind == "O" else np.nan
    return rows


def column(rng, n):
    """A family and a column for it."""
    kind = rng.integers(6)
    if kind == 0:
        return sf.Categorical(), words(rng, n)
    if kind == 1:
        return sf.Bernoulli(), rng.integers(0, 2, n).astype(float)
    if kind == 2:
        return COUNTS[rng.integers(2)], counts(rng, n)
    if kind == 3:
        return POSITIVE[rng.integers(4)], positive(rng, n)
    if kind == 4:
        return sf.Beta(), rng.beta(*rng.choice([0.5, 2.0, 8.0], 2), n).clip(1e-6, 1 - 1e-6)
    return REAL[rng.integers(4)], real(rng, n)


# ---- models ----------------------------------------------------------------------------------------------------------
def alone(rng, n):
    family, rows = column(rng, n)
    return family, with_holes(rng, rows), ()


def conjugate(rng, n):
    choice = [(sf.Normal(), real), (sf.Poisson(), counts), (sf.Exponential(), positive), (sf.Categorical(), words)]
    family, draw = choice[rng.integers(4)]
    return family, draw(rng, n), ()


def numbers(rng, n):
    return with_holes(rng, np.column_stack([real(rng, n) for _ in range(rng.integers(2, 4))]))


def gaussian(rng, n):
    return sf.MultivariateNormal(), numbers(rng, n), ()


def gaussian_mixture(rng, n):
    structure = str(rng.choice(STRUCTURES))
    return sf.Mixture(sf.MultivariateNormal(structure=structure), int(rng.integers(1, 4))), numbers(rng, n), ()


def mixture(rng, n):
    family, rows = column(rng, n)
    return sf.Mixture(family, int(rng.integers(1, 4)), hard=bool(rng.random() < 0.1)), with_holes(rng, rows), ()


def unlike(rng, n):
    members = [POSITIVE[i] for i in rng.choice(4, 2, replace=False)]
    members = [sf.Normal(), members[0]] if rng.random() < 0.5 else members
    return sf.Mixture(members), positive(rng, n), ()


def nested(rng, n):
    inner = sf.Mixture(sf.Normal(), 2)
    return sf.Mixture([sf.Normal(), inner] if rng.random() < 0.5 else [inner, sf.Laplace()]), real(rng, n), ()


def table(rng, n):
    parts, rows = {}, {}
    for name in "abcd"[: rng.integers(1, 5)]:
        parts[name], rows[name] = column(rng, n)
        rows[name] = with_holes(rng, rows[name])
    return sf.Product(parts), rows, tuple(parts)


def mixed_table(rng, n):
    product, rows, names = table(rng, n)
    return sf.Mixture(product, 2), rows, names


def classifier(rng, n):
    shells = [sf.GaussianNB(), sf.LinearDiscriminantAnalysis(), sf.NaiveBayes(), sf.BernoulliNB()]
    shell = shells[rng.integers(4)]
    rows = np.column_stack([rng.normal(size=n) + np.arange(n) % 2 for _ in range(2)])
    return shell, np.round(rows, int(rng.integers(0, 4))), ()
