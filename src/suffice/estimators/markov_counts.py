"""hmmlearn's models of labels and counts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from suffice.distributions.categorical import Categorical
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.gamma import Gamma
from suffice.distributions.multinomial import Multinomial
from suffice.distributions.poisson import Poisson
from suffice.estimators.markov_shells import NOTHING, MarkovShell, fixed
from suffice.models.hidden_markov import HiddenMarkov
from suffice.types import Array


class CategoricalHMM(MarkovShell):
    """hmmlearn's model of one column of labels 0, 1, ….

    Parameters
    ----------
    n_components, startprob_prior, transmat_prior, algorithm, random_state, n_iter, tol, verbose, implementation
        As of :class:`GaussianHMM`.
    emissionprob_prior
        Concentration of a Dirichlet prior of the probabilities of labels.
    n_features
        How many labels there are; None: as many as the data show.
    params, init_params
        Letters of ``"ste"``.

    Attributes
    ----------
    startprob_, transmat_, emissionprob_, monitor_
        The probabilities; ``emissionprob_`` has the shape (k, labels).
    """

    codes: ClassVar[dict[str, str]] = {"e": "probs"}

    def __init__(
        self, n_components: int = 1, startprob_prior: Any = 1.0, transmat_prior: Any = 1.0, *,
        emissionprob_prior: Any = 1.0, n_features: int | None = None, algorithm: str = "viterbi",
        random_state: Any = None, n_iter: int = 10, tol: float = 1e-2, verbose: bool = False, params: str = "ste",
        init_params: str = "ste", implementation: str = "log",
    ) -> None:  # fmt: skip
        """Keep the options."""
        self._keep(locals())

    def _read(self, X: Any) -> Any:
        rows = np.asarray(X)
        if rows.shape[1] != 1 or (rows < 0).any() or (rows != np.floor(rows)).any():
            msg = "Symbols should be nonnegative integers in one column"
            raise ValueError(msg)
        return rows.astype(np.int64)

    def _init(self, X: Array) -> None:
        if self.n_features is None:
            self.n_features = int(X.max()) + 1
        super()._init(X)

    def _begin(self, X: Array, rng: Any) -> None:
        if self._needs("e", "emissionprob_"):
            drawn = rng.rand(self.n_components, self.n_features)
            self.emissionprob_ = drawn / drawn.sum(axis=1, keepdims=True)

    def _emissions(self) -> list[Any]:
        table = np.atleast_2d(np.asarray(self.emissionprob_, dtype=float))
        self.n_features = table.shape[1]
        kept = [name for code, name in self.codes.items() if code not in self.params]
        levels = tuple(range(table.shape[1]))
        return [fixed(Categorical(levels, row / row.sum()), kept) for row in table]

    def _belief(self) -> Any:
        alpha = np.asarray(self.emissionprob_prior, dtype=float)
        return Dirichlet(np.broadcast_to(alpha, (self.n_features,))) if (alpha != 1).any() else None

    def _show(self, model: HiddenMarkov) -> None:
        self.emissionprob_ = np.array([np.ravel(one.probs) for one in model.parts])

    def _scalars(self) -> dict[str, int]:
        return {"e": self.n_components * ((self.n_features or 1) - 1)}


class MultinomialHMM(MarkovShell):
    """hmmlearn's model of rows that count how often each of several outcomes came.

    Parameters
    ----------
    n_components, startprob_prior, transmat_prior, algorithm, random_state, n_iter, tol, verbose, implementation
        As of :class:`GaussianHMM`.
    n_trials
        How many trials a row has; None: as many as its counts add up to.
    params, init_params
        Letters of ``"ste"``.

    Attributes
    ----------
    startprob_, transmat_, emissionprob_, monitor_
        The probabilities; ``emissionprob_`` has the shape (k, outcomes).
    """

    codes: ClassVar[dict[str, str]] = {"e": "probs"}
    n_trials: Any

    def __init__(
        self, n_components: int = 1, n_trials: Any = None, startprob_prior: Any = 1.0, transmat_prior: Any = 1.0,
        algorithm: str = "viterbi", random_state: Any = None, n_iter: int = 10, tol: float = 1e-2,
        verbose: bool = False, params: str = "ste", init_params: str = "ste",  # noqa: FBT001, FBT002
        implementation: str = "log",
    ) -> None:  # fmt: skip
        """Keep the options."""
        self._keep(locals())

    def _begin(self, X: Array, rng: Any) -> None:
        if self._needs("e", "emissionprob_"):
            drawn = rng.rand(self.n_components, X.shape[1])
            self.emissionprob_ = drawn / drawn.sum(axis=1, keepdims=True)
        if self.n_trials is None:
            self.n_trials = X.sum(axis=1)

    def _emissions(self) -> list[Any]:
        table = np.atleast_2d(np.asarray(self.emissionprob_, dtype=float))
        self.n_features = table.shape[1]
        kept = [name for code, name in self.codes.items() if code not in self.params]
        trials = float(np.max(1 if self.n_trials is None else self.n_trials))
        return [fixed(Multinomial(trials, row / row.sum()), kept) for row in table]

    def _show(self, model: HiddenMarkov) -> None:
        self.emissionprob_ = np.array([np.ravel(one.probs) for one in model.parts])

    def _scalars(self) -> dict[str, int]:
        return {"e": self.n_components * (self.n_features - 1)}


class PoissonHMM(MarkovShell):
    """hmmlearn's model of counts, each column by itself.

    Parameters
    ----------
    n_components, startprob_prior, transmat_prior, algorithm, random_state, n_iter, tol, verbose, implementation
        As of :class:`GaussianHMM`.
    lambdas_prior, lambdas_weight
        The rates are (``lambdas_prior`` + Σ counts) / (``lambdas_weight`` + rows of the state). hmmlearn weighs the
        rows of all states against ``lambdas_weight``.
    params, init_params
        Letters of ``"stl"``.

    Attributes
    ----------
    startprob_, transmat_, lambdas_, monitor_
        The probabilities, and the rates (k, d).
    """

    codes: ClassVar[dict[str, str]] = {"l": "rate"}

    def __init__(
        self, n_components: int = 1, startprob_prior: Any = 1.0, transmat_prior: Any = 1.0, lambdas_prior: Any = 0.0,
        lambdas_weight: Any = 0.0, algorithm: str = "viterbi", random_state: Any = None, n_iter: int = 10,
        tol: float = 1e-2, verbose: bool = False, params: str = "stl",  # noqa: FBT001, FBT002
        init_params: str = "stl", implementation: str = "log",
    ) -> None:  # fmt: skip
        """Keep the options."""
        self._keep(locals())

    def _begin(self, X: Array, rng: Any) -> None:
        if self._needs("l", "lambdas_"):
            mean, var = float(np.nanmean(X)), float(np.nanvar(X))
            size = (self.n_components, X.shape[1])
            self.lambdas_ = rng.gamma(shape=mean**2 / var, scale=var / mean, size=size)

    def _emissions(self) -> list[Any]:
        rates = np.atleast_2d(np.asarray(self.lambdas_, dtype=float))
        self.n_features = rates.shape[1]
        kept = [name for code, name in self.codes.items() if code not in self.params]
        return [fixed(Poisson(row if len(row) > 1 else float(row[0])), kept) for row in rates]

    def _belief(self) -> Any:
        if not np.any(self.lambdas_prior) and not np.any(self.lambdas_weight):
            return None
        return Gamma(np.asarray(self.lambdas_prior, dtype=float) + 1.0, np.maximum(self.lambdas_weight, NOTHING))

    def _show(self, model: HiddenMarkov) -> None:
        self.lambdas_ = np.array([np.ravel(one.rate) for one in model.parts])

    def _scalars(self) -> dict[str, int]:
        return {"l": self.n_components * self.n_features}
