"""Mixtures: passes of EM and whole fits against scikit-learn, oneDAL, pomegranate, faiss, StepMix and mixle.

Run ``python -m benchmarks.mixtures [--quick] [section …]``; the sections are gaussian, questions, kmeans, labels,
families, solution, memory, linear, startup and select. Ours and the peers take turns in one process, two threads for
all, and answers are compared first. A ratio above 1 says how many times faster we are. The share of dgemm counts
4·n·k·m operations in a pass over n rows with m features of k components: what the logits and the statistics need.
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
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

import suffice as sf
from benchmarks import machine, mixture_fits
from benchmarks.mixture_peers import display_name, in_mixle, in_onedal, in_pomegranate, in_sklearn
from benchmarks.turns import Task, absent, agree, duration, peer, per_pass, repeated, take_turns
from suffice.statistics.weights import Weights

ROUNDS = 5
SAME = 1e-9  # relative: the same arithmetic in another order
SINGLE = 1e-5  # the same, where some of it is in single precision

Size = tuple[int, int, int]  # rows, columns, components


@dataclass(frozen=True)
class Case:
    """Our task and those of the peers, and what any of them has to compute and to read."""

    name: str
    ours: Task
    peers: dict[str, Task]
    gigaflops: float
    gigabytes: float


def run(cases: Iterator[Case]) -> None:
    """Print a line for each case."""
    peak, read = machine.dgemm(2), machine.Reader(2)
    print(f"two threads, dgemm {peak:.0f} GFLOP/s, median of {ROUNDS} rounds")
    for case in cases:
        ours, *others, reading = take_turns([case.ours, *case.peers.values(), repeated(read)], ROUNDS)
        against = ", ".join(
            f"{name} {duration(seconds)} ({seconds / ours:.1f}×)"
            for name, seconds in zip(case.peers, others, strict=True)
        )
        share = f"{case.gigaflops / ours / peak:.0%} of dgemm"
        bandwidth = f"{case.gigabytes / ours * reading / read.gigabytes:.0%} of x·x's bandwidth"
        print(f"{case.name:44}{duration(ours):>9}  {against or 'no peer'}; {share}, {bandwidth}", flush=True)


def title(text: str) -> None:
    """Print what follows."""
    print(f"\n== {text}")


# ---- one pass of EM over Gaussian components
# ----------------------------------------------------------------------------
FULL = ((100_000, 10, 10), (1_000_000, 16, 16), (1_000_000, 2, 3), (100_000, 50, 20), (20_000, 200, 5))
DIAGONAL = ((100_000, 10, 10), (1_000_000, 16, 16), (1_000_000, 2, 3))
TIED = ((100_000, 10, 10), (1_000_000, 16, 16), (100_000, 50, 20))
STRUCTURES = {"full": FULL, "diag": DIAGONAL, "spherical": DIAGONAL, "tied": TIED}


def clusters(n: int, d: int, k: int, apart: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of k overlapping spheres, and where these are."""
    rng = np.random.default_rng(0)
    x, places = rng.standard_normal((n, d)), apart * rng.standard_normal((k, d))
    x += places[rng.integers(k, size=n)]
    return x, places


def begun(x: np.ndarray, places: np.ndarray, structure: str) -> Any:
    """A mixture two passes after wider spheres beside the true ones: parameters as a fit sees them."""
    mean = places + 0.5 * np.random.default_rng(1).standard_normal(places.shape)
    cov = np.broadcast_to(1.5 * np.eye(x.shape[1]), (*mean.shape, x.shape[1]))
    return passes(sf.Mixture(sf.MultivariateNormal(mean, cov, structure=structure)), x, 2)


def passes(model: Any, rows: Any, count: int) -> Any:
    """Plain EM."""
    every = Weights.of(None, len(rows))
    for _ in range(count):
        model = model.estimate(model.suffstats(rows, every))
    return model


