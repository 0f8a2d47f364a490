"""Bayes classifiers: fit and predict against scikit-learn; where installed, against river, wnb, scikit-lego and Spark.

Run ``python -m benchmarks.classifiers [--quick] [section …]``; the sections are gaussian, bernoulli, categorical,
multinomial, linear_svd, linear_lsqr and quadratic. Ours and the peers take turns in one process, two threads for all,
and answers are compared first. A ratio above 1 says how many times faster we are.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("SUFFICE_THREADS", "2")  # before any of them is loaded
os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np
import scipy.sparse
from sklearn import discriminant_analysis, naive_bayes
from threadpoolctl import threadpool_limits

import suffice as sf
from benchmarks.turns import absent, agree, duration, peer, take_turns, timed

ROUNDS = 5
SAME = 1e-9  # relative: the same arithmetic in another order
ROWS, COLUMNS, CLASSES, WORDS = 1_000_000, 20, 5, 2000
FEW = 5000  # rows for peers that learn them one by one


@dataclass(frozen=True)
class Case:
    """Our classifier and scikit-learn's, rows and classes, and the parameters that must agree."""

    name: str
    ours: Any
    theirs: Any
    x: Any
    y: np.ndarray
    parameters: tuple[str, ...]


def classes(n: int) -> tuple[np.random.Generator, np.ndarray]:
    """A generator and the class of each row."""
    rng = np.random.default_rng(0)
    return rng, rng.integers(CLASSES, size=n)


def gaussian(n: int) -> Case:
    """Normal columns whose means differ."""
    rng, y = classes(n)
    x = rng.standard_normal((n, COLUMNS)) + 0.3 * y[:, None]
    ours, theirs = (kind(var_smoothing=0.0) for kind in (sf.GaussianNB, naive_bayes.GaussianNB))
    return Case("GaussianNB", ours, theirs, x, y, ("theta_", "var_"))


def bernoulli(n: int) -> Case:
    """Columns of yes and no."""
    rng, y = classes(n)
    x = (rng.random((n, COLUMNS)) < 0.3 + 0.1 * (y[:, None] % 3)).astype(float)
    return Case("BernoulliNB", sf.BernoulliNB(), naive_bayes.BernoulliNB(), x, y, ("feature_log_prob_",))


def categorical(n: int) -> Case:
    """Columns of eight categories."""
    rng, y = classes(n)
    x = (rng.integers(8, size=(n, COLUMNS)) * (1 + y[:, None] % 2)) % 8
    return Case("CategoricalNB", sf.CategoricalNB(), naive_bayes.CategoricalNB(), x, y, ("feature_log_prob_",))


def multinomial(n: int) -> Case:
    """Texts of twenty words, as a sparse matrix."""
    rng, y = classes(n)
    places = np.sort((rng.zipf(1.3, (n, COLUMNS)) + 37 * y[:, None]) % WORDS, axis=1).astype(np.int32)
    shape = (n, WORDS)
    x = scipy.sparse.csr_matrix((np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, COLUMNS)), shape)
    return Case("MultinomialNB", sf.MultinomialNB(), naive_bayes.MultinomialNB(), x, y, ("feature_log_prob_",))


def linear_svd(n: int) -> Case:
    """Classes with one covariance, against the default solver."""
    return _linear(n, "svd")


def linear_lsqr(n: int) -> Case:
    """Classes with one covariance, against the solver that takes the covariance."""
    return _linear(n, "lsqr")


def _linear(n: int, solver: str) -> Case:
    rng, y = classes(n)
    x = rng.standard_normal((n, 30)) @ np.linalg.qr(rng.standard_normal((30, 30)))[0] + 0.3 * y[:, None]
    ours, theirs = (
        kind(solver) for kind in (sf.LinearDiscriminantAnalysis, discriminant_analysis.LinearDiscriminantAnalysis)
    )
    return Case(f"LDA ({solver})", ours, theirs, x, y, ("means_", "coef_", "intercept_"))


def quadratic(n: int) -> Case:
    """Classes with covariances of their own."""
    rng, y = classes(n)
    x = rng.standard_normal((n, COLUMNS)) * (1 + 0.1 * y[:, None]) + 0.3 * y[:, None]
    ours, theirs = sf.QuadraticDiscriminantAnalysis(), discriminant_analysis.QuadraticDiscriminantAnalysis()
    return Case("QDA", ours, theirs, x, y, ("means_", "priors_", "scalings_"))


SECTIONS: dict[str, Callable[[int], Case]] = {
    one.__name__: one for one in (gaussian, bernoulli, categorical, multinomial, linear_svd, linear_lsqr, quadratic)
}


