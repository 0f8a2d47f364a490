"""Passes of EM as the peers make them, from the parameters of one of our mixtures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

from benchmarks.turns import peer

STORAGE = {"full": "full", "diag": "diagonal"}  # as oneDAL calls them


def display_name(model: Any, structure: str) -> list[np.ndarray]:
    """Weights, means and covariances in scikit-learn's shapes."""
    cov = np.asarray(model.components.cov)
    variances = np.einsum("kii->ki", cov)
    kept = {"full": cov, "diag": variances, "spherical": variances[:, 0], "tied": cov[0]}[structure]
    return [model.weights, np.asarray(model.components.mean), kept]


def in_sklearn(model: Any, x: np.ndarray, structure: str) -> Callable[[], list[np.ndarray]]:
    """The same pass in scikit-learn."""
    peer = GaussianMixture(model.n, covariance_type=structure, reg_covar=0.0)
    weights, means, cov = display_name(model, structure)
    root = _compute_precision_cholesky(cov, structure)

    def step() -> list[np.ndarray]:
        peer.weights_, peer.means_, peer.covariances_, peer.precisions_cholesky_ = weights, means, cov, root
        _, shares = peer._e_step(x)  # noqa: SLF001 (one iteration of its fit)
        peer._m_step(x, shares)  # noqa: SLF001
        return [peer.weights_, peer.means_, peer.covariances_]

    return step


def in_onedal(model: Any, x: np.ndarray, structure: str) -> Callable[[int], list[np.ndarray]] | None:
    """A fit of some passes in oneDAL, which offers no single one."""
    daal = peer("daal4py") if structure in STORAGE else None
    if daal is None:
        return None
    daal.daalinit(2)
    weights, means, cov = display_name(model, structure)
    begin = (weights[None], np.ascontiguousarray(means), [np.atleast_2d(one).copy() for one in cov])

    def fit(count: int) -> list[np.ndarray]:
        found = daal.em_gmm(
            model.n, covarianceStorage=STORAGE[structure], maxIterations=count, accuracyThreshold=1e-300
        ).compute(x, *begin)
        return [found.weights[0], found.means, np.array(found.covariances).reshape(np.shape(cov))]

    return fit


def in_pomegranate(model: Any, x: np.ndarray, structure: str) -> Callable[[], list[np.ndarray]] | None:
    """The same pass in pomegranate: tensors of float64, though some of its caches hold less."""
    found = peer("pomegranate.gmm") if structure in STORAGE else None
    if found is None:
        return None
    torch, families = peer("torch"), peer("pomegranate.distributions")
    torch.set_num_threads(2)
    weights, means, cov = (torch.tensor(one) for one in display_name(model, structure))
    rows = torch.tensor(x)

    def step() -> list[np.ndarray]:
        components = [families.Normal(m, c, covariance_type=structure) for m, c in zip(means, cov, strict=True)]
        peer = found.GeneralMixtureModel(components, priors=weights)
        peer.summarize(rows)
        peer.from_summaries()
        each = [[one.means.numpy(), one.covs.numpy()] for one in peer.distributions]
        return [peer.priors.numpy(), *(np.array(part) for part in zip(*each, strict=True))]

    return step


def in_mixle(model: Any, rows: list[Any], components: Callable[[Any], list[Any]]) -> Callable[[int], Any] | None:
    """A fit of some passes in mixle, of rows that it has encoded before."""
    mixle = peer("mixle.inference")
    if mixle is None:
        return None
    stats = peer("mixle.stats")
    begin = stats.MixtureDistribution(components(stats), model.weights.tolist())
    estimator, encoded = begin.estimator(), stats.seq_encode(rows, model=begin)

    def fit(count: int) -> Any:
        return mixle.optimize(
            None, estimator, max_its=count, delta=None, prev_estimate=begin, enc_data=encoded, out=None
        )

    return fit
