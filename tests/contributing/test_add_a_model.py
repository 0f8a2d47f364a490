"""A latent-variable model written as CONTRIBUTING says ("Add a model"): it is fitted, weighed, merged and mixed."""

import inspect
import pickle
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats as st

import suffice as sf
from suffice.core.iterative_family import IterativeFamily
from suffice.core.parameters import POSITIVE_VECTOR, VECTOR, parameter
from suffice.statistics.sums import Sums
from suffice.statistics.weights import Weights

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False, repr=False)
class OneFactor(IterativeFamily):
    """Columns that one hidden number moves together: x = mean + loading·z + noise (Rubin and Thayer, 1982)."""

    mean: Any = parameter(VECTOR, typical=(-3.0, 3.0))
    loading: Any = parameter(VECTOR, typical=(0.5, 3.0))
    noise: Any = parameter(POSITIVE_VECTOR, typical=(0.3, 1.0))  # variances

    row_vector = True
    terms_per_cell = 5

    @property
    def columns(self):
        return None if self.mean is None else np.shape(self.mean)[-1]

    @property
    def var(self):
        return np.square(self.loading) + self.noise

    def for_data(self, rows):
        d = rows.shape[1]
        return self if self.ready else replace(self, mean=np.zeros(d), loading=np.ones(d), noise=np.ones(d))

    def _hidden(self, x):
        """Mean and variance (n,) of z given each row of one component, its residuals (n, d), and log p (n,)."""
        seen = ~np.isnan(x)
        r = np.where(seen, x - self.mean, 0.0)
        load = np.where(seen, self.loading / self.noise, 0.0)
        v = 1 / (1 + load @ self.loading)
        m = v * (load * r).sum(axis=1)
        quadratic = (np.square(r) / self.noise).sum(axis=1) - np.square(m) / v
        log_p = -0.5 * (quadratic - np.log(v) + seen @ np.log(2 * np.pi * self.noise))
        return m, v, r, log_p

    def log_density(self, x):
        return np.stack([one._hidden(x)[3] for one in self.unstacked], axis=1)

    def gather(self, x, w):
        """The E-step of a block: what the regression of each column on z needs, z as expected given the row."""
        weight, base, total = [], [], []
        for index, one in enumerate(self.unstacked):
            u = w.of_component(index).dense()[:, :1]
            m, v, r, log_p = one._hidden(x)
            m, square = m[:, None], (m * m + v)[:, None]
            seen = np.where(np.isnan(x), 0.0, u)
            terms = [(seen * term).sum(axis=0) for term in (m, square, r, r * m, r * r)]
            weight.append(seen.sum(axis=0))
            base.append(np.append(u[:, 0] @ log_p, np.zeros(x.shape[1] - 1)))  # of whole rows: in the first column
            total.append(np.stack(terms, axis=-1))
        return Sums(np.stack(weight), np.stack(base), np.stack(total), exact=False)

    def maximise(self, stats):
        """The M-step: a regression of each column on z."""
        if self.fixed or self.tied:
            raise self._cannot("keep or share parameters")
        weight = np.where(stats.weight > 0, stats.weight, 1.0)
        z, zz, r, rz, rr = np.moveaxis(stats.total / weight[..., None], -1, 0)
        slope = (rz - r * z) / np.where(stats.weight > 0, zz - z * z, 1.0)
        shift = r - slope * z
        noise = np.maximum(rr - shift * r - slope * rz, 1e-12 * (rr + 1e-300))
        found = replace(self, mean=self.mean + shift, loading=slope, noise=noise)
        return self.choose((stats.weight == 0).any(axis=1)[:, None], found)

    def start(self, x, weights=None, rng=None):
        """The columns' means; one half of each variance is shared, the other is noise."""
        rows = self.read(x)
        prepared, model = Weights.of(weights, len(rows)), self.for_data(rows)
        model = model.stack(prepared.n_components) if model.lone and prepared.n_components > 1 else model
        stack, means, variances = model.stacked, [], []
        for index in range(stack.n_components):
            u = np.where(np.isnan(rows), 0.0, prepared.for_each(stack.n_components).of_component(index).dense()[:, :1])
            held = np.maximum(u.sum(axis=0), 1e-300)
            means.append((u * np.nan_to_num(rows)).sum(axis=0) / held)
            variances.append((u * np.square(np.nan_to_num(rows - means[-1]))).sum(axis=0) / held + 1e-12)
        half = np.stack(variances) / 2
        return model.like(replace(stack, mean=np.stack(means), loading=np.sqrt(half), noise=half))

    def draw(self, n, rng):
        hidden = rng.standard_normal((n, *self.batch, 1))
        noise = rng.standard_normal((n, *np.shape(self.mean)))
        return self.mean + self.loading * hidden + np.sqrt(self.noise) * noise

    def scale_of(self, name):
        return np.sqrt(self.var)


