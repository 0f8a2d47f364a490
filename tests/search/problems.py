"""Random problems: a model, rows that it could be fitted to, weights, and what it is asked. A seed is a problem."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.families import LOCATION, SCALE, prototype

import suffice as sf

STRUCTURES = [
    *("full", "diag", "spherical", "tied"),
    *("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"),
]
REAL = [prototype(name) for name in sorted(LOCATION - {"MultivariateNormal"})]
POSITIVE = [prototype(name) for name in sorted(SCALE - LOCATION)]
COUNTS = [sf.Poisson(), sf.NegativeBinomial()]


VERBS = {"fit": 0.6, "classify": 0.2, "posterior": 0.12, "cluster": 0.05, "select": 0.03}


@dataclass
class Problem:
    """What is learned from what; ``verb`` is fit, select, posterior, classify (learn classes) or cluster (do not)."""

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
    verb = str(rng.choice(list(VERBS), p=list(VERBS.values())))
    kinds = {"posterior": [conjugate, conjugate_table], "classify": [classifier], "cluster": [clusterer]}
    kinds["select"] = [selectable]
    kinds["fit"] = [alone, alone, table, table, gaussian, gaussian, mixture, gaussian_mixture]
    if rng.random() < 0.06:  # these take longer
        kinds["fit"] = [unlike, nested, mixed_table]
    some = kinds[verb]
    model, rows, names = some[rng.integers(len(some))](rng, n)
    weights = None
    if rng.random() < 0.3:
        weights = rng.choice([0.0, 1.0, 2.0, 3.0], n) if rng.random() < 0.5 else rng.uniform(0.1, 3.0, n)
        weights[:3] = 1.0
    labels = classes(rng, n) if verb == "classify" else None
    start = "k-means++" if isinstance(model, sf.Mixture) and rng.random() < 0.9 else None
    return Problem(seed, verb, model, rows, weights, labels, names, start)


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


CONJUGATE = [
    *((sf.Normal(), real), (sf.LogNormal(), positive), (sf.Poisson(), counts)),
    *((sf.Exponential(), positive), (sf.Categorical(), words), (sf.Geometric(), counts)),
    (sf.Bernoulli(), lambda rng, n: rng.integers(0, 2, n).astype(float)),
]


def conjugate(rng, n):
    if rng.random() < 0.2:
        return sf.MultivariateNormal(), np.column_stack([real(rng, n) for _ in range(rng.integers(1, 4))]), ()
    family, draw = CONJUGATE[rng.integers(len(CONJUGATE))]
    return family, with_holes(rng, draw(rng, n)), ()


def conjugate_table(rng, n):
    parts, rows = {}, {}
    for name in "abc"[: rng.integers(1, 4)]:
        parts[name], draw = CONJUGATE[rng.integers(len(CONJUGATE))]
        rows[name] = with_holes(rng, draw(rng, n))
    return sf.Product(parts), rows, tuple(parts)


def selectable(rng, n):
    if rng.random() < 0.5:
        return alone(rng, n)
    return gaussian(rng, n)


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
    components = [POSITIVE[i] for i in rng.choice(4, 2, replace=False)]
    components = [sf.Normal(), components[0]] if rng.random() < 0.5 else components
    return sf.Mixture(components), positive(rng, n), ()


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


def classes(rng, n):
    """Labels of two or three classes, as numbers or words, and at times some that are not known."""
    found = np.arange(n) % int(rng.integers(2, 4 if n > 3 else 3))
    labels = np.array(["no", "yes", "maybe"], dtype=object)[found] if rng.random() < 0.3 else found
    if rng.random() < 0.15 and n > 8:
        labels = labels.astype(object)
        labels[rng.integers(6, n, 2)] = None
    return labels


def classifier(rng, n):
    """A classifier, and rows for it."""
    kind = int(rng.integers(8))
    if kind == 0:
        _, rows, names = table(rng, n)
        return sf.NaiveBayes(), rows, names
    discrete = {
        1: (sf.CategoricalNB(), rng.integers(0, rng.integers(1, 5), (n, 2))),
        2: (sf.MultinomialNB(alpha=float(rng.choice([0.0, 1.0]))), rng.poisson(1.5, (n, 3))),
        3: (sf.BernoulliNB(), rng.integers(0, 2, (n, 3))),
    }
    if kind in discrete:
        return *discrete[kind], ()
    solver = str(rng.choice(["svd", "lsqr", "eigen"]))
    shrinkage = None if rng.random() < 0.6 else str(rng.choice(["auto", "oas"]))
    family = [sf.Normal(), sf.Laplace(), sf.MultivariateNormal(), sf.MultivariateNormal(structure="EEE")]
    numeric = [
        sf.GaussianNB(),
        sf.LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage),
        sf.QuadraticDiscriminantAnalysis(reg_param=float(rng.choice([0.0, 0.1]))),
        sf.BayesClassifier(family[rng.integers(4)]),
    ]
    rows = numbers(rng, n)
    rows = np.nan_to_num(rows) if kind > 4 and rng.random() < 0.9 else rows  # covariances with holes take many passes
    return numeric[kind - 4], rows, ()


def clusterer(rng, n):
    """An estimator that clusters, and rows for it."""
    k, rows = int(rng.integers(1, 4)), numbers(rng, n)
    if rng.random() < 0.5:
        return sf.KMeans(k, random_state=0, n_init=1), np.nan_to_num(rows), ()
    shape = str(rng.choice(["full", "tied", "diag", "spherical"]))
    if rng.random() < 0.5:
        return sf.BayesianGaussianMixture(n_components=k, covariance_type=shape, random_state=0), rows, ()
    return sf.GaussianMixture(k, covariance_type=shape, random_state=0, init_params="k-means++"), rows, ()
