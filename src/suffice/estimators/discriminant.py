"""What linear and quadratic discriminants share: Gaussian classes, and covariances that may be shrunk."""

from __future__ import annotations

import copy
import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from suffice.distributions.floors import rounding_floor
from suffice.distributions.gaussian_missing import expected_rows
from suffice.distributions.shrinkage import (
    fourth_moments,
    in_units,
    ledoit_wolf,
    oas,
    outside_units,
    regularise_wide,
    shrunk,
)
from suffice.errors import UnsupportedError
from suffice.estimators.bayes import BayesShell
from suffice.estimators.validation import AT_LEAST_ZERO, SHARE, fits, one_of
from suffice.models.classifier import Classes
from suffice.numerics.low_rank import LowRank, diagonal, diagonals, replace, summed
from suffice.statistics.moments import Scatter
from suffice.statistics.sums import share
from suffice.statistics.weights import Weights
from suffice.types import Alert, Array, Data


class Discriminant(BayesShell):
    """Classes that are Gaussian; a subclass says what their covariances share."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "shrinkage": [one_of("auto", "oas"), SHARE, None],
        "priors": ["array-like", None],
        "store_covariance": ["boolean"],
        "tol": [AT_LEAST_ZERO],
        "covariance_estimator": [fits(), None],
        "prior": "no_validation",
    }

    shrinkage: Any
    priors: Any
    covariance_estimator: Any
    store_covariance: bool

    # ---- rows -----------------------------------------------------------------------------------------------------
    def _class_priors(self) -> Any:
        """As scikit-learn's linear discriminant takes them: with another sum they are divided by it."""
        if self.priors is None:
            return None
        given = np.asarray(self.priors, dtype=float)
        if (given < 0).any():
            msg = f"priors must be non-negative; got {given.tolist()}."
            raise ValueError(msg)
        if abs(given.sum() - 1.0) > 1e-5:
            text = f"The priors do not sum to 1. Renormalizing: their sum is {given.sum():g}."
            warnings.warn(text, UserWarning, stacklevel=2)
        return given / given.sum()

    # ---- what rows must show --------------------------------------------------------------------------------------
    _spread: ClassVar[tuple[str, ...]] = ("shrinkage", "reg_param", "covariance_estimator", "prior")  # options with one

    def _check_rows(self, count: Array) -> None:
        """Refuse so many rows of each class, (k,), that show no spread."""
        raise NotImplementedError

    def _check_classes(self) -> None:
        """Refuse classes that there is nothing to choose among."""

    def _check_labelled(self, data: Data, weights: Weights) -> None:
        self._check_classes()
        if data.complete and not any(getattr(self, name, None) for name in self._spread):
            k, held = len(self.classes_), weights.per_row()  # a row of weight 2 is two rows
            count = np.maximum(np.bincount(data.codes, minlength=k), np.bincount(data.codes, held, minlength=k))
            self._check_rows(count)

    # ---- what is shown --------------------------------------------------------------------------------------------
    @property
    def _shows_covariance(self) -> bool:
        """Whether ``covariance_`` was asked for."""
        raise NotImplementedError

    def _covariances(self) -> Array:
        """The covariances (k, d, d), where they were asked for."""
        if not self._shows_covariance:
            msg = (
                f"{type(self).__name__} shows covariance_ with store_covariance=True, as scikit-learn's does; "
                "distribution_.components.cov holds it as well."
            )
            raise AttributeError(msg)
        return np.array(self.distribution_.components.cov, dtype=self._dtype)

    # ---- learning -------------------------------------------------------------------------------------------------
    def _em_options(self) -> dict[str, Any]:
        return {"max_iter": self.max_iter, "tol": None}  # their tol is another

    def _template(self) -> Classes:
        if self.covariance_estimator is not None and self.shrinkage not in (None, 0):
            msg = "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            raise ValueError(msg)
        if self.prior is not None and any(getattr(self, name, None) for name in self._spread[:3]):
            msg = f"{type(self).__name__} takes a prior, or shrinkage, reg_param or covariance_estimator, and not both."
            raise ValueError(msg)
        return super()._template()

    @property
    def _adds(self) -> bool:
        if self.covariance_estimator is not None or self.shrinkage == "auto":
            raise AttributeError(self._needs_rows(None))
        return True

    def _gather(self, template: Classes, data: Data, weights: Weights) -> Any:
        """With a scatter of each class where a shrinkage is found class by class."""
        if isinstance(self.shrinkage, str) or self.covariance_estimator is not None:
            template = replace(template, components=replace(template.components, structure="full"))
        return super()._gather(template, data, weights)

    def _for_statistics(self, template: Classes, stats: Any) -> Classes:
        """Held above tol² of the variance within classes; a column that has none above a part of that of all rows."""
        model = super()._for_statistics(template, stats)
        if not self.tol:
            return model
        found = stats.components
        within = found.variances.sum(axis=0) / found.weight.sum()
        flat = within <= np.square(rounding_floor(found.pooled().mean[0]))
        floor = len(within) * self.tol**2 * within
        if flat.any():
            floor = np.where(flat, diagonals(model.floors_from(stats)), floor)
        return replace(model, floors=diagonal(floor, compact=isinstance(found.kept, LowRank)))

    def _regularise(self, stats: Any, seen: Any) -> Any:
        """The statistics with covariances of fewer rows than columns drawn towards a diagonal one."""
        self._drawn = np.zeros(0)
        if self.shrinkage is not None or self.covariance_estimator is not None or getattr(self, "reg_param", 0.0) > 0:
            return stats
        found = stats.components
        shared = self._prototype(self.classes_).shared
        scatter, weight, taken = found.kept, found.weight, np.ones(len(found.weight))
        if shared:
            scatter = summed(scatter) if len(scatter) > 1 else scatter
            weight, taken = weight.sum(keepdims=True), np.array([np.count_nonzero(weight)])
        rows = weight if seen is None else np.minimum(weight, len(seen[0].rows))
        least = np.square(rounding_floor(found.pooled().mean[0]))
        drawn, self._drawn = regularise_wide(scatter, weight, rows - taken, least)
        return stats if drawn is scatter else replace(stats, components=replace(found, scatter=drawn))

    def _notes(self) -> tuple[Alert, ...]:
        return (*self.__dict__.pop("_unshrunk", ()), *self._drawn_alert())

    def _drawn_alert(self) -> tuple[Alert, ...]:
        amounts = self.__dict__.pop("_drawn", np.zeros(0))  # the alert has it from here on
        drawn = np.flatnonzero(amounts)
        if not len(drawn):
            return ()
        amount = ", ".join(f"{amounts[index]:.3g}" for index in drawn[:3]) + (", …" if len(drawn) > 3 else "")
        one = len(amounts) == 1
        whose = "the covariance" if one else f"covariances of {len(drawn)} classes"
        text = (
            f"there are fewer rows than columns, so that {whose} would be singular. {'It was' if one else 'They were'} "
            f"drawn towards the diagonal by {amount}, as shrinkage='oas' finds it. Give shrinkage= to choose, or more "
            "rows."
        )
        return (Alert("singular", text),)

    def _regularised(self, cov: Array | LowRank) -> Any:
        """Class covariances (k, d, d), or one of all, after shrinkage."""
        return cov

    def _refine(self, model: Classes, stats: Any, seen: Any) -> Classes:
        """The same means with the covariances that the options ask for, above the same floor."""
        stack = model.components
        floor = model.floors_from(stats) if model.floors is None else model.floors
        if self.shrinkage is None and self.covariance_estimator is None and not getattr(self, "reg_param", 0.0):
            drawn = stats if stats.exact else self._regularise(stats, seen)  # exact ones are before they are estimated
            if drawn is stats:
                return model
            found = drawn.components
            solved = stack.solve(np.asarray(stack.mean), found.kept, found.weight, None, floor)
            return replace(model, components=stack.choose(found.weight == 0, solved))
        if not stats.exact:  # what EM found is the input, and where it is singular it depends on the last digits
            self._unshrunk = tuple(map(_before_regularising, (a for a in model.alerts(stats) if a.code == "singular")))
        found = self._by_class(model, stats, seen)
        pooled = len(found.kept) < len(found.weight)
        weight = found.weight.sum(keepdims=True) if pooled else found.weight
        cov = found.kept * share(np.ones(len(weight)), weight)[:, None, None]
        wanted = self._regularised(self._estimate_covariance(cov, weight, model, found, seen))
        if wanted is cov:
            return model
        solved = stack.solve(np.asarray(stack.mean), wanted * weight[:, None, None], found.weight, None, floor)
        return replace(model, components=stack.choose(found.weight == 0, solved))

    def _by_class(self, model: Classes, stats: Any, seen: Any) -> Any:
        """The components' statistics; with holes, those of each class where a shrinkage is found class by class."""
        if stats.exact or not isinstance(self.shrinkage, str) or seen is None or not seen[0].complete:
            return stats.components
        data, weights = seen
        owners = replace(weights, codes=data.codes, n_components=model.n)
        return replace(model.components, structure="full").suffstats(data.rows, owners)

    def _estimate_covariance(
        self, cov: Array | LowRank, weight: Array, model: Classes, found: Scatter, seen: object
    ) -> Any:
        """The covariances (k, d, d) as they are, or shrunk, or by the caller's estimator."""
        if self.covariance_estimator is not None:
            if not found.exact:
                msg = (
                    "covariance_estimator takes complete rows, and here some cells are missing; use shrinkage instead."
                )
                raise UnsupportedError(msg)
            return self._by_estimator(np.asarray(cov), *self._rows(seen))
        if self.shrinkage is None or not len(cov):
            return cov
        if isinstance(self.shrinkage, Real):
            return shrunk(cov, float(self.shrinkage))
        if len(weight) < len(found.weight):
            msg = (
                f"shrinkage={self.shrinkage!r} is found class by class, and rows of unknown class leave only one "
                "covariance of all. Give a number, or the rows whose class is known."
            )
            raise UnsupportedError(msg)
        units, spread = in_units(cov)
        if self.shrinkage == "oas":
            amount = oas(units, weight)
        else:
            data, weights = self._rows(seen)
            owners = replace(weights, codes=data.codes, n_components=len(weight))
            rows = data.rows if found.exact else self._complete(model, data.rows, data.codes)
            amount = ledoit_wolf(units, weight, fourth_moments(rows, owners, found.mean, spread))
        return outside_units(shrunk(units, amount), spread)

    def _complete(self, model: Classes, rows: Array, codes: Array | None = None) -> Array:
        """The rows, with what is expected of missing cells given the others and the class, as far as that is known."""
        holes = np.flatnonzero(np.isnan(rows).any(axis=1))
        if not len(holes):
            return rows
        stack, whole = model.components, np.array(rows, dtype=float)
        some = rows[holes]
        responsibilities = model.predict_proba(some) if codes is None else np.eye(model.n)[codes[holes]]
        cov = np.asarray(stack.cov)
        whole[holes] = expected_rows(some, responsibilities, np.asarray(stack.mean), cov[:1] if stack.shared else cov)
        return whole

    def _rows(self, seen: Any) -> tuple[Any, Weights]:
        """All rows, of known class, and their weights; an option may need them."""
        if seen is None or not seen[0].complete:
            raise UnsupportedError(self._needs_rows(seen))
        data, weights = seen
        return data, weights

    def _needs_rows(self, seen: object) -> str:
        who = "shrinkage='auto'" if self.covariance_estimator is None else "covariance_estimator"
        what = "partial_fit, merge and unlearn see some of them" if seen is None else "here some have no class"
        return (
            f"{type(self).__name__}: {who} needs all rows and their classes at once, and {what}. Use fit with labelled "
            "rows, or shrinkage='oas' or a number, which need only the covariances."
        )

    def _by_estimator(self, cov: Array, data: Data, weights: Weights) -> Array:
        name = type(self.covariance_estimator).__name__
        if weights.values is not None and np.ptp(weights.values) > 0:
            msg = f"covariance_estimator={name} takes no weights of rows; leave out sample_weight, or use shrinkage."
            raise UnsupportedError(msg)
        found = cov.copy()
        for index in np.unique(data.codes):
            one = copy.deepcopy(self.covariance_estimator)  # the option stays as it was given
            one.fit(np.asarray(data.rows)[data.codes == index])
            if not hasattr(one, "covariance_"):
                msg = f"{name} does not have a covariance_ attribute"
                raise ValueError(msg)
            found[index] = one.covariance_
        return found


def _before_regularising(alert: Alert) -> Alert:
    """A singular covariance that a shrinkage or ``reg_param`` hides, as EM over missing cells regards neither."""
    message = (alert.message,) if isinstance(alert.message, str) else alert.message
    return replace(
        alert,
        message=("before it was regularised, ", *message, " EM knows of a prior, but not of shrinkage or reg_param."),
    )
