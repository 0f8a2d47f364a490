"""Small data: whole fits, single questions, files and first calls, against the peers, at a hundred rows as at 10 000.

Run ``python -m benchmarks.small [section …]``; the sections are gaussian, classes, mixed, families, classifiers,
questions, files and first. Ours and the peer take turns in one process on two threads; what is compared is
processor time, since a fit that keeps two threads busy takes twice the machine. Log-likelihoods are compared first: a
ratio counts only where ours ends as high as the peer. A ratio above 1 says how many times faster we are.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("SUFFICE_THREADS", "2")  # before any of them is loaded
os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np
import scipy.stats
from sklearn import discriminant_analysis, naive_bayes
from sklearn.mixture import GaussianMixture

import suffice as sf
from benchmarks.turns import absent, duration, peer

ROUNDS = 5
LEAST = 0.1  # seconds of a measurement: shorter work is repeated
HIGH = 1e-3  # nats per row by which the peer may end higher
SIZES = ((150, 2, 3), (150, 4, 3), (500, 5, 4), (1000, 4, 5), (3000, 10, 6))


@dataclass(frozen=True)
class Row:
    """One line of the table: our work, the peer's, and by how many nats per row the peer ended higher."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any] | None
    goal: str
    behind: float = 0.0


def processor_time(action: Callable[[], Any]) -> float:
    """Seconds of all threads that one call takes."""
    begin = time.process_time()
    action()
    first = time.process_time() - begin
    count = max(int(LEAST / max(first, 1e-6)), 1)
    if count == 1:
        return first
    begin = time.process_time()
    for _ in range(count):
        action()
    return (time.process_time() - begin) / count


def measure(row: Row, rounds: int) -> None:
    """Take turns, and print the medians."""
    tasks = [row.ours] if row.theirs is None else [row.ours, row.theirs]
    for task in tasks:
        task()  # the first loads what it needs
    seen = [[processor_time(task) for task in tasks] for _ in range(rounds)]
    ours, *theirs = (median(column) for column in zip(*seen, strict=True))
    shown = f"{duration(theirs[0])}, ratio {theirs[0] / ours:.2f}" if theirs else ""
    lower = f", OURS ENDS {row.behind:.2g} NATS A ROW LOWER" if row.behind > HIGH else ""
    print(f"{row.name}: {duration(ours)} {shown} (goal {row.goal}){lower}", flush=True)


