"""hmmlearn's models of Gaussian rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.cluster import KMeans

from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.distributions.normal_inverse_wishart import NormalInverseWishart
from suffice.estimators.markov_shells import NOTHING, MarkovShell, fixed
from suffice.models.hidden_markov import HiddenMarkov
from suffice.models.mixture import Mixture
from suffice.types import Array


def _covariances(given: Any, structure: str, k: int, d: int) -> Array:
    """Covariances in hmmlearn's shapes as matrices (k, d, d)."""
    value: Array = np.asarray(given, dtype=float)
    if structure == "spherical":
        return np.asarray(value.reshape(k, -1)[:, :1, None] * np.eye(d))
    if structure == "diag":
        return np.asarray(value[:, :, None] * np.eye(d) if value.ndim == 2 else value)
    return np.broadcast_to(value, (k, d, d))


def _in_shape(cov: Array, structure: str) -> Array:
    """Matrices (k, d, d) in the shapes in which hmmlearn takes them."""
    diagonal = np.einsum("kii->ki", cov)
    if structure == "spherical":
        return np.array(diagonal[:, 0])
    return np.array({"diag": diagonal, "tied": cov[0], "full": cov}[structure])


class GaussianHMM(MarkovShell):
    """hmmlearn's model of Gaussian rows.

    Parameters
    ----------
    n_components
        How many states.
    covariance_type
        ``"spherical"``, ``"diag"``, ``"full"`` or ``"tied"``.
    min_covar
        What is added to the diagonal of the first covariances.
    startprob_prior, transmat_prior
        Concentrations of Dirichlet priors, at least 1.
    means_prior, means_weight, covars_prior, covars_weight
        The prior of means and covariances, where ``params`` has both. A single ``covars_prior`` is added to the
        diagonal of full matrices; hmmlearn adds it to every cell.
    algorithm
        ``"viterbi"`` or ``"map"``: what ``predict`` and ``decode`` tell.
    random_state, n_iter, tol, verbose
        Seed of the first values, most passes, the gain that ends them, and whether each is printed.
    params, init_params
        What passes change, and what is drawn before them: letters of ``"stmc"``.
    implementation
        ``"log"`` or ``"scaling"``: here both are the same, scaled where that loses nothing.

    Attributes
    ----------
    startprob_, transmat_, means_, covars_
        Initial probabilities (k,), transitions (k, k), means (k, d), and covariances as matrices (k, d, d).
    monitor_
        How the passes went.

    Examples
    --------
    >>> from suffice.hmm import GaussianHMM
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [4.9], [0.1], [0.0]])
    >>> states = GaussianHMM(2, random_state=0).fit(X).predict(X)
    >>> (states == states[0]).tolist()
    [True, True, True, False, False, False, True, True]
    """

    codes: ClassVar[dict[str, str]] = {"m": "mean", "c": "cov"}

    def __init__(
        self, n_components: int = 1, covariance_type: str = "diag", min_covar: float = 1e-3,
        startprob_prior: Any = 1.0, transmat_prior: Any = 1.0, means_prior: Any = 0, means_weight: Any = 0,
        covars_prior: Any = 1e-2, covars_weight: Any = 1, algorithm: str = "viterbi", random_state: Any = None,
        n_iter: int = 10, tol: float = 1e-2, verbose: bool = False, params: str = "stmc",  # noqa: FBT001, FBT002
        init_params: str = "stmc", implementation: str = "log",
    ) -> None:  # fmt: skip
        """Keep the options."""
        self._keep(locals())

    @property
    def covars_(self) -> Array:
        """The covariances as matrices, (k, d, d)."""
        return np.array(_covariances(self._covars_, self.covariance_type, self.n_components, self.n_features))

    @covars_.setter
    def covars_(self, given: Any) -> None:
        self._covars_ = np.array(given, dtype=float)

    def _begin(self, X: Array, rng: Any) -> None:
        structure, k, d = self.covariance_type, self.n_components, X.shape[1]
        if structure not in ("spherical", "diag", "full", "tied"):
            msg = f"covariance_type must be one of 'spherical', 'diag', 'full', 'tied'; got {structure!r}"
            raise ValueError(msg)
        filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        if self._needs("m", "means_"):
            self.means_ = KMeans(n_clusters=k, random_state=rng, n_init=10).fit(filled).cluster_centers_
        if self._needs("c", "_covars_"):
            cov = np.cov(filled.T).reshape(d, d) + self.min_covar * np.eye(d)
            first = np.broadcast_to(cov.mean() * np.eye(d) if structure == "spherical" else cov, (k, d, d))
            self._covars_ = _in_shape(first, structure)

    def _emissions(self) -> list[Any]:
        means = np.asarray(self.means_, dtype=float)
        self.n_features = d = means.shape[1]
        matrices = _covariances(self._covars_, self.covariance_type, self.n_components, d)
        kept = [name for code, name in self.codes.items() if code not in self.params]
        form = self.covariance_type
        return [fixed(MultivariateNormal(m, c, structure=form), kept) for m, c in zip(means, matrices, strict=True)]

    def _belief(self) -> Any:
        if not {"m", "c"} <= set(self.params):  # the prior speaks of both together
            return None
        d = self.n_features
        scale = np.asarray(self.covars_prior, dtype=float)
        scale = scale * np.eye(d) if scale.ndim == 0 else scale
        degrees = float(np.max(self.covars_weight))
        free = self.covariance_type in ("full", "tied")
        worth = max(degrees - (d if free else 1), 0.0) + NOTHING
        mean = np.broadcast_to(np.asarray(self.means_prior, dtype=float), (d,))
        return NormalInverseWishart(mean, max(float(np.max(self.means_weight)), NOTHING), float(d), scale,
                                    mode_offset=worth - d)  # fmt: skip

    def _show(self, model: HiddenMarkov) -> None:
        self.means_ = np.array([one.mean for one in model.parts]).reshape(self.n_components, -1)
        cov = np.array([np.reshape(one.cov, (self.n_features, -1)) for one in model.parts])
        self._covars_ = _in_shape(cov, self.covariance_type)

    def _scalars(self) -> dict[str, int]:
        return {"m": self.n_components * self.n_features, "c": _sizes(self)}


