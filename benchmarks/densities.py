"""Densities: kernels, bandwidths and neighbours against SciPy, scikit-learn and KDEpy.

Run ``python -m benchmarks.densities [--quick] [section …]``; the sections are points, grid, plane, neighbours and
bandwidth. Ours and the peers take turns in one process, and answers are compared first. A peer that takes very long is
timed on a part of the targets, which its time is proportional to. A ratio above 1 says how many times faster we are.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

os.environ.setdefault("SUFFICE_THREADS", "2")  # before any of them is loaded
os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np
from scipy import stats
from sklearn import neighbors

import suffice as sf
from benchmarks.turns import absent, peer, take_turns, timed
from suffice.types import Array

ROUNDS = 3
SAME = 1e-8  # relative, of a density
SAME_ON_GRID = 1e-3  # of the highest density: KDEpy bins


def learned(prototype: sf.KDE, x: Array) -> sf.KDE:
    """The density of the rows, without the likelihood that a fit would measure."""
    return prototype.estimate(prototype.suffstats(x))


def report(what: str, seconds: list[float], names: list[str], parts: list[float]) -> None:
    """Print our time, and how many times as long each peer takes for the whole of it."""
    ours, *theirs = (time / part for time, part in zip(seconds, parts, strict=True))
    ratios = ", ".join(f"{name} {time / ours:.3g}×" for name, time in zip(names, theirs, strict=True))
    print(f"{what:48} {ours * 1e3:10.2f} ms   {ratios}", flush=True)


def check(what: str, ours: Array, theirs: Array, tolerance: float) -> None:
    """Stop where answers differ."""
    worst = float(np.max(np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-300)))
    if worst > tolerance:
        raise SystemExit(f"{what}: answers differ by {worst:.2e}, and may by {tolerance:.0e}")


def points(n: int) -> None:
    """The density of one column at as many points as it has rows."""
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=n), rng.normal(size=n)
    few = max(n // 100, 100)
    width = sf.bandwidth(x, "silverman")
    ours = sf.fit(sf.KDE(width), x).distribution
    scipy_kde = stats.gaussian_kde(x, width / x.std(ddof=1))
    tree = neighbors.KernelDensity(bandwidth=width, rtol=SAME).fit(x[:, None])
    check("scipy", np.exp(ours.log_prob(at[:few])), scipy_kde(at[:few]), SAME)
    check("scikit-learn", np.exp(ours.log_prob(at[:few])), np.exp(tree.score_samples(at[:few, None])), 2 * SAME)

    def whole() -> Array:
        found: Array = learned(sf.KDE(width), x).log_prob(at)
        return found

    tasks = [timed(whole), timed(lambda: scipy_kde(at[:few])), timed(lambda: tree.score_samples(at[:few, None]))]
    parts = [1.0, few / n, few / n]
    report(f"{n} rows at {n} points", take_turns(tasks, ROUNDS), ["scipy", "scikit-learn's tree"], parts)


def grid(n: int) -> None:
    """The density of one column on a grid."""
    x = np.random.default_rng(0).normal(size=n)
    at = np.linspace(x.min() - 1, x.max() + 1, 1024)
    width = sf.bandwidth(x, "silverman")
    ours = sf.fit(sf.KDE(width), x).distribution
    tasks, names = [timed(lambda: learned(sf.KDE(width), x).log_prob(at))], []
    kdepy = peer("KDEpy")
    if kdepy is not None:

        def theirs() -> Array:
            found: Array = kdepy.FFTKDE(bw=width).fit(x).evaluate(at)
            return found

        found = np.exp(ours.log_prob(at))
        check("KDEpy", found + found.max(), theirs() + found.max(), SAME_ON_GRID)
        tasks.append(timed(theirs))
        names.append("KDEpy's FFT")
    report(f"{n} rows on a grid of 1024", take_turns(tasks, ROUNDS), names, [1.0] * len(tasks))


def plane(n: int) -> None:
    """The density of two columns at as many points as there are rows."""
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    few, width = max(n // 100, 100), n ** (-1 / 6)
    ours = sf.fit(sf.KDE(width), x).distribution
    tree = neighbors.KernelDensity(bandwidth=width, rtol=SAME).fit(x)
    check("scikit-learn", np.exp(ours.log_prob(at[:few])), np.exp(tree.score_samples(at[:few])), 3 * SAME)
    tasks = [
        timed(lambda: sf.fit(sf.KDE(width), x).distribution.log_prob(at)),
        timed(lambda: tree.score_samples(at[:few])),
    ]
    report(f"{n} rows of 2 columns at {n} points", take_turns(tasks, ROUNDS), ["scikit-learn's tree"], [1.0, few / n])


def near(n: int) -> None:
    """The density of nearest neighbours."""
    rng = np.random.default_rng(0)
    x, at, k = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), 20
    ours = sf.fit(sf.KNN(k), x).distribution
    theirs = neighbors.NearestNeighbors(n_neighbors=k).fit(x)
    radius = theirs.kneighbors(at[:100])[0][:, -1]
    check("scikit-learn", np.exp(ours.log_prob(at[:100])), k / (n * 4 / 3 * np.pi * radius**3), SAME)
    tasks = [timed(lambda: ours.log_prob(at)), timed(lambda: theirs.kneighbors(at))]
    report(f"{n} rows of 3 columns, {k} neighbours", take_turns(tasks, ROUNDS), ["scikit-learn"], [1.0, 1.0])


def widths(n: int) -> None:
    """Sheather and Jones' bandwidth, and the diffusion's."""
    x = np.random.default_rng(0).gamma(2.0, size=n)
    kdepy = peer("KDEpy")
    for method in ("sj", "sj-dpi", "isj"):
        tasks, names = [timed(lambda method=method: sf.bandwidth(x, method))], []
        if kdepy is not None and method == "isj":
            tasks.append(timed(lambda: kdepy.bw_selection.improved_sheather_jones(x[:, None])))
            names.append("KDEpy")
        report(f"bandwidth {method} of {n} rows", take_turns(tasks, ROUNDS), names, [1.0] * len(tasks))


SECTIONS: dict[str, tuple[Callable[[int], None], int]] = {
    "points": (points, 100_000),
    "grid": (grid, 1_000_000),
    "plane": (plane, 100_000),
    "neighbours": (near, 100_000),
    "bandwidth": (widths, 100_000),
}


def main(arguments: list[str] | None = None) -> None:
    """Run the sections that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help="; ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    asked = parser.parse_args(arguments)
    for name in asked.sections:
        run, n = SECTIONS[name]
        run(n // 10 if asked.quick else n)
    absent()


if __name__ == "__main__":
    main()