def blobs(n: int, d: int, k: int, seed: int = 0) -> np.ndarray:
    """Gaussian clusters that overlap a little."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=3.0, size=(k, d))
    roots = rng.normal(size=(k, d, d)) / np.sqrt(d)
    who = rng.integers(k, size=n)
    return np.asarray(centres[who] + np.einsum("nij,nj->ni", roots[who], rng.normal(size=(n, d))))


def gaussian() -> Iterator[Row]:
    """Full covariances against scikit-learn, from one start and from five."""
    for n, d, k in (*SIZES, (10_000, 5, 5)):
        x = blobs(n, d, k)

        def ours(x: np.ndarray = x, k: int = k) -> Any:
            return sf.GaussianMixture(k, random_state=0).fit(x)

        def theirs(starts: int, x: np.ndarray = x, k: int = k) -> Any:
            return GaussianMixture(k, n_init=starts, random_state=0).fit(x)

        for starts, goal in ((1, "≥ 2" if n >= 10_000 else "≥ 1"), (5, "≥ 4")):
            behind = theirs(starts).score(x) - ours().score(x)
            name = f"GaussianMixture ({n}, {d}, {k}) · scikit-learn n_init={starts}"
            yield Row(name, ours, lambda starts=starts, theirs=theirs: theirs(starts), goal, behind)
    x = blobs(1000, 4, 5)
    proto = sf.Mixture(sf.MultivariateNormal(), 5)
    yield Row(
        "sf.fit(Mixture, start='k-means++') (1000, 4, 5) · scikit-learn n_init=1",
        lambda: sf.fit(proto, x, start="k-means++", random_state=0, tol=1e-5),
        lambda: GaussianMixture(5, random_state=0).fit(x),
        "≥ 1",
    )


def labels(n: int, d: int, k: int, seed: int = 0) -> np.ndarray:
    """Binary answers of latent classes."""
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0.1, 0.9, size=(k, d))
    return np.asarray((rng.random((n, d)) < chances[rng.integers(k, size=n)]).astype(float))


def classes() -> Iterator[Row]:
    """Latent classes against StepMix, from one start and from ten."""
    stepmix = peer("stepmix")
    for n in (500, 2000, 5000):
        x = labels(n, 8, 3)

        def ours(x: np.ndarray = x) -> Any:
            return sf.LatentClass(3, random_state=0).fit(x)

        for starts, goal in ((1, "≥ 2"), (10, "≥ 20")):

            def theirs(x: np.ndarray = x, starts: int = starts) -> Any:
                model = stepmix.StepMix(3, measurement="binary", n_init=starts, random_state=0, progress_bar=0)
                return model.fit(x)

            behind = 0.0 if stepmix is None else float(theirs().score(x)) - float(ours().score(x))
            name = f"LatentClass(3) ({n}, 8) · StepMix n_init={starts}"
            yield Row(name, ours, None if stepmix is None else theirs, goal, behind)


def mixed() -> Iterator[Row]:
    """Ten columns of different kinds against StepMix."""
    stepmix, pandas = peer("stepmix"), peer("pandas")
    if pandas is None:
        return
    rng = np.random.default_rng(0)
    who = rng.integers(3, size=1000)
    columns = {f"real{j}": rng.normal(loc=who * rng.uniform(0.5, 2), size=1000) for j in range(5)}
    columns |= {f"flag{j}": (rng.random(1000) < 0.2 + 0.3 * who).astype(int) for j in range(3)}
    columns |= {f"kind{j}": (who + rng.integers(3, size=1000)) % 4 for j in range(2)}
    table = pandas.DataFrame(columns)
    text = table.assign(**{name: table[name].astype(str) for name in table if name.startswith("kind")})
    proto = sf.Mixture(sf.infer(text), 3)
    for starts, goal in ((1, "≥ 1"), (10, "≥ 8")):

        def theirs(starts: int = starts) -> Any:
            kinds = {"real": "gaussian_diag", "flag": "binary", "kind": "categorical"}
            parts = {
                kind: {"model": model, "n_columns": sum(name.startswith(kind) for name in table)}
                for kind, model in kinds.items()
            }
            return stepmix.StepMix(3, measurement=parts, n_init=starts, random_state=0, progress_bar=0).fit(table)

        name = f"Mixture of infer(df), 1000 × 10, k = 3 · StepMix n_init={starts}"
        yield Row(name, lambda: sf.fit(proto, text, random_state=0), None if stepmix is None else theirs, goal)


def families() -> Iterator[Row]:
    """One column of 1000 values against scipy."""
    rng = np.random.default_rng(0)
    data: dict[str, tuple[np.ndarray, Callable[[np.ndarray], Any] | None, str]] = {
        "Normal": (rng.normal(3.0, 2.0, 1000), scipy.stats.norm.fit, "≤ 60 µs"),
        "Exponential": (rng.exponential(2.0, 1000), lambda x: scipy.stats.expon.fit(x, floc=0), "≤ 60 µs"),
        "Poisson": (rng.poisson(4.0, 1000).astype(float), None, "≤ 60 µs"),
        "LogNormal": (rng.lognormal(size=1000), lambda x: scipy.stats.lognorm.fit(x, floc=0), "≤ 60 µs"),
        "Gamma": (rng.gamma(3.0, 2.0, 1000), lambda x: scipy.stats.gamma.fit(x, floc=0), "≤ 200 µs"),
        "Beta": (rng.beta(2.0, 3.0, 1000), lambda x: scipy.stats.beta.fit(x, floc=0, fscale=1), "≤ 200 µs"),
        "Laplace": (rng.laplace(size=1000), scipy.stats.laplace.fit, "≤ 200 µs"),
        "MultivariateNormal": (rng.normal(size=(1000, 4)), scipy.stats.multivariate_normal.fit, "≤ 200 µs"),
    }
    for name, (x, theirs, goal) in data.items():
        family = getattr(sf, name)()
        other = None if theirs is None else lambda x=x, theirs=theirs: theirs(x)
        yield Row(f"sf.fit({name}), 1000 rows · scipy", lambda f=family, x=x: sf.fit(f, x), other, goal)


def classifiers() -> Iterator[Row]:
    """Fit and predict, and the probabilities of one row, against scikit-learn."""
    pairs = (
        ("GaussianNB", sf.GaussianNB, naive_bayes.GaussianNB),
        ("LinearDiscriminantAnalysis", sf.LinearDiscriminantAnalysis, discriminant_analysis.LinearDiscriminantAnalysis),
        (
            "QuadraticDiscriminantAnalysis",
            sf.QuadraticDiscriminantAnalysis,
            discriminant_analysis.QuadraticDiscriminantAnalysis,
        ),
    )
    for n in (150, 5000):
        x = blobs(n, 4, 3)
        y = np.arange(n) % 3
        x = x + y[:, None]
        for name, ours, theirs in pairs:
            mine, other = ours().fit(x, y), theirs().fit(x, y)
            for what in ("fit", "predict", "predict_proba of one row"):
                if what == "fit":
                    tasks = (lambda o=ours, x=x, y=y: o().fit(x, y), lambda t=theirs, x=x, y=y: t().fit(x, y))
                elif what == "predict":
                    tasks = (lambda m=mine, x=x: m.predict(x), lambda o=other, x=x: o.predict(x))
                else:
                    tasks = (lambda m=mine, x=x: m.predict_proba(x[:1]), lambda o=other, x=x: o.predict_proba(x[:1]))
                yield Row(f"{name} ({n}, 4) {what} · scikit-learn", *tasks, goal="≥ 1")


def questions() -> Iterator[Row]:
    """One question of a mixture of mixed columns."""
    rng = np.random.default_rng(0)
    who = rng.integers(2, size=500)
    table = {"a": rng.poisson(2 + 4 * who).astype(float), "b": rng.normal(3.0 * who), "c": np.array(["x", "y"])[who]}
    proto = sf.Mixture(sf.Product({"a": sf.Poisson(), "b": sf.Normal(), "c": sf.Categorical()}), 2)
    fit = sf.fit(proto, table, random_state=0)
    yield Row("fit.predict('b', given={'a': 3})", lambda: fit.predict("b", given={"a": 3}), None, "≤ 0.5 ms")
    yield Row("fit.predict('c', given={'b': 1.5})", lambda: fit.predict("c", given={"b": 1.5}), None, "≤ 0.5 ms")


def files() -> Iterator[Row]:
    """Saving and loading a model, against pickle."""
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 3), blobs(300, 4, 3), random_state=0)
    model = fit.distribution
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "model.json"
        sf.save(model, path)
        text = pickle.dumps(model)
        yield Row("sf.save of a mixture · pickle", lambda: sf.save(model, path), lambda: pickle.dumps(model), "≤ 1 ms")
        load = pickle.loads  # of bytes that were written a moment ago
        yield Row("sf.load of a mixture · pickle", lambda: sf.load(path), lambda: load(text), "≤ 1 ms")


FIRST = {
    "sf.fit(sf.Normal(), x)": (
        "import numpy as np; x = np.arange(1000.0)",
        "import suffice as sf; sf.fit(sf.Normal(), x)",
        "≤ 150 ms",
    ),
    "GaussianMixture(3).fit(iris)": (
        "import numpy as np, sklearn.base; from sklearn.datasets import load_iris; x = load_iris().data",
        "import suffice as sf; sf.GaussianMixture(3, random_state=0).fit(x)",
        "≤ 150 ms",
    ),
    "GaussianMixture(4).fit, 2e5 × 8": (
        "import numpy as np, sklearn.mixture; x = np.random.default_rng(0).normal(size=(200_000, 8))",
        "import suffice as sf; sf.GaussianMixture(4, random_state=0).fit(x)",
        "≥ 5 × scikit-learn",
    ),
}


def first(rounds: int) -> None:
    """The first call in a fresh process, imports of suffice included, with byte code as an installation has it."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for name, (before, work, goal) in FIRST.items():
        script = f"{before}\nimport time; t = time.process_time()\n{work}\nprint(time.process_time() - t)"
        seconds = [
            float(
                subprocess.run(  # noqa: S603 (this interpreter, our code)
                    [sys.executable, "-c", script], env=settings, capture_output=True, text=True, check=True
                ).stdout
            )
            for _ in range(rounds + 1)
        ]
        print(f"first {name} in a fresh process: {duration(median(seconds[1:]))} (goal {goal})", flush=True)


SECTIONS: dict[str, Callable[[], Iterator[Row]]] = {
    "gaussian": gaussian,
    "classes": classes,
    "mixed": mixed,
    "families": families,
    "classifiers": classifiers,
    "questions": questions,
    "files": files,
}


def main(arguments: list[str] | None = None) -> None:
    """Measure the sections that are asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, "first", []], metavar="section")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for name in asked.sections or [*SECTIONS, "first"]:
        if name == "first":
            first(min(asked.rounds, 3))
            continue
        for row in SECTIONS[name]():
            measure(row, asked.rounds)
    absent()
    print("select · mclust: python -m benchmarks.mclust compares every cell and the time.")


if __name__ == "__main__":
    main()