def features(d: int, structure: str) -> int:
    """Numbers of a row that a component's logit is linear in; what all components share does not count."""
    return {"full": (d + 1) * (d + 2) // 2, "diag": 2 * d + 1, "spherical": d + 2, "tied": d + 1}[structure]


def gaussian_case(structure: str, size: Size) -> Case:
    """One pass from the same parameters."""
    n, d, k = size
    x, places = clusters(*size)
    model = begun(x, places, structure)
    rows, every = model.read(x), Weights.of(None, n)
    theirs, onedal = in_sklearn(model, x, structure), in_onedal(model, x, structure)
    peers: dict[str, Task] = {}
    if agree(display_name(passes(model, rows, 1), structure), theirs(), SAME):
        peers["scikit-learn"] = repeated(theirs)
    if onedal is not None and agree(display_name(passes(model, rows, 2), structure), onedal(2), SAME):
        peers["oneDAL"] = per_pass(onedal, 1, 5)
    pomegranate = in_pomegranate(model, x, structure)
    if pomegranate is not None and agree(display_name(passes(model, rows, 1), structure), pomegranate(), SINGLE):
        peers["pomegranate"] = repeated(pomegranate)
    missed = {"scikit-learn", *(["oneDAL"] if onedal else []), *(["pomegranate"] if pomegranate else [])} - set(peers)
    differ = f" [{', '.join(sorted(missed))} differs]" if missed else ""
    return Case(
        f"{structure} ({n:.0e}, {d}, {k}){differ}".replace("e+0", "e"),
        repeated(lambda: model.estimate(model.suffstats(rows, every))),
        peers,
        1e-9 * n * (4 * k * features(d, structure) + (d * (d + 1) if structure == "tied" else 0)),
        1e-9 * x.nbytes,
    )


def gaussian(*, quick: bool) -> None:
    """One pass of EM under each structure of covariances."""
    title("one pass of EM, Gaussian components (rows, columns, components)")
    run(gaussian_case(s, (n // (10 if quick else 1), d, k)) for s, sizes in STRUCTURES.items() for n, d, k in sizes)


# ---- questions to Gaussian mixtures ----------------------------------------------------------------------------------
QUESTIONS = ("predict", "predict_proba", "score_samples")
ASKED = ((100_000, 10, 10), (1_000_000, 2, 3), (100_000, 50, 20))


def question_case(structure: str, size: Size, name: str) -> Case:
    """The same question to two estimators of the same parameters."""
    n, d, k = size
    x, places = clusters(*size)
    weights, means, cov = display_name(begun(x, places, structure), structure)
    spread = cov if structure == "diag" else np.linalg.inv(cov)
    options = {"covariance_type": structure, "weights_init": weights, "means_init": means, "max_iter": 1}
    options["precisions_init"] = 1 / spread if structure == "diag" else spread
    mine, other = (kind(k, **options).fit(x) for kind in (sf.GaussianMixture, GaussianMixture))
    ours, theirs = (lambda one=one: getattr(one, name)(x) for one in (mine, other))
    same = agree([ours()], [theirs()], SAME)
    return Case(
        f"{name}, {structure} ({n:.0e}, {d}, {k}){'' if same else ' [scikit-learn differs]'}".replace("e+0", "e"),
        repeated(ours),
        {"scikit-learn": repeated(theirs)} if same else {},
        2e-9 * n * k * features(d, structure),
        1e-9 * x.nbytes,
    )


def questions(*, quick: bool) -> None:
    """Which component made each row, with which probability, and how dense it is there."""
    title("questions to Gaussian mixtures")
    run(
        question_case(s, (n // (10 if quick else 1), d, k), name)
        for s in ("full", "diag", "tied")
        for n, d, k in ASKED
        for name in QUESTIONS
    )


# ---- k-means ---------------------------------------------------------------------------------------------------------
CENTRES = ((1_000_000, 16, 64), (100_000, 2, 8))


def kmeans_case(size: Size, few: int = 2, many: int = 20) -> Case:
    """One round of Lloyd, as the difference of two fits."""
    n, d, k = size
    x, _ = clusters(n, d, k, apart=1.0)
    init = x[np.random.default_rng(1).choice(n, k, replace=False)]
    options = {"n_clusters": k, "init": init, "n_init": 1, "tol": 0.0}

    def ours(count: int) -> Any:
        return sf.KMeans(max_iter=count, **options).fit(x)

    def theirs(count: int) -> Any:
        return KMeans(max_iter=count, algorithm="lloyd", **options).fit(x)

    mine, other = ours(many), theirs(many)
    same = agree([mine.cluster_centers_, mine.inertia_], [other.cluster_centers_, other.inertia_], SAME)
    peers = {"scikit-learn": per_pass(theirs, few, many)} if same else {}
    faiss = peer("faiss")
    if faiss is not None:
        faiss.omp_set_num_threads(2)
        single, begin = x.astype(np.float32), init.astype(np.float32)

        def train(count: int) -> Any:
            model = faiss.Kmeans(d, k, niter=count, max_points_per_centroid=n, min_points_per_centroid=1)
            model.train(single, init_centroids=begin)
            return model.centroids

        if agree([mine.cluster_centers_], [train(mine.n_iter_)], 1e-2):  # single precision: a few rows change sides
            peers["faiss float32"] = per_pass(train, few, many)
        else:
            print("faiss differs: not timed")
    differ = "" if same else " [scikit-learn differs]"
    return Case(
        f"k-means ({n:.0e}, {d}, {k}){differ}".replace("e+0", "e"),
        per_pass(ours, few, many),
        peers,
        2e-9 * n * k * d,
        1e-9 * x.nbytes,
    )


def kmeans(*, quick: bool) -> None:
    """Rounds of Lloyd."""
    title("one round of Lloyd from the same centres")
    run(kmeans_case((n // (10 if quick else 1), d, k)) for n, d, k in CENTRES)


# ---- latent classes --------------------------------------------------------------------------------------------------
def labels_case(n: int, d: int = 20, levels: int = 5, k: int = 4) -> Case:
    """One pass of EM from the same responsibilities, as the difference of two fits."""
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.full(levels, 0.7), (k, d)).cumsum(axis=2)
    drawn = rng.random((n, d))[:, :, None] > tables[rng.integers(k, size=n)]
    x = np.minimum(drawn.sum(axis=2), levels - 1)
    shares = np.random.RandomState(0).uniform(size=(n, k))  # what StepMix draws
    shares /= shares.sum(axis=1, keepdims=True)
    prototype = sf.Mixture(sf.Categorical(), k)
    rows, every = prototype.read(x), Weights.of(None, n)
    # StepMix learns the components from the first shares, but not the weights.
    first = prototype.for_data(rows).initialize(rows, every, rng, shares, None)[0]
    first = sf.Mixture(first.components, weights=np.full(k, 1 / k))
    staged, peers = first.preprocess(rows), {}
    stepmix = peer("stepmix")
    if stepmix is not None:

        def fit(count: int) -> Any:
            model = stepmix.StepMix(
                k, measurement="categorical", max_iter=count, abs_tol=0.0, random_state=0, progress_bar=0
            )
            return model.fit(x)

        found, mine = fit(3), passes(first, staged, 3)
        own = [mine.weights, np.sum(mine.log_prob(x)) / n]
        if agree(own, [found.weights_, found.score(x)], SAME):
            peers["StepMix"] = per_pass(fit, 2, 6)
        else:
            print("StepMix differs: not timed")
    return Case(
        f"latent classes ({n:.0e}, {d} of {levels} levels, {k})".replace("e+0", "e"),
        repeated(lambda: first.estimate(first.suffstats(staged, every))),
        peers,
        2e-9 * n * k * d,
        1e-9 * n * d,
    )


def labels(*, quick: bool) -> None:
    """Latent classes."""
    title("one pass of EM, latent classes")
    run(iter([labels_case(10_000 if quick else 100_000)]))


# ---- other families --------------------------------------------------------------------------------------------------
def poisson_case(n: int, k: int = 3) -> Case:
    """Counts in one column."""
    rng = np.random.default_rng(0)
    x = rng.poisson(np.array([2.0, 8.0, 20.0])[rng.integers(k, size=n)])
    rates, weights = np.array([1.0, 6.0, 15.0]), np.full(k, 1 / k)
    model = sf.Mixture([sf.Poisson(rate) for rate in rates], weights=weights)

    def components(stats: Any) -> list[Any]:
        return [stats.PoissonDistribution(rate) for rate in rates]

    def theirs(found: Any) -> list[Any]:
        return [found.w, [one.lam for one in found.components]]

    return _against_mixle(
        f"Poisson ({n:.0e}, 1, {k})".replace("e+0", "e"),
        model,
        x,
        x.tolist(),
        components,
        theirs,
        lambda mine: [mine.weights, np.ravel(mine.components.rate)],
        4e-9 * n * k * 2,
    )


def mixed_case(n: int, k: int = 3) -> Case:
    """A column of numbers, one of counts and one of labels."""
    rng = np.random.default_rng(0)
    who = rng.integers(k, size=n)
    x = {
        "length": rng.normal(np.array([0.0, 2.0, 5.0])[who], 1.0),
        "visits": rng.poisson(np.array([2.0, 8.0, 3.0])[who]),
        "kind": np.array(list("abc"))[(who + (rng.random(n) < 0.3)) % 3],
    }
    means, rates = np.array([-1.0, 2.0, 4.0]), np.array([1.0, 6.0, 4.0])
    tables = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]])
    model = sf.Mixture(
        [
            sf.Product({"length": sf.Normal(m, 1.5), "visits": sf.Poisson(r), "kind": sf.Categorical(list("abc"), p)})
            for m, r, p in zip(means, rates, tables, strict=True)
        ],
        weights=np.full(k, 1 / k),
    )

    def components(stats: Any) -> list[Any]:
        return [
            stats.CompositeDistribution(
                (
                    stats.GaussianDistribution(m, 1.5**2),
                    stats.PoissonDistribution(r),
                    stats.CategoricalDistribution(dict(zip("abc", p, strict=True))),
                )
            )
            for m, r, p in zip(means, rates, tables, strict=True)
        ]

    def theirs(found: Any) -> list[Any]:
        parts = [one.dists for one in found.components]
        return [found.w, [one[0].mu for one in parts], [one[1].lam for one in parts]]

    def own(mine: Any) -> list[Any]:
        each = [one.blocks for one in mine.parts]
        return [mine.weights, [float(one["length"].mean) for one in each], [float(one["visits"].rate) for one in each]]

    rows = list(zip(x["length"].tolist(), x["visits"].tolist(), x["kind"].tolist(), strict=True))
    name = f"Normal × Poisson × Categorical ({n:.0e}, 3, {k})".replace("e+0", "e")
    return _against_mixle(name, model, x, rows, components, theirs, own, 4e-9 * n * k * 6)


def _against_mixle(
    name: str, model: Any, x: Any, listed: Any, components: Any, theirs: Any, own: Any, gigaflops: float
) -> Case:
    """One pass from the same parameters; mixle's is the difference of two fits."""
    rows = model.read(x)
    staged, every, peers = model.preprocess(rows), Weights.of(None, len(rows)), {}
    fit = in_mixle(model, listed, components)
    if fit is not None:
        if agree(own(passes(model, staged, 2)), theirs(fit(2)), SAME):
            peers["mixle"] = per_pass(fit, 2, 6)
        else:
            print(f"mixle differs: not timed ({own(passes(model, staged, 2))} against {theirs(fit(2))})")
    return Case(
        name, repeated(lambda: model.estimate(model.suffstats(staged, every))), peers, gigaflops, 8e-9 * len(rows)
    )


def families(*, quick: bool) -> None:
    """Components of other families."""
    title("one pass of EM, other families")
    n = 20_000 if quick else 1_000_000
    run(make(n) for make in (poisson_case, mixed_case))


SECTIONS: dict[str, Callable[..., None]] = {
    "gaussian": gaussian,
    "questions": questions,
    "kmeans": kmeans,
    "labels": labels,
    "families": families,
    "solution": mixture_fits.solution,
    "memory": mixture_fits.memory,
    "linear": mixture_fits.linear,
    "startup": mixture_fits.startup,
    "select": mixture_fits.select,
}


def main(arguments: list[str] | None = None) -> None:
    """Print the sections asked for, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixtures", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a look")
    options = parser.parse_args(arguments)
    for name in options.sections or SECTIONS:
        with threadpool_limits(2), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peers that are stopped after some passes say that they did not converge
            SECTIONS[name](quick=options.quick)
    absent()


if __name__ == "__main__":
    main()
