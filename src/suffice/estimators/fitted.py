"""Shells around `suffice.fit` of a mixture of anything."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from suffice.core.family import Family
from suffice.em.fit import fit, named_fit
from suffice.em.loop import AGREE
from suffice.em.restarts import higher_end, robust_objective_of
from suffice.em.result import Fit
from suffice.estimators.asking import Asking
from suffice.estimators.base import MixtureShell
from suffice.estimators.criteria import Criteria
from suffice.estimators.validation import AT_LEAST_ONE, generator, row_weights, rules_of
from suffice.estimators.verbose import VerboseCallback
from suffice.statistics.weights import Weights
from suffice.tables.sketch import take_rows
from suffice.types import Alert, Data, Prior, Rows, Seed


class FitShell(Asking, Criteria, MixtureShell):
    """An estimator whose ``fit`` is `suffice.fit` and which keeps its answer in ``fit_``.

    A subclass says in ``_reader`` what mixture it learns, and in ``_validate`` what it takes for data.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **rules_of(MixtureShell),
        "max_iter": [AT_LEAST_ONE],
        "start": "no_validation",
    }

    start: Any

    def __init__(
        self,
        n_components: int = 2,
        *,
        prior: Prior = None,
        start: object = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_init: int = 1,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        """Keep the options."""
        self.n_components = n_components
        self.prior = prior
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    def _validate(self, X: Data, *, reset: bool, least: int) -> Any:
        """What the caller gave, checked as scikit-learn checks it."""
        return self._numbers(X, reset=reset, least=least)

    def _reader(self, X: Data) -> Any:
        """The mixture before it has seen rows."""
        raise NotImplementedError

    def _prototype(self, rows: Rows) -> Any:
        return self._reader(rows).for_data(rows)

    def _rows(self, X: Data, *, reset: bool = False, least: int = 1) -> Any:
        checked = self._validate(X, reset=reset, least=least)
        return (self._reader(checked) if reset else self.distribution_).read(checked)

    def _begin(self, model: Family, rows: Rows, weights: Weights, rng: np.random.Generator, prior: Prior) -> Any:
        return model.initialize(rows, weights, rng, self.start, prior)[0]

    def _learn(self, X: Data, sample_weight: Data) -> Any:
        every = self._rows(X, reset=True)
        weights, rows = _without_zero_weights(row_weights(sample_weight, every), every)
        model = self._prototype(rows)
        if len(every) < model.n:
            msg = f"Expected n_samples >= n_components but got n_components = {model.n}, n_samples = {len(every)}"
            raise ValueError(msg)
        last = self._resume(model, rows, weights) if self.warm_start and hasattr(self, "converged_") else None
        options = {
            "weights": weights,
            "prior": self.prior,
            "random_state": generator(self.random_state),
            "max_iter": self.max_iter,
            "tol": self.tol,
            "start": self.start if last is None else last,
        }
        n_init = self.n_init if last is None else 1
        self.fit_ = (
            self._fit_verbosely(model, rows, n_init, options)
            if self.verbose
            else fit(model, rows, n_init=n_init, **options)
        )
        self.fit_ = named_fit(self.fit_, getattr(self, "feature_names_in_", None))
        self._learned_with = self._model_options
        self.distribution_, self.statistics_, self.n_seen_ = self.fit_.distribution, self.fit_.statistics, self.fit_.n
        self.converged_, self.n_iter_ = self.fit_.converged, self.fit_.n_iter
        self.lower_bounds_ = (self.fit_.trace.objective / weights.total).tolist()
        self.lower_bound_ = np.float64(self.lower_bounds_[-1])
        self._display()
        if not self.converged_:
            text = next(text for code, text in self.fit_.alerts if code in {"not converged", "fell"})
            warnings.warn(f"{type(self).__name__}: {text}", ConvergenceWarning, stacklevel=4)
        return every

    def _fit_verbosely(self, model: Family, rows: Rows, n_init: int, options: dict[str, Any]) -> Fit:
        """The best of several fits, each of which prints how it goes."""
        fits: list[Fit] = []
        for number in range(n_init):
            callback = VerboseCallback(self.verbose, self.verbose_interval, options["weights"].total, number)
            fits.append(fit(model, rows, callback=callback, **options))
            callback.end(fits[-1])
            if any(alert.interrupted for alert in fits[-1].alerts):
                break
        best = max(fits, key=robust_objective_of)
        highest = max(fits, key=lambda one: one.log_likelihood)
        if highest.log_likelihood <= best.log_likelihood + AGREE * (1.0 + abs(best.log_likelihood)):
            return best
        alert = Alert("spurious", higher_end(highest.log_likelihood, best.log_likelihood))
        return replace(best, alerts=(alert, *best.alerts))

    @property
    def alerts_(self) -> tuple[Alert, ...]:
        """``(code, text)`` pairs: what a reader must know before trusting what was learned."""
        return self.fit_.alerts if hasattr(self, "fit_") else super().alerts_

    def _show(self) -> None:
        self.weights_ = self.distribution_.weights.copy()


def _without_zero_weights(weights: Weights, rows: Rows) -> tuple[Weights, Any]:
    """Weights and rows without those of weight 0: they bring no level of a label."""
    if weights.values is None or weights.values.all():
        return weights, rows
    kept = np.flatnonzero(weights.values)
    return Weights.of(weights.values[kept], len(kept)), take_rows(rows, kept)
