"""Shells around `suffice.fit` of a mixture of anything."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from suffice.core.fit import fit
from suffice.core.sketch import taken
from suffice.core.weights import Weights
from suffice.estimators.base import AT_LEAST_ONE, MixtureShell, Told, generator, row_weights


class FitShell(MixtureShell):
    """An estimator whose ``fit`` is `suffice.fit` and which keeps its answer in ``fit_``.

    A subclass says in ``_reader`` what mixture it learns, and in ``_validated`` what it takes for data.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MixtureShell._parameter_constraints,  # noqa: SLF001 (the same contract)
        "max_iter": [AT_LEAST_ONE],
        "start": "no_validation",
    }

    start: Any

    def _validated(self, X: Any, *, reset: bool, least: int) -> Any:
        """What the caller gave, checked as scikit-learn checks it."""
        return self._numbers(X, reset=reset, least=least)

    def _reader(self, X: Any) -> Any:
        """The mixture before it has seen rows."""
        raise NotImplementedError

    def _rows(self, X: Any, *, reset: bool = False, least: int = 1) -> Any:
        checked = self._validated(X, reset=reset, least=least)
        return (self._reader(checked) if reset else self.distribution_).read(checked)

    def _begin(self, model: Any, rows: Any, weights: Any, rng: Any, prior: Any) -> Any:
        return model.begin(rows, weights, rng, self.start, prior)[0]

    def _learn(self, X: Any, sample_weight: Any) -> Any:
        every = self._rows(X, reset=True)
        weights, rows = _counted(row_weights(sample_weight, every), every)
        model = self._prototype(rows)
        if len(every) < model.n:
            msg = f"Expected n_samples >= n_components but got n_components = {model.n}, n_samples = {len(every)}"
            raise ValueError(msg)
        again = self.warm_start and hasattr(self, "converged_")
        self.fit_ = fit(
            model,
            rows,
            weights=weights,
            prior=self.prior,
            random_state=generator(self.random_state),
            n_init=1 if again else self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            start=self.distribution_ if again else self.start,
            callback=Told(self.verbose, self.verbose_interval, weights.total, 0) if self.verbose else None,
        )
        self.distribution_, self.statistics_, self.n_seen_ = self.fit_.distribution, self.fit_.statistics, self.fit_.n
        self.converged_, self.n_iter_ = self.fit_.converged, self.fit_.n_iter
        self.lower_bounds_ = (self.fit_.trace.objective / weights.total).tolist()
        self.lower_bound_ = self.lower_bounds_[-1]
        self._show()
        if not self.converged_:
            text = next(text for code, text in self.fit_.alerts if code in {"not converged", "fell"})
            warnings.warn(f"{type(self).__name__}: {text}", ConvergenceWarning, stacklevel=4)
        return every

    def _show(self) -> None:
        self.weights_ = self.distribution_.weights.copy()


def _counted(weights: Weights, rows: Any) -> tuple[Weights, Any]:
    """Weights and rows without those of weight 0: they bring no level of a label."""
    if weights.values is None or weights.values.all():
        return weights, rows
    kept = np.flatnonzero(weights.values)
    return Weights.of(weights.values[kept], len(kept)), taken(rows, kept)
