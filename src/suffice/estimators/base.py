"""What the scikit-learn shells of mixtures share: options, the run, and questions to the learned mixture."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from suffice.display.values import count
from suffice.em.alerts import under
from suffice.em.init.short_runs import belief
from suffice.em.loop import EMResult, InterruptedStart, run_em
from suffice.em.merge import added
from suffice.em.restarts import best_of_restarts, discarded, drop_in_rank
from suffice.em.training import TrainingData
from suffice.errors import DataError, SufficeError, SufficeWarning, UnsupportedError
from suffice.estimators.attributes import FittedAttributes
from suffice.estimators.validation import (
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    COUNT,
    RANDOM_STATE,
    check_mergeable,
    checked,
    generator,
    row_weights,
    validate_data,
)
from suffice.estimators.verbose import VerboseCallback
from suffice.models.mixture import Mixture
from suffice.statistics.weights import Weights
from suffice.types import Alert, Array, Data, Prior, Rows

FORGETTING = 0.6  # step of online EM: (weight of the new rows / weight of all rows so far) to this power


class MixtureShell(FittedAttributes, DensityMixin, BaseEstimator):
    """An estimator around a mixture ``distribution_``.

    A subclass says what to learn in ``_prototype`` and where to begin in ``_begin``, and shows its attributes in
    ``_show``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [AT_LEAST_ONE],
        "tol": [AT_LEAST_ZERO],
        "max_iter": [COUNT],
        "n_init": [AT_LEAST_ONE],
        "random_state": RANDOM_STATE,
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [AT_LEAST_ONE],
        "prior": "no_validation",
    }

    n_components: int
    tol: float
    max_iter: int
    n_init: int
    random_state: Any
    warm_start: bool
    verbose: int
    verbose_interval: int
    prior: Any = None

    # ---- what a subclass says -------------------------------------------------------------------------------------
    def _prototype(self, rows: Any) -> Any:
        """The mixture to learn, before it has parameters."""
        raise NotImplementedError

    def _begin(self, model: Any, rows: Any, weights: Weights, rng: Any, prior: Prior) -> Any:
        """The mixture with the parameters that a run begins at."""
        return model.initialize(rows, weights, rng, None, prior)[0]

    def _check_learned(self) -> None:
        """Refuse what was learned, or warn of it, where ``distribution_`` and ``statistics_`` give reason to."""

    @property
    def _accelerated(self) -> bool:
        """Whether steps of the run are extrapolated."""
        return True

    @property
    def _care(self) -> float:
        """How much less than ``tol`` a pass must gain before the run ends."""
        return 1.0

    def _per(self, weights: Weights) -> float:
        """What lower bounds are divided by: they are per row."""
        return weights.total

    @property
    def _source(self) -> Any:
        """The mixture that rows are drawn from."""
        return self.distribution_

    @property
    def _given_order(self) -> bool:
        """Whether the caller gave the components an order, which they then keep."""
        return False

    # ---- rows -----------------------------------------------------------------------------------------------------
    def _rows(self, X: Data, *, reset: bool = False, least: int = 1) -> Any:
        """Rows as the mixture takes them."""
        return self._numbers(X, reset=reset, least=least)

    def _numbers(self, X: Data, *, reset: bool, least: int) -> Array:
        """Rows of numbers; cells may be missing."""
        kinds = [np.float64, np.float32]
        rules: dict[str, Any] = {"ensure_min_samples": least, "ensure_all_finite": "allow-nan"}
        rows = validate_data(self, X, reset=reset, dtype=kinds, order="C", **rules)  # the last bits depend on the order
        rows = np.asarray(rows)
        if reset:
            self._remember_precision(rows)
        if reset and np.isnan(rows[0]).all() and np.isnan(rows).all():
            msg = f"{type(self).__name__} cannot be fitted: every cell is missing; give at least one value."
            raise DataError(msg)
        return rows

    def _read_for_answer(self, X: Data) -> tuple[Any, Any]:
        """The learned mixture, and rows that it is asked about."""
        check_is_fitted(self)
        return self.distribution_, self._rows(X)

    def _begin_by_hand(self, columns: int) -> None:
        """The alerts of parameters that a caller set."""
        self.__dict__.pop("statistics_", None)
        self.n_features_in_, self.converged_, self.n_iter_ = columns, False, 0
        self.lower_bound_ = np.float64(-np.inf)
        self.lower_bounds_: list[float] = []

    # ---- learning -------------------------------------------------------------------------------------------------
    def _learn(self, X: Data, sample_weight: Data) -> Any:
        """Fit, and return the rows."""
        rows = self._rows(X, reset=True, least=2)
        n = len(rows)
        if n < self.n_components:
            msg = f"Expected n_samples >= n_components but got n_components = {self.n_components}, n_samples = {n}"
            raise ValueError(msg)
        weights = row_weights(sample_weight, rows)
        model = self._prototype(rows)
        prior = model.resolve_prior(self.prior, rows, weights)
        last = self._resume(model, rows, weights) if self.warm_start and hasattr(self, "converged_") else None
        before = self.lower_bound_ * self._per(weights) if last is not None and self._unchanged else float("nan")
        rng = generator(self.random_state)
        firsts = (self._begin(model, rows, weights, rng, prior) for _ in range(self.n_init))
        self._keep(firsts if last is None else iter([last]), rows, weights, prior, before, again=last is not None)
        self._learned_with, self.n_seen_ = self._model_options, weights.total
        return rows

    _of_model: ClassVar[tuple[str, ...]] = ("n_components", "prior")  # options that say what is learned, not how

    @property
    def _model_options(self) -> str:
        return self._options_of(self)

    def _options_of(self, estimator: object) -> str:
        return repr([getattr(estimator, name) for name in self._of_model])

    @property
    def _unchanged(self) -> bool:
        """Whether the options still say what the last fit learned."""
        return getattr(self, "_learned_with", None) == self._model_options

    def _resume(self, model: Mixture, rows: Rows, weights: Weights) -> Any:
        """What was learned, as a start of ``model``; None where it has other components or columns."""
        del weights
        if self._unchanged and self.distribution_.columns == model.columns:
            return self.distribution_
        try:
            return model.with_parameters_of([self.distribution_.for_data(rows)], np.ones(1))
        except SufficeError:
            return None

    def _keep(self, firsts: Any, rows: Rows, weights: Weights, prior: Prior, before: float, *, again: bool) -> None:
        """Climb from each start, keep the best, and tell how it went."""
        if self.max_iter == 0:
            self.__dict__.pop("statistics_", None)
            self.distribution_, self.converged_, self.n_iter_ = next(firsts), False, 0
            self.lower_bound_, self.lower_bounds_ = np.float64(-np.inf), []
            self._display()
            return

        def run(earlier: tuple[EMResult, ...]) -> EMResult:
            try:
                first = next(firsts)
            except InterruptedStart as stopped:  # one pass, to know how good it is
                return self._run_em(stopped.best, rows, weights, prior, before, len(earlier), stopped=True)
            return self._run_em(first, rows, weights, prior, before, len(earlier), stopped=False)

        restarts = best_of_restarts(run, 1 if again else self.n_init, drop_in_rank)
        best = restarts.best
        if restarts.interrupted:
            warn_of_interruption(self, len(restarts.runs), restarts.asked, 6)
        text = next((alert.text for alert in discarded(restarts.runs, best)), "")
        self.__dict__.update(_discarded=text) if text else self.__dict__.pop("_discarded", None)
        here, stats = best.distribution, best.statistics
        if not (self._given_order or again):
            here, stats = here.in_order(stats, prior)
        self.distribution_, self.statistics_ = here.estimate(stats, prior), stats
        self.converged_, self.n_iter_ = best.converged, best.trace.passes
        self.lower_bounds_ = (best.trace.objective / self._per(weights)).tolist()
        self.lower_bound_ = np.float64(self.lower_bounds_[-1])
        self._check_learned()
        self._display()
        if not best.converged:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, or increase max_iter, "
                f"tol, or check for degenerate data. It {best.reason}.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _run_em(
        self, first: Mixture, rows: Rows, weights: Weights, prior: Prior, before: float, run: int, *, stopped: bool
    ) -> EMResult:
        per = self._per(weights)
        tol = self.tol * per
        callback = VerboseCallback(self.verbose, self.verbose_interval, per, run) if self.verbose else None
        path = run_em(
            first,
            TrainingData(first.preprocess(rows), weights, prior, belief(prior)),
            max_iter=1 if stopped else self.max_iter,
            accelerate=self._accelerated,
            callback=callback,
            gain=self._care * tol,
            before=before,
        )
        if stopped:
            path = replace(path, converged=False, reason="interrupted before the first pass", interrupted=True)
        last = [before, *path.trace.objective[-2:]][-2:]
        if not (path.interrupted or path.fell) and abs(last[1] - last[0]) < tol:  # also where passes ran out before
            path = replace(path, converged=True)
        if callback is not None:
            callback.end(path)
        return path

    def _learn_more(self, X: Data, sample_weight: Data) -> None:
        """One step of online EM."""
        first = not hasattr(self, "distribution_")
        rows = self._rows(X, reset=first)
        weights = row_weights(sample_weight, rows)
        model = self._prototype(rows) if first else self.distribution_
        prior = model.resolve_prior(self.prior, rows, weights)
        here = self._begin(model, rows, weights, generator(self.random_state), prior) if first else model
        stats = here.suffstats(rows, weights)
        bound = (here.measured_log_likelihood(stats) + _log_prior(here, prior)) / self._per(weights)
        seen = self.n_seen_ if hasattr(self, "statistics_") else 0.0
        total = seen + weights.total
        if seen:
            step = (weights.total / total) ** FORGETTING
            stats = self.statistics_ * ((1.0 - step) * total / seen) + stats * (step * total / weights.total)
        self.distribution_, self.statistics_, self.n_seen_ = here.estimate(stats, prior), stats, total
        self.lower_bound_, self.lower_bounds_ = np.float64(bound), [*getattr(self, "lower_bounds_", []), float(bound)]
        self.converged_, self.n_iter_ = False, getattr(self, "n_iter_", 0) + 1
        self.__dict__.pop("fit_", None)  # of other rows
        self._display()

    @checked
    def fit(self, X: Data, y: Data = None, sample_weight: Data = None) -> Self:
        """Learn from rows (n, d); weight 2 is the row twice."""
        del y
        self._learn(X, sample_weight)
        return self

    @checked
    def fit_predict(self, X: Data, y: Data = None, sample_weight: Data = None) -> Array:
        """Learn from rows (n, d), and tell the most probable component of each, (n,)."""
        del y
        rows = self._learn(X, sample_weight)
        return np.asarray(self.distribution_.predict(rows))

    @checked
    def partial_fit(self, X: Data, y: Data = None, sample_weight: Data = None) -> Self:
        """Take one step of online EM with some more rows.

        Statistics per row become ``(1 − step) · old + step · new``, and the parameters are estimated from them;
        step = (weight of these rows / weight of all rows so far) ** 0.6. The first rows also give the start. Many
        steps come near what ``fit`` finds; they do not equal it.
        """
        del y
        self._learn_more(X, sample_weight)
        return self

    def merge(self, other: MixtureShell) -> Self:
        """Add what another fit with the same options learned: components are aligned, and one M-step is taken.

        Who made which row was decided by the parameters of each, so this comes near a fit of all rows, and is none.
        """
        check_is_fitted(self)
        check_mergeable(self, other)
        here, there = self._model_options, self._options_of(other)
        if here != there:
            msg = f"merge adds fits of the same {', '.join(self._of_model)}; here are {here}, there {there}."
            raise DataError(msg)
        if not (hasattr(self, "statistics_") and hasattr(other, "statistics_")):
            msg = f"{type(self).__name__} with max_iter=0 has seen no rows, so there is nothing to merge."
            raise UnsupportedError(msg)
        beliefs = self.prior.values() if isinstance(self.prior, dict) else [self.prior]
        if any(isinstance(one, str) for one in beliefs):
            msg = f"prior={self.prior!r} is chosen from the rows, and merge has none; give the prior itself."
            raise UnsupportedError(msg)
        stats = added(self.distribution_, other.distribution_, self.statistics_, other.statistics_)
        self.distribution_, self.statistics_ = self.distribution_.estimate(stats, self.prior), stats
        self.n_seen_ = self.n_seen_ + other.n_seen_
        total = Weights.of(np.array([self.n_seen_]), 1)
        log_likelihood = float(np.sum(self.distribution_.log_likelihood(stats)))
        self.lower_bound_ = np.float64((log_likelihood + _log_prior(self.distribution_, self.prior)) / self._per(total))
        self.lower_bounds_, self.converged_ = [*self.lower_bounds_, float(self.lower_bound_)], False
        self.__dict__.pop("fit_", None)
        self._display()
        text = (
            f"{type(self).__name__}: two fits were aligned, added, and took one M-step; who made which row was decided "
            "by the parameters of each. Where the rows are at hand, fit with warm_start=True goes on from here."
        )
        warnings.warn(text, SufficeWarning, stacklevel=2)
        return self

    # ---- asking ---------------------------------------------------------------------------------------------------
    @property
    def alerts_(self) -> tuple[Alert, ...]:
        """``(code, text)`` pairs: what a reader must know before trusting what was learned."""
        check_is_fitted(self)
        stats = getattr(self, "statistics_", None)
        found = () if stats is None else self.distribution_.alerts_under(stats, self.prior)
        found = tuple(under(self.prior, alert) for alert in found)
        found = (Alert("spurious", vars(self)["_discarded"]), *found) if "_discarded" in vars(self) else found
        if not self.converged_:
            text = (
                f"it stopped after {count(self.n_iter_, 'pass')}, before the lower bound was flat; raise max_iter, or "
                "go on with warm_start=True."
            )
            found = (*found, Alert("not converged", text))
        names = getattr(self, "feature_names_in_", None)
        return found if names is None else tuple(alert.with_names(tuple(names)) for alert in found)

    def predict(self, X: Data) -> Array:
        """The most probable component of each row, (n,)."""
        mixture, rows = self._read_for_answer(X)
        return np.asarray(mixture.predict(rows))

    def predict_proba(self, X: Data) -> Array:
        """The probability that each component made a row, (n, k)."""
        mixture, rows = self._read_for_answer(X)
        return self._in_precision(mixture.predict_proba(rows), X)

    def score_samples(self, X: Data) -> Array:
        """Log density of each row, (n,)."""
        mixture, rows = self._read_for_answer(X)
        return self._in_precision(mixture.log_prob(rows), X)

    def score(self, X: Data, y: Data = None) -> float:
        """Mean log density of the rows."""
        del y
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1) -> tuple[Any, Array]:
        """Draw rows, component after component, and who made each of them."""
        check_is_fitted(self)
        if n_samples < 1:
            msg = f"Invalid value for 'n_samples': {n_samples}. The sampling requires at least one sample."
            raise ValueError(msg)
        rows, who = self._source.sample_with_components(n_samples, generator(self.random_state))
        order = np.argsort(who, kind="stable")
        return _take(rows, order), who[order]

    def __sklearn_tags__(self) -> Any:
        """Tell that missing cells are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _log_prior(mixture: Mixture, prior: Prior) -> float:
    measure = belief(prior)
    return 0.0 if measure is None else measure(mixture)


def warn_of_interruption(estimator: object, runs: int, asked: int, level: int) -> None:
    """Tell the caller of ``fit``, so many levels up, that the user stopped it: what there is stands."""
    text = f"interrupted after {runs} of {asked} starts; what stands here is the best of them."
    warnings.warn(f"{type(estimator).__name__}: {text}", ConvergenceWarning, stacklevel=level)


def _take(rows: Data, order: Array) -> Any:
    if isinstance(rows, dict):
        return {name: _take(column, order) for name, column in rows.items()}
    return rows[order]
