"""One distribution at a time: fits and log-densities against NumPy, SciPy, scikit-learn and, if there, pomegranate.

Run ``python -m benchmarks.estimation [part of a name]``. Ours and the peer take turns in one process, both with all
threads; the answers are compared first. A ratio above 1 says how many times faster we are. A third party in each round
reads memory as fast as it goes: what it reaches varies with the neighbours of a virtual machine.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from scipy import stats
from sklearn.naive_bayes import GaussianNB

import suffice as sf
from benchmarks import machine

ROUNDS = 11


@dataclass(frozen=True)
class Case:
    """Two ways to one answer. ``gigabytes`` must be read and ``gigaflops`` computed, whoever does it."""

    name: str
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    gigabytes: float
    gigaflops: float = 0.0

    def agree(self) -> bool:
        """Whether both answers are the same to 1e-8."""
        return all(np.allclose(a, b, rtol=1e-8, atol=1e-8) for a, b in zip(self.ours(), self.peer(), strict=True))


def cases() -> Iterator[Callable[[], Case]]:
    """Makers of the cases: the data of one are gone when the next is made."""
    yield normal
    yield normal_weighted
    yield normal_holes
    yield normal_float32
    yield normal_columns
    yield normal_classes
    yield gaussian
    yield categorical
    yield uniform
    yield poisson
    yield normal_density
    yield gaussian_density
    if importlib.util.find_spec("pomegranate"):
        yield normal_pomegranate


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _parameters(fit: sf.Fit, *names: str) -> list[Any]:
    return [getattr(fit.distribution, name) for name in names]


def normal() -> Case:
    """One Normal on ten million values."""
    x = _rng().normal(3, 2, 10**7)
    return Case(
        "Normal fit, 1e7 · numpy mean + std",
        lambda: _parameters(sf.fit(sf.Normal(), x), "mean", "std"),
        lambda: [x.mean(), x.std()],
        x.nbytes * 1e-9,
    )


def normal_weighted() -> Case:
    """The same with a weight for each value."""
    x, w = _rng().normal(3, 2, 10**7), _rng().random(10**7)

    def peer() -> list[float]:
        mean = np.average(x, weights=w)
        return [mean, np.sqrt(np.average((x - mean) ** 2, weights=w))]

    return Case(
        "Normal fit, 1e7, weighted · numpy average twice",
        lambda: _parameters(sf.fit(sf.Normal(), x, weights=w), "mean", "std"),
        peer,
        2 * x.nbytes * 1e-9,
    )


def normal_holes() -> Case:
    """The same with one value in twenty missing."""
    x = _rng().normal(3, 2, 10**7)
    x[::20] = np.nan
    return Case(
        "Normal fit, 1e7, 5 % missing · numpy nanmean + nanstd",
        lambda: _parameters(sf.fit(sf.Normal(), x), "mean", "std"),
        lambda: [np.nanmean(x), np.nanstd(x)],
        x.nbytes * 1e-9,
    )


def normal_float32() -> Case:
    """Single precision in, double precision out."""
    x = _rng().normal(3, 2, 10**7).astype(np.float32)
    return Case(
        "Normal fit, 1e7 float32 · numpy mean + std in float64",
        lambda: _parameters(sf.fit(sf.Normal(), x), "mean", "std"),
        lambda: [x.mean(dtype=np.float64), x.std(dtype=np.float64)],
        x.nbytes * 1e-9,
    )


def normal_columns() -> Case:
    """Ten columns at once."""
    x = _rng().normal(3, 2, (10**6, 10))
    return Case(
        "Normal fit, (1e6, 10) · numpy mean + std",
        lambda: _parameters(sf.fit(sf.Normal(), x), "mean", "std"),
        lambda: [x.mean(axis=0), x.std(axis=0)],
        x.nbytes * 1e-9,
    )


def normal_classes() -> Case:
    """Moments of every class: what a naive Bayes classifier learns."""
    x, y = _rng().normal(3, 2, (10**6, 10)), _rng().integers(0, 10, 10**6)

    def ours() -> list[Any]:
        found = sf.Normal().suffstats(x, sf.OneHot(y, 10))
        return [found.mean, found.var]

    def peer() -> list[Any]:
        model = GaussianNB(var_smoothing=0).fit(x, y)
        return [model.theta_, model.var_]

    return Case("Normals of 10 classes, (1e6, 10) · sklearn GaussianNB", ours, peer, (x.nbytes + y.nbytes) * 1e-9)


def gaussian() -> Case:
    """Mean and covariance."""
    n, d = 10**6, 30
    x = _rng().normal(3, 2, (n, d))
    return Case(
        "MultivariateNormal fit, (1e6, 30) · numpy mean + cov",
        lambda: _parameters(sf.fit(sf.MultivariateNormal(), x), "mean", "cov"),
        lambda: [x.mean(axis=0), np.cov(x, rowvar=False, bias=True)],
        x.nbytes * 1e-9,
        n * d * (d + 1) * 1e-9,
    )


def categorical() -> Case:
    """Levels and their frequencies, neither known before."""
    x = _rng().integers(0, 100, 10**7)

    def peer() -> list[Any]:
        levels, count = np.unique(x, return_counts=True)
        return [levels, count / len(x)]

    return Case(
        "Categorical fit, 1e7 integers · numpy unique with counts",
        lambda: _parameters(sf.fit(sf.Categorical(), x), "levels", "probs"),
        peer,
        x.nbytes * 1e-9,
    )


def uniform() -> Case:
    """The ends."""
    x = _rng().random(10**7)
    return Case(
        "Uniform fit, 1e7 · numpy min + max",
        lambda: _parameters(sf.fit(sf.Uniform(), x), "low", "high"),
        lambda: [x.min(), x.max()],
        x.nbytes * 1e-9,
    )


def poisson() -> Case:
    """A family of the generic path."""
    x = _rng().poisson(4.0, 10**7).astype(float)
    return Case(
        "Poisson fit, 1e7 · numpy mean",
        lambda: _parameters(sf.fit(sf.Poisson(), x), "rate"),
        lambda: [x.mean()],
        x.nbytes * 1e-9,
    )


def normal_density() -> Case:
    """Log-densities of one Normal."""
    x, model, peer = _rng().normal(3, 2, 10**7), sf.Normal(3, 2), stats.norm(3, 2)
    return Case(
        "Normal log_prob, 1e7 · scipy.stats.norm.logpdf",
        lambda: [model.log_prob(x)],
        lambda: [peer.logpdf(x)],
        2 * x.nbytes * 1e-9,
    )


def gaussian_density() -> Case:
    """Log-densities under a full covariance."""
    n, d = 10**6, 10
    x, root = _rng().normal(size=(n, d)), _rng().normal(size=(d, d))
    cov = root @ root.T + np.eye(d)
    model, peer = sf.MultivariateNormal(np.zeros(d), cov), stats.multivariate_normal(np.zeros(d), cov)
    return Case(
        "MultivariateNormal log_prob, (1e6, 10) · scipy.stats",
        lambda: [model.log_prob(x)],
        lambda: [peer.logpdf(x)],
        x.nbytes * 1e-9,
        n * d * (d + 1) * 1e-9,
    )


def normal_pomegranate() -> Case:
    """The library of mixtures over torch."""
    import torch
    from pomegranate.distributions import Normal

    x = _rng().normal(3, 2, (10**6, 10))
    rows = torch.from_numpy(x)

    def peer() -> list[Any]:
        model = Normal(covariance_type="diag").fit(rows)
        return [model.means.numpy(), np.sqrt(model.covs.numpy())]

    return Case(
        "Normal fit, (1e6, 10) · pomegranate",
        lambda: _parameters(sf.fit(sf.Normal(), x), "mean", "std"),
        peer,
        x.nbytes * 1e-9,
    )


def compare(*tasks: Callable[[], object]) -> list[float]:
    """Median seconds of each task, taken in turns."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(ROUNDS):
        for task, record in zip(tasks, times, strict=True):
            start = time.perf_counter()
            task()
            record.append(time.perf_counter() - start)
    return [median(record) for record in times]


def main(wanted: str = "") -> None:
    """Print a line for each case."""
    peak, read = machine.dgemm(2), machine.Reader(2)
    print(f"{'two threads, median of ' + str(ROUNDS):57}{'ours':>10}{'peer':>10}{'ratio':>8}   of what the machine can")
    for make in cases():
        case = make()
        if wanted not in case.name:
            continue
        if not case.agree():
            print(f"{case.name:57}the answers differ: not timed")
            continue
        ours, peer, reading = compare(case.ours, case.peer, read)
        share = f"{case.gigabytes / ours * reading / read.gigabytes:4.0%} of x·x's bandwidth"
        if case.gigaflops:
            share += f", {case.gigaflops / ours / peak:4.0%} of dgemm"
        print(f"{case.name:57}{1e3 * ours:7.1f} ms{1e3 * peer:7.1f} ms{peer / ours:8.1f}   {share}")
    if not importlib.util.find_spec("pomegranate"):
        print("pomegranate is not installed: skipped")


if __name__ == "__main__":
    main(*sys.argv[1:2])