def _sizes(model: Any) -> int:
    k, d = model.n_components, model.n_features
    matrix = d * (d + 1) // 2
    sizes = {"spherical": k, "diag": k * d, "full": k * matrix, "tied": matrix}
    return int(sizes[model.covariance_type])


class GMMHMM(MarkovShell):
    """hmmlearn's model whose states are mixtures of Gaussians, fitted by maximum likelihood.

    Parameters
    ----------
    n_components, n_mix
        How many states, and how many Gaussians in each.
    min_covar, startprob_prior, transmat_prior, covariance_type, algorithm, random_state, n_iter, tol, verbose
        As of :class:`GaussianHMM`; ``"tied"`` Gaussians share the covariance of their state.
    weights_prior
        Concentration of a Dirichlet prior of the weights.
    params, init_params
        Letters of ``"stmcw"``.
    implementation
        ``"log"`` or ``"scaling"``.

    Attributes
    ----------
    startprob_, transmat_, weights_, means_, covars_, monitor_
        As of :class:`GaussianHMM`, with an axis for the Gaussians of a state.
    """

    codes: ClassVar[dict[str, str]] = {"m": "mean", "c": "cov"}

    def __init__(
        self, n_components: int = 1, n_mix: int = 1, min_covar: float = 1e-3, startprob_prior: Any = 1.0,
        transmat_prior: Any = 1.0, weights_prior: Any = 1.0, algorithm: str = "viterbi",
        covariance_type: str = "diag", random_state: Any = None, n_iter: int = 10, tol: float = 1e-2,
        verbose: bool = False, params: str = "stmcw", init_params: str = "stmcw",  # noqa: FBT001, FBT002
        implementation: str = "log",
    ) -> None:  # fmt: skip
        """Keep the options."""
        self._keep(locals())

    def _begin(self, X: Array, rng: Any) -> None:
        k, m, d = self.n_components, self.n_mix, X.shape[1]
        if self._needs("w", "weights_"):
            self.weights_ = np.full((k, m), 1.0 / m)
        if self._needs("m", "means_"):
            labels = KMeans(n_clusters=k, random_state=rng, n_init=10).fit_predict(X)
            own = [X[labels == j] if (labels == j).sum() >= m else X for j in range(k)]
            fits = [KMeans(n_clusters=m, random_state=rng, n_init=10).fit(rows) for rows in own]
            self.means_ = np.stack([one.cluster_centers_ for one in fits])
        if self._needs("c", "covars_"):
            cov = np.cov(X.T).reshape(d, d) + self.min_covar * np.eye(d)
            first = np.broadcast_to(cov.mean() * np.eye(d) if self.covariance_type == "spherical" else cov, (m, d, d))
            self.covars_ = np.stack([_in_shape(first, self.covariance_type)] * k)

    def _emissions(self) -> list[Any]:
        means = np.asarray(self.means_, dtype=float)
        self.n_features = d = means.shape[2]
        kept = [name for code, name in self.codes.items() if code not in self.params]
        found = []
        for weights, centres, covars in zip(self.weights_, means, self.covars_, strict=True):
            matrices = _covariances(covars, self.covariance_type, self.n_mix, d)
            pairs = zip(centres, matrices, strict=True)
            parts = [fixed(MultivariateNormal(a, c, structure=self.covariance_type), kept) for a, c in pairs]
            one = Mixture(parts, weights=weights)
            found.append(one if "w" in self.params else one.fix("weights"))
        return found

    def _belief(self) -> Any:
        alpha = np.asarray(self.weights_prior, dtype=float)
        return {"weights": Dirichlet(np.atleast_1d(alpha))} if (alpha != 1).any() else None

    def _show(self, model: HiddenMarkov) -> None:
        d, shown = self.n_features, []
        self.weights_ = np.array([one.weights for one in model.parts])
        self.means_ = np.array([[np.reshape(part.mean, d) for part in one.parts] for one in model.parts])
        for one in model.parts:
            cov = np.array([np.reshape(part.cov, (d, d)) for part in one.parts])
            shown.append(_in_shape(cov, self.covariance_type))
        self.covars_ = np.stack(shown)

    def _scalars(self) -> dict[str, int]:
        k, m, d = self.n_components, self.n_mix, self.n_features
        matrix = d * (d + 1) // 2
        own = {"spherical": m, "diag": m * d, "full": m * matrix, "tied": matrix}[self.covariance_type]
        return {"m": k * m * d, "c": k * own, "w": k * (m - 1)}
