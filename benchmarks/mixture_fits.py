"""Whole fits of mixtures: time to solution, memory, how the cost grows, and start-up. `benchmarks.mixtures` runs it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import sklearn.datasets
from sklearn.mixture import GaussianMixture

import suffice as sf
from benchmarks.turns import duration, take_turns, timed
from suffice.em.loop import run_em
from suffice.em.training import TrainingData
from suffice.statistics.weights import Weights

PROBLEMS = ((100_000, 2, 3), (50_000, 5, 5), (50_000, 10, 10))
SEEDS = 3
ROUNDS = 5
DATA = Path(sklearn.datasets.__file__).parent / "data"
FAITHFUL = Path(__file__).parent.parent / "tests" / "golden" / "faithful.csv"


def overlapping(n: int, d: int, k: int, seed: int) -> np.ndarray:
    """Rows of k clusters of unequal shapes and sizes that overlap, in many columns as much as in two."""
    rng = np.random.default_rng(seed)
    roots = 0.5 * np.sqrt(2 / d) * rng.standard_normal((k, d, d)) + np.eye(d)
    places = 2.0 * np.sqrt(2 / d) * rng.standard_normal((k, d))
    x = np.empty((n, d))
    for j, rows in enumerate(
        np.array_split(np.arange(n), (n * rng.dirichlet(np.full(k, 5.0)).cumsum()[:-1]).astype(int))
    ):
        x[rows] = places[j] + rng.standard_normal((len(rows), d)) @ roots[j].T
    return rng.permutation(x)


# ---- time to solution ------------------------------------------------------------------------------------------------
def solution(*, quick: bool) -> None:
    """Fits with defaults against the best of five by scikit-learn, and what acceleration saves."""
    rounds = 1 if quick else ROUNDS
    print(f"\n== time to solution, defaults, median of {rounds}; log L per row beside scikit-learn with n_init=5")
    gains: list[list[float]] = [[], [], []]
    for n, d, k in PROBLEMS:
        for seed in range(SEEDS):
            x = overlapping(n // (10 if quick else 1), d, k, seed)
            line = _solved(x, k, seed, rounds, gains)
            print(f"({len(x)}, {d}, {k}) seed {seed}: {line}", flush=True)
    estimator, value, fewer = map(median, gains)
    print(f"median: GaussianMixture {estimator:.1f}×, sf.fit {value:.1f}×; plain EM takes {fewer:.1f}× as many passes")


def _solved(x: np.ndarray, k: int, seed: int, rounds: int, gains: list[list[float]]) -> str:
    model = sf.GaussianMixture(k, random_state=seed)
    peer = GaussianMixture(k, n_init=5, random_state=seed)
    prototype = sf.Mixture(sf.MultivariateNormal(), k)
    sf.fit(prototype, x[: len(x) // 10], random_state=seed)  # what is loaded is loaded
    tasks = (lambda: model.fit(x), lambda: sf.fit(prototype, x, random_state=seed), lambda: peer.fit(x))
    ours, fit, theirs = take_turns([timed(task) for task in tasks], rounds)
    best, high = peer.score(x), sf.fit(prototype, x, random_state=seed)
    gains[0].append(theirs / ours)
    gains[1].append(theirs / fit)
    fast, plain = _passes(x, k, seed)
    gains[2].append(plain[0] / fast[0])
    return (
        f"scikit-learn {duration(theirs)}, {best:.5f}; GaussianMixture {duration(ours)} ({theirs / ours:.1f}×), "
        f"{model.score(x) - best:+.1e} in {model.n_iter_} passes; sf.fit {duration(fit)} ({theirs / fit:.1f}×), "
        f"{high.log_likelihood / len(x) - best:+.1e} in {high.n_iter}; from that start {fast[0]} passes, plain EM "
        f"{plain[0]} to {(plain[1] - fast[1]) / len(x):+.1e}"
    )


def _passes(x: np.ndarray, k: int, seed: int) -> list[tuple[int, float]]:
    """Passes and log-likelihood, accelerated and plain, from the same start to the same tolerance."""
    prototype = sf.Mixture(sf.MultivariateNormal(), k)
    rows = prototype.read(x)
    every = Weights.of(None, len(rows))
    first = prototype.for_data(rows).initialize(rows, every, np.random.default_rng(seed), None, None)[0]
    found = []
    for accelerate in (True, False):
        path = run_em(first, TrainingData(rows, every), max_iter=5000, tol=prototype.tolerance, accelerate=accelerate)
        found.append((path.trace.passes, float(path.trace.log_likelihood[-1])))
    return found


# ---- memory ----------------------------------------------------------------------------------------------------------
MEMORY = """
import pathlib, resource, sys
import numpy as np
import suffice as sf

n, d, k = map(int, sys.argv[1:])
status = pathlib.Path("/proc/self/status")  # of this program alone: on Linux ru_maxrss begins at that of its parent


def peak():
    words = status.read_text().split() if status.exists() else []
    most = words[words.index("VmHWM:") + 1] if words else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most) * 1024


rng = np.random.default_rng(0)
places = 3 * rng.standard_normal((k, d))
x = np.empty((n, d))
for begin in range(0, n, 100_000):
    part = x[begin : begin + 100_000]
    rng.standard_normal(out=part)
    part += places[rng.integers(k, size=len(part))]