TRUTH = OneFactor([1.0, -2.0, 0.5, 3.0], [1.0, 2.0, -0.7, 0.3], [0.5, 1.0, 0.2, 0.4])
X = TRUTH.sample(300, random_state=0)
WEIGHTS = np.random.default_rng(1).uniform(0.1, 2.0, 300)


def listed(heading, kind):
    """The names of the methods in one of the two lists of a chapter of CONTRIBUTING."""
    chapter = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    part = chapter.split(f"**{kind}**")[1].split("\n\n")[0]
    return set(re.findall(r"^- `(\w+)", part, re.MULTILINE))


def test_the_model_writes_what_contributing_requires_and_is_short():
    assert listed("Add a model", "Required") <= set(vars(OneFactor))
    assert len(inspect.getsource(OneFactor).splitlines()) < 120
    for name in listed("Add a model", "Recommended"):
        assert hasattr(IterativeFamily, name), name


def test_the_density_is_that_of_the_normal_it_implies():
    cov = np.outer(TRUTH.loading, TRUTH.loading) + np.diag(TRUTH.noise)
    np.testing.assert_allclose(TRUTH.log_prob(X), st.multivariate_normal(TRUTH.mean, cov).logpdf(X), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weighted"])
def test_em_converges_to_a_maximum(weights):
    fit = sf.fit(OneFactor(), X, weights=weights)
    assert fit.converged
    assert (np.diff(fit.trace.log_likelihood) >= -1e-9).all()
    u = np.ones(len(X)) if weights is None else weights
    assert fit.log_likelihood == pytest.approx(float(u @ fit.distribution.log_prob(X)), rel=1e-10)
    assert fit.log_likelihood > float(u @ TRUTH.log_prob(X))
    for name in ("mean", "loading", "noise"):
        for factor in (0.98, 1.02):
            other = replace(fit.distribution, **{name: factor * np.asarray(getattr(fit.distribution, name))})
            assert float(u @ other.log_prob(X)) < fit.log_likelihood
    found = np.outer(*[fit.distribution.loading] * 2) + np.diag(fit.distribution.noise)
    np.testing.assert_allclose(found, np.cov(X.T, aweights=u, ddof=0), atol=0.12)


def test_statistics_of_blocks_merge_to_those_of_all_rows():
    parts = [TRUTH.suffstats(X[a:b], WEIGHTS[a:b]) for a, b in ((0, 7), (7, 7), (7, 150), (150, 300))]
    whole, merged = TRUTH.suffstats(X, WEIGHTS), sum(parts)
    np.testing.assert_allclose(merged.total, whole.total, rtol=1e-12, atol=1e-10)
    assert TRUTH.estimate(merged).distance(TRUTH.estimate(whole)) < 1e-12


def test_missing_cells_are_integrated_out():
    rows = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    fit = sf.fit(OneFactor(), rows)
    assert (np.diff(fit.trace.log_likelihood) >= -1e-9).all()
    some = ~np.isnan(rows[:, 0])
    cov = np.outer(TRUTH.loading, TRUTH.loading) + np.diag(TRUTH.noise)
    alone = np.where(np.arange(4) == 0, rows, np.nan)[some]
    expected = st.norm(TRUTH.mean[0], np.sqrt(cov[0, 0])).logpdf(rows[some, 0])
    np.testing.assert_allclose(TRUTH.log_prob(alone), expected, rtol=1e-12)


def test_it_is_a_component_of_a_mixture():
    other = OneFactor([9.0, 5.0, -4.0, 8.0], [-1.0, 0.5, 2.0, 1.0], [0.3, 0.3, 0.3, 0.3])
    rows = np.concatenate([X, other.sample(300, random_state=3)])
    fit = sf.fit(sf.Mixture(OneFactor(), 2), rows, random_state=0)
    assert (np.diff(fit.trace.objective) >= -1e-9).all()
    labels = fit.predict(rows)
    assert len(set(labels[:300])) == len(set(labels[300:])) == 1
    assert fit.log_likelihood > sf.fit(OneFactor(), rows).log_likelihood + 300


def test_the_laws_hold():
    report = sf.testing.check_distribution(TRUTH)
    assert {"any split merges to the whole", "missing = absent", "the loop never falls"} <= set(report.passed)


def test_files_hold_models_of_suffice_alone_and_pickles_hold_any(tmp_path):
    fit = sf.fit(OneFactor(), X)
    with pytest.raises(sf.SufficeError, match="closed set"):
        sf.save(fit, tmp_path / "model.json")
    assert pickle.loads(pickle.dumps(fit.distribution)) == fit.distribution  # noqa: S301 (written just now)
