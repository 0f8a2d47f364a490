"""EM over every family: the bound is tight, nothing ever falls, and a fused pass is the pass of the definition."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.families import FAMILIES

import suffice as sf
from suffice.core import responsibilities
from suffice.core.exponential_family import ExponentialFamily
from suffice.distributions.covariance_structures import STRUCTURES
from suffice.em.convergence import ObjectiveFellError
from suffice.em.loop import run_em
from suffice.em.training import TrainingData
from suffice.statistics.weights import Weights
from suffice.testing.law import same_statistics

FITTED = [name for name in FAMILIES if name != "MultivariateNormal"]  # whose structures are tried one by one
TABLE = sf.Product(
    {"a": sf.Normal(0.0, 1.0), "b": sf.Poisson(2.0), "c": sf.Categorical(["x", "y", "z"], [0.2, 0.5, 0.3])}
)


def truth(name, rng, k):
    """A mixture of k typical components of a family, to draw rows from."""
    if name in STRUCTURES:
        cov = np.eye(2) * rng.uniform(0.3, 2.0)
        stack = sf.MultivariateNormal(rng.normal(0, 3, (k, 2)), np.broadcast_to(cov, (k, 2, 2)))
        return sf.Mixture(stack), sf.MultivariateNormal(structure=name)
    if name == "Product":
        return sf.Mixture([TABLE] * k), TABLE
    if name == "Nested":
        return sf.Mixture(sf.Normal(rng.normal(0, 4, (k, 1)), 1.0)), sf.Mixture(sf.Normal(), 2)
    if name == "Unlike":
        return sf.Mixture([sf.Gamma(2.0, 1.0), sf.LogNormal(1.0, 0.5)]), [sf.Gamma(), sf.LogNormal()]
    kind = FAMILIES[name]
    columns = 1 + (len(name) % 2)
    stack = kind.example(rng, (k, columns))
    prototype = kind.example(rng, ()) if kind.row_vector else stack.unstacked[0]
    known = {
        spec_name: getattr(stack.unstacked[0], spec_name)
        for spec_name, spec in kind.specs().items()
        if not spec.learned
    }
    return sf.Mixture(stack), type(prototype)(**known) if known else prototype


def rows_of(mixture, rng, n, holes):
    rows = mixture.sample(n, rng)
    if holes and isinstance(rows, np.ndarray) and rows.dtype.kind == "f" and rows.ndim == 2:
        rows = rows.copy()
        rows[rng.random(rows.shape) < 0.1] = np.nan
    return rows


def rounding(fit):
    """What rounding may cost where components are so sharp that the terms of their likelihood cancel."""
    stack, stats = fit.distribution.components, fit.statistics.components
    if isinstance(stack, sf.MultivariateNormal):
        spread = np.sqrt(np.diagonal(np.cov(stack.mean.T, aweights=fit.distribution.weights).reshape(2, 2)) + 1e-300)
        spread = np.maximum(spread, np.sqrt(np.einsum("kii->ki", stack.cov)).max(axis=0))
        return 1e-15 * fit.n / np.linalg.eigvalsh(stack.cov / (spread[:, None] * spread))[:, 0].min()
    if hasattr(stats, "parts") and hasattr(stack, "nonzero"):  # a hurdle: what is not zero
        stack, stats = stack.nonzero, stats.parts[1]
    if isinstance(stack, ExponentialFamily) and hasattr(stats, "total"):
        natural = np.where(stats.total == 0, 0.0, stack.natural())  # −inf on the boundary, where there is nothing
        return 1e-14 * np.abs(natural * stats.total).sum()
    return 0.0


NAMES = [*FITTED, *STRUCTURES, "Product", "Nested", "Unlike"]
PROBLEMS = int(os.environ.get("SUFFICE_PROBLEMS", "1000"))  # over all names


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_nothing_falls_and_the_bound_is_tight(name):
    each = -(-PROBLEMS // len(NAMES)) + 1

    @settings(
        max_examples=each, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(
        seed=st.integers(0, 2**20),
        k=st.integers(2, 3),
        n=st.integers(8, 40),
        weighted=st.booleans(),
        holes=st.booleans(),
        accelerate=st.booleans(),
        weak=st.booleans(),
    )
    def check(seed, k, n, weighted, holes, accelerate, weak):
        rng = np.random.default_rng(seed)
        mixture, prototype = truth(name, rng, k)
        x = rows_of(mixture, rng, n, holes)
        model = sf.Mixture(prototype) if isinstance(prototype, list) else sf.Mixture(prototype, k)
        weights = rng.uniform(0.1, 3.0, n) if weighted else None
        prior = {"weights": sf.Dirichlet([1.5])} if weak else None
        options = {"start": "random", "max_iter": 12, "accelerate": accelerate, "random_state": seed}
        fit = sf.fit(model, x, weights=weights, prior=prior, **options)
        trace = fit.trace
        size = 1 + np.abs(trace.objective)
        assert (np.diff(trace.objective) >= -1e-9 * size[1:]).all()
        assert (np.abs(trace.bound - trace.log_likelihood) <= 1e-12 * size + rounding(fit)).all()
        assert np.isfinite(trace.log_likelihood).all()

    check()


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_lies_below_the_likelihood_of_other_parameters(name):
    rng = np.random.default_rng(3)
    mixture, prototype = truth(name, rng, 2)
    x = rows_of(mixture, rng, 60, holes=False)
    model = sf.Mixture(prototype) if isinstance(prototype, list) else sf.Mixture(prototype, 2)
    rows = model.read(x)
    here = model.for_data(rows).initialize(rows, Weights(len(rows)), rng, "random", None)[0]
    stats = here.suffstats(rows)
    if not stats.components.exact:
        pytest.skip("statistics of these components tell the likelihood of their own parameters only")
    there = here.estimate(stats)
    after = float(np.sum(there.log_prob(x)))
    assert here.log_likelihood(stats) <= there.log_likelihood(stats) + 1e-9 * (1 + abs(after))
    assert there.log_likelihood(stats) <= after + 1e-9 * (1 + abs(after))


@pytest.mark.parametrize("name", NAMES)
def test_the_fused_pass_is_the_pass_of_the_definition(name):
    rng = np.random.default_rng(4)
    mixture, prototype = truth(name, rng, 2)
    x = rows_of(mixture, rng, 50, holes=False)
    model = sf.Mixture(prototype) if isinstance(prototype, list) else sf.Mixture(prototype, 2)
    rows = model.read(x)
    here = model.for_data(rows).initialize(rows, Weights(len(rows)), rng, "random", None)[0]
    weights, log_weights = rng.uniform(0.0, 2.0, 50), np.log(rng.dirichlet(np.ones(2), 50))
    log_weights[0, 1] = -np.inf
    staged = here.preprocess(rows)
    for given_weights in (None, weights):
        for logs in (here.log_weights, log_weights):
            fused = here.components.e_step(staged, logs, given_weights)
            plain = responsibilities.e_step(here.components, rows, logs, given_weights)
            np.testing.assert_allclose(fused.log_likelihood, plain.log_likelihood, rtol=1e-11, atol=1e-10)
            np.testing.assert_allclose(fused.entropy, plain.entropy, rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(fused.count, plain.count, rtol=1e-10, atol=1e-10)
            told = plain.statistics  # an E-step may keep less of the scatter than statistics in general
            told = told.kept_as(fused.statistics) if hasattr(told, "kept_as") else told
            same_statistics(fused.statistics, told, 1e-9, name)


def test_a_wrong_m_step_is_caught():
    class Wrong(sf.Mixture, register=False):
        def estimate(self, stats, prior=None):
            better = super().estimate(stats, prior)
            return Wrong(better.components, weights=0.5 * better.weights[::-1] + [0.475, 0.025])

    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 50), rng.normal(6, 1, 150)])
    start = Wrong(sf.Normal([[0.0], [6.0]], 1.0), weights=[0.25, 0.75])
    rows = start.read(x)
    with pytest.raises(ObjectiveFellError, match="lowered the log-likelihood"):
        run_em(start, TrainingData(rows), max_iter=50, tol=1e-10, accelerate=False)


def test_a_user_gets_the_best_before_a_fall_with_an_alert(monkeypatch):
    class Wrong(sf.Mixture, register=False):
        def estimate(self, stats, prior=None):
            better = super().estimate(stats, prior)
            return Wrong(better.components, weights=0.5 * better.weights[::-1] + [0.475, 0.025])

    monkeypatch.delenv("SUFFICE_STRICT")
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 50), rng.normal(6, 1, 150)])
    start = Wrong(sf.Normal([[0.0], [6.0]], 1.0), weights=[0.25, 0.75])
    fit = sf.fit(start, x, start=start, accelerate=False)
    assert "fell" in dict(fit.alerts)
    assert not fit.converged
    assert (np.diff(fit.trace.log_likelihood) >= 0).all()


BESIDE_0, NARROW = 5.630897956754397e-117, 1.0612160908475728e-58


@pytest.mark.parametrize(
    "beside",
    [sf.StudentT(66.3, BESIDE_0, NARROW), *(kind(BESIDE_0, NARROW) for kind in (sf.Logistic, sf.Laplace, sf.Normal))],
)
def test_a_component_that_shrinks_onto_a_value_beside_its_middle_does_not_jump_off_it(beside):
    """The step to the value is rounded by the old middle, which a scale that follows the new one does not see."""
    rows, weights = [0.0, 1.0], [0.5, 0.0]
    moved = beside.estimate(beside.suffstats(rows, weights))
    assert moved.log_prob(0.0) > beside.log_prob(0.0)