warm = sf.fit(sf.Mixture(sf.MultivariateNormal(), k), x[:200_000], max_iter=2, random_state=0)
before = peak()
found = sf.fit(sf.Mixture(sf.MultivariateNormal(), k), x, max_iter=3, random_state=0)
print(x.nbytes, before, peak(), found.n_iter)
"""


def memory(*, quick: bool) -> None:
    """The most memory of a process that fits many rows, beyond the rows."""
    n, d, k = (1_000_000 if quick else 10_000_000), 8, 32
    print(f"\n== peak memory of sf.fit, ({n:.0e}, {d}, {k}), a few passes".replace("e+0", "e"))
    data, before, after, count = map(int, _fresh(MEMORY, n, d, k).split())
    print(
        f"rows {data / 1e6:.0f} MB; the process beyond them {(after - data) / 1e6:.0f} MB, of which the fit of all "
        f"added {(after - before) / 1e6:.0f} MB to what libraries and a small fit had taken ({count} passes)"
    )


def _fresh(code: str, *arguments: object) -> str:
    """What a fresh process prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 (our own code)


# ---- how the cost grows ----------------------------------------------------------------------------------------------
def linear(*, quick: bool) -> None:
    """Seconds of a pass over a grid of rows and components, and the slope of their logarithms."""
    rows = [10_000, 30_000, 100_000] if quick else [30_000, 100_000, 300_000, 1_000_000, 3_000_000]
    components = [4, 8, 16, 32] if quick else [4, 8, 16, 32, 64, 128]
    d = 8
    print(f"\n== seconds of a pass, full covariances, {d} columns")
    x = overlapping(rows[-1], d, 8, 0)
    by_rows = [_pass_seconds(x[:n], 16) for n in rows]
    by_members = [_pass_seconds(x[: rows[-2]], k) for k in components]
    _plot("rows (16 components)", rows, by_rows)
    _plot(f"components ({rows[-2]} rows)", components, by_members)


def _pass_seconds(x: np.ndarray, k: int) -> float:
    mean = x[np.random.default_rng(0).choice(len(x), k, replace=False)]
    model = sf.Mixture(sf.MultivariateNormal(mean, np.broadcast_to(np.cov(x.T), (k, x.shape[1], x.shape[1]))))
    rows, every = model.read(x), Weights.of(None, len(x))
    model.suffstats(rows, every)
    return take_turns([timed(lambda: model.estimate(model.suffstats(rows, every)))], ROUNDS)[0]


def _plot(what: str, sizes: Sequence[int], seconds: Sequence[float]) -> None:
    """A plot in logarithms: a line of text for each size, its mark to the right as the seconds grow."""
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    print(f"{what}: time grows as the power {slope:.2f}")
    low, high = np.log10(min(seconds)), np.log10(max(seconds))
    for size, value in zip(sizes, seconds, strict=True):
        place = round(50 * (np.log10(value) - low) / max(high - low, 1e-12))
        print(f"{size:>9} |{' ' * place}●{' ' * (50 - place)} {duration(value)}")


# ---- start-up --------------------------------------------------------------------------------------------------------
FIT_IRIS = """
import sys
import numpy as np
x = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1, usecols=range(4))
from suffice import GaussianMixture
GaussianMixture(3, random_state=0).fit(x)
heavy = ("pyarrow", "pandas", "polars", "matplotlib", "scipy.stats", "scipy.optimize", "rich")
print(len(sys.modules), *(name for name in heavy if name in sys.modules))
"""
IMPORT_PEER = """
import sys
import numpy as np
x = np.loadtxt(sys.argv[1], delimiter=",", skiprows=1, usecols=range(4))
import sklearn.mixture
print(len(sys.modules))
"""
FIT_PEER = IMPORT_PEER + "sklearn.mixture.GaussianMixture(3, random_state=0).fit(x)\n"


def startup(*, quick: bool) -> None:
    """A first fit in a fresh process, beside the import of scikit-learn's mixtures."""
    iris = DATA / "iris.csv"
    print("\n== a fresh process: GaussianMixture(3).fit(iris)")
    rounds = ROUNDS if quick else 11
    codes = (FIT_IRIS, IMPORT_PEER, FIT_PEER)
    ours, bare, theirs = take_turns([timed(lambda code=code: _fresh(code, iris)) for code in codes], rounds)
    count, *heavy = _fresh(FIT_IRIS, iris).split()
    print(
        f"import and fit {duration(ours)}; importing sklearn.mixture alone {duration(bare)}, with its fit "
        f"{duration(theirs)}: ours costs {duration(ours - bare)} more than the import"
    )
    print(f"{count} modules, of the heavy ones: {', '.join(heavy) or 'none'}")


# ---- choosing --------------------------------------------------------------------------------------------------------
def select(*, quick: bool) -> None:
    """How long a choice among sizes and structures takes; nobody to compare with in Python."""
    sizes = range(1, 4 if quick else 10)
    print(f"\n== select over {len(sizes)} sizes and 14 structures")
    tables = {"iris": np.loadtxt(DATA / "iris.csv", delimiter=",", skiprows=1, usecols=range(4))}
    if FAITHFUL.exists():
        tables["faithful"] = np.genfromtxt(FAITHFUL, delimiter=",", skip_header=1)
    for name, x in tables.items():
        begin = time.perf_counter()
        found = sf.select(sf.MultivariateNormal(), x, n_components=sizes, structures="all", random_state=0)
        best = found.table[0]
        seconds = time.perf_counter() - begin
        which = f"{best['structure']} with {best['n_components']}, BIC {best['bic']:.2f}"
        print(f"{name} {x.shape}: {duration(seconds)}, best {which}")