def compare(case: Case) -> None:
    """Fit and predict in turns, where both learn the same and decide the same."""
    case.ours.fit(case.x, case.y)
    case.theirs.fit(case.x, case.y)
    mine, yours = ([getattr(model, name) for name in case.parameters] for model in (case.ours, case.theirs))
    alike = np.mean(case.ours.predict(case.x) == case.theirs.predict(case.x))
    same = agree(mine, yours, SAME) and alike > 1 - 1e-6
    note = "" if same else f"  ANSWERS DIFFER ({1 - alike:.2g} of the decisions)"
    for what, tasks in _tasks(case):
        ours, theirs = take_turns([timed(task) for task in tasks], ROUNDS)
        name = f"{case.name} {what}, {case.x.shape[0]:.0e} × {case.x.shape[1]}"
        print(f"{name:40}{duration(ours):>9}  scikit-learn {duration(theirs)} ({theirs / ours:.1f}×){note}", flush=True)


def _tasks(case: Case) -> Iterator[tuple[str, list[Callable[[], Any]]]]:
    yield "fit", [lambda: case.ours.fit(case.x, case.y), lambda: case.theirs.fit(case.x, case.y)]
    yield "predict", [lambda: case.ours.predict(case.x), lambda: case.theirs.predict(case.x)]


def others() -> None:
    """Peers that learn Gaussian naive Bayes in Python: per row, on fewer rows."""
    case = gaussian(FEW)
    ours = take_turns([timed(lambda: sf.GaussianNB().fit(case.x, case.y))], ROUNDS)[0]
    known: dict[str, Callable[[Any], Callable[[], Any]]] = {
        "river.naive_bayes": lambda module: lambda: _one_by_one(module.GaussianNB(), case),
        "wnb": lambda module: lambda: module.GaussianWNB().fit(case.x, case.y % 2),  # two classes are all it takes
        "sklego.naive_bayes": lambda module: lambda: module.GaussianMixtureNB().fit(case.x, case.y),
    }
    for name, make in known.items():
        module = peer(name)
        if module is not None:
            seconds = take_turns([timed(make(module))], 1)[0]
            print(f"GaussianNB fit, {FEW} rows: {duration(ours)}, {name} {duration(seconds)} ({seconds / ours:.0f}×)")
    spark()
    absent()


def spark() -> None:
    """Spark's Gaussian naive Bayes on two cores of this machine, its frame in memory before the clock starts."""
    found = peer("pyspark.ml.classification")
    if found is None:
        return
    sessions, features = peer("pyspark.sql"), peer("pyspark.ml.feature")
    case, names = gaussian(ROWS // 10), [f"x{j}" for j in range(COLUMNS)]
    builder = sessions.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = (
        builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    )
    try:
        session.sparkContext.setLogLevel("ERROR")
        table = session.createDataFrame(np.column_stack([case.x, case.y]).tolist(), [*names, "label"])
        rows = features.VectorAssembler(inputCols=names, outputCol="features").transform(table)
        rows = rows.select("features", "label").cache()
        rows.count()
        learner = found.NaiveBayes(modelType="gaussian")
        theirs, ours = learner.fit(rows), sf.GaussianNB(var_smoothing=0.0).fit(case.x, case.y)
        same = agree([ours.theta_, ours.var_], [theirs.theta.toArray(), theirs.sigma.toArray()], 1e-8)
        tasks = [lambda: ours.fit(case.x, case.y), lambda: learner.fit(rows)]
        mine, seconds = take_turns([timed(task) for task in tasks], ROUNDS)
        ratio = f"({seconds / mine:.0f}×)" + ("" if same else "  ANSWERS DIFFER")
        print(f"GaussianNB fit, {len(case.y)} rows: {duration(mine)}, Spark {duration(seconds)} {ratio}")
    finally:
        session.stop()


def _one_by_one(model: Any, case: Case) -> None:
    for row, label in zip(case.x.tolist(), case.y.tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), label)


def main(arguments: list[str] | None = None) -> None:
    """Run the sections that were asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("section", nargs="*", default=[], choices=[[], *SECTIONS])
    given = parser.parse_args(arguments)
    print(f"\n== Bayes classifiers: two threads, {CLASSES} classes, median of {ROUNDS} rounds")
    with warnings.catch_warnings(), threadpool_limits(2):
        warnings.simplefilter("ignore")
        for name in given.section or SECTIONS:
            compare(SECTIONS[name](ROWS // 10 if given.quick else ROWS))
        if not given.section:
            others()


if __name__ == "__main__":
    main()
