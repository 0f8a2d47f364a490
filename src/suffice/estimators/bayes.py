"""What the scikit-learn shells of Bayes classifiers share: classes, statistics, and questions to p(x, y).

Over 400 lines: every verb of a classifier, learning, adding, removing, deciding and explaining, once for all of them.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from suffice.combinators.classes import Classes, Labelled, LabelledFiles
from suffice.combinators.dependence import Dependence, dependence
from suffice.combinators.evidence import Explanation, explain
from suffice.combinators.portraits import of_classes
from suffice.core.beside import Codes, weights_of
from suffice.core.data import cells, numbers
from suffice.core.decision import decide
from suffice.core.distribution import Alert
from suffice.core.errors import DataError, SufficeWarning, UnsupportedError
from suffice.core.latent import share_out
from suffice.core.parameters import Array
from suffice.core.portrait import Portrait
from suffice.core.sketch import taken
from suffice.core.streamed import Source, few, located, streamed
from suffice.core.summary import page
from suffice.core.weights import Weights
from suffice.estimators.asking import Asking
from suffice.estimators.rows import by_name, keep_names, one_row
from suffice.estimators.targets import Targets, checked_priors, in_order, targets
from suffice.estimators.validation import (
    check_mergeable,
    checked,
    generator,
    refuse_infinite,
    row_weights,
    telling_text,
)
from suffice.frames.schema import infer
from suffice.frames.table import Frame

MISLED = 0.05  # of the labelled rows: what rows of unknown class may cost before an alert tells


def _streams(estimator: Any) -> bool:
    """Whether statistics are exact, so that rows can be added and removed."""
    return bool(estimator._adds)  # noqa: SLF001


class BayesShell(Asking, ClassifierMixin, BaseEstimator):
    """An estimator around p(x, y), ``distribution_``, and its statistics, ``statistics_``.

    A subclass says what the rows of a class are in ``_prototype``, what is believed of it in ``_believed``, and shows
    its attributes in ``_show``. ``_refined`` may change an estimate (a shrinkage, a smoothing) given the statistics.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    _warns: ClassVar[frozenset[str]] = frozenset({"collapsed", "singular", "unlabelled", "empty", "unseen"})  # aloud

    max_iter: int = 1000
    tol: float | None = None
    n_init: int = 1
    random_state: Any = None

    # ---- what a subclass says -------------------------------------------------------------------------------------
    def _prototype(self, classes: Array) -> Any:
        """The distribution of the rows of a class, or a list with one for each class."""
        raise NotImplementedError

    def _believed(self) -> Any:
        """The prior of the estimate."""
        return None

    def _class_priors(self) -> Any:
        """p(y) as the caller gives it; None: from the rows."""
        return None

    @property
    def _unlabeled(self) -> Any:
        """The label that means that a class is unknown, beside None and NaN."""
        return None

    def _choose(self, rows: Any, found: Targets, sample_weight: Any) -> None:
        """Settle what the first rows decide: nothing, unless families are chosen by them."""

    def _settled(self, template: Classes, stats: Any) -> Classes:
        """The classes before they have parameters, with the columns and levels that the statistics know."""
        return template.for_statistics(stats)

    def _begun(self, template: Classes, rows: Any) -> Classes:
        """The classes before several passes over these rows."""
        del rows
        return template

    def _refined(self, model: Classes, stats: Any, seen: tuple[Labelled, Weights] | None) -> Classes:
        """The estimate as this classifier wants it; ``seen``: all rows and their weights, where they are at hand."""
        del stats, seen
        return model

    def _climbing(self) -> dict[str, Any]:
        """The options of several passes."""
        return {"max_iter": self.max_iter, "tol": self.tol}

    def _show(self) -> None:
        """Set the attributes that follow from ``distribution_`` and ``statistics_``."""

    @property
    def _by_name(self) -> bool:
        """Whether columns go by name."""
        return False

    @property
    def _words(self) -> bool:
        """Whether columns may hold labels."""
        return False

    # ---- rows -----------------------------------------------------------------------------------------------------
    def _validated(self, X: Any, *, reset: bool) -> Any:
        """What the caller gave, checked as scikit-learn does; families name cells that they do not take."""
        if self._words:
            return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        kinds = [np.float64, np.float32]
        with telling_text(X, type(self).__name__):
            rows = validate_data(self, X, reset=reset, dtype=kinds, ensure_all_finite=False)
        if not reset:  # families look at every cell that they learn from
            refuse_infinite(rows, type(self).__name__)
        return rows

    def _template(self) -> Classes:
        """The classes before they have parameters."""
        prototype, k = self._prototype(self.classes_), len(self.classes_)
        labels = tuple(self.classes_.tolist())
        held = hasattr(self, "statistics_") and "weights" in self.distribution_.fixed  # given, or set since
        given = self.distribution_.weights if held else self._class_priors()
        weights = None if given is None else checked_priors(given, self.classes_)
        several = isinstance(prototype, list)
        model = Classes(prototype, None if several else k, weights=weights, labels=labels)
        return model if given is None else model.fix("weights")

    def _labelled(self, template: Classes, rows: Any, found: Targets, sample_weight: Any) -> tuple[Labelled, Weights]:
        """Rows with their classes and weights; those of weight 0 are none, and bring no level of a label."""
        data = Labelled.of(template.components.read(rows), found.codes, found.allowed)
        weights = row_weights(sample_weight, data)
        if weights.values is None or weights.values.all():
            return data, weights
        kept = np.flatnonzero(weights.values)
        allowed = None if data.allowed is None else data.allowed[kept]
        some = Labelled.of(taken(data.rows, kept), data.codes[kept], allowed)
        return some, Weights.of(weights.values[kept], len(kept))

    # ---- learning -------------------------------------------------------------------------------------------------
    @property
    def _adds(self) -> bool:
        """Whether the statistics of a class are exact."""
        prototype = self._prototype(getattr(self, "classes_", np.empty(0)))
        return all(one.exact for one in (prototype if isinstance(prototype, list) else [prototype]))

    @checked
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows (n, d) and their classes; weight 2 is the row twice.

        Parameters
        ----------
        X
            Rows, as the prototype reads them.
        y
            The class of each row; None and NaN are unknown classes. Or a boolean matrix (n, k) of those allowed.
        sample_weight
            One number of at least 0 per row.

        Of files, as :func:`suffice.scan` opens them, ``y`` and ``sample_weight`` are names of columns; they are read
        once for each pass, and every row has a class.
        """
        if isinstance(X, Source):
            return self._fit_files(X, y, sample_weight)
        rows = self._validated(X, reset=True)
        found = targets(type(self).__name__, y, None, self._unlabeled)
        self.classes_ = found.classes
        self.__dict__.pop("statistics_", None)
        self.__dict__.pop("target_name_", None)
        self._learn(rows, found, sample_weight)
        return self

    def _fit_files(self, X: Source, y: Any, sample_weight: Any) -> Self:
        """Learn from files; those that are small are read at once."""
        if not isinstance(y, str) or not (sample_weight is None or isinstance(sample_weight, str)):
            msg = f"{type(self).__name__}: of files, y and sample_weight are names of columns; got {y!r:.60}."
            raise DataError(msg)
        codes = Codes(X, y)
        names = tuple(name for name in X.names if name not in (y, sample_weight))
        if few(X, len(X.names)):
            frame = X.frame(0, len(X), X.names)
            held = None if sample_weight is None else cells(frame[sample_weight], "sample_weight")
            found: Self = self.fit(self._of_frame(frame, names), cells(frame[y], "y"), held)
            return found
        missing = codes.unknown()
        if missing is not None:
            msg = (
                f"{type(self).__name__}: column {y!r} has no class in {X.place(missing)}. Rows without a class take "
                "part where all rows are in memory; leave them out of the files."
            )
            raise DataError(msg)
        keep_names(self, dict.fromkeys(names))
        self.classes_ = np.array(codes.levels)
        self.__dict__.pop("statistics_", None)
        features, weights = X.only(names), weights_of(X, sample_weight, len(X))
        with located(X):
            self._choose(features, Targets(codes, self.classes_), weights)  # type: ignore[arg-type]
            template = self._template()
            data = LabelledFiles(streamed(template.components, X, names, weights), codes)
            if template.exact:
                self._adopt(template, template.suffstats(data, weights), more=False)
                return self
            options = {**self._climbing(), "n_init": self.n_init}
            learned = template.learn(data, weights, self._believed(), generator(self.random_state), **options)
        self.converged_, self.n_iter_ = learned.converged, learned.passes
        self.distribution_ = self._refined(learned.distribution, learned.statistics, None)
        self.statistics_ = learned.statistics
        self._tell()
        return self

    def _of_frame(self, frame: Frame, names: Any) -> Any:
        """Rows of a file, in the form in which rows of this classifier come."""
        if self._named_rows:
            return {name: frame[name] for name in names}
        return numbers(Frame({name: frame.raw(name) for name in names}, len(frame)), type(self).__name__)

    @property
    def _named_rows(self) -> bool:
        """Whether rows are given as columns by name."""
        return self._by_name

    def _each_frame(self, X: Source, ask: Any) -> Array:
        """What is asked of every partition of files, put together."""
        here = set(X.names)
        names = tuple(name for name in self.feature_names_in_ if name in here or not self._named_rows)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return X.mapped(lambda frame: ask(self._of_frame(frame, names)), names)

    @available_if(_streams)
    @checked
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows; the first call names all ``classes``. Any split of rows gives what ``fit`` of all would."""
        first = not hasattr(self, "statistics_")
        if first:
            if classes is None:
                msg = "classes must be passed on the first call to partial_fit."
                raise ValueError(msg)
            self.classes_ = np.unique(np.asarray(classes))
        elif classes is not None and not np.array_equal(self.classes_, np.unique(np.asarray(classes))):
            msg = (
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}. Merge "
                "classifiers with other classes one by one, or fit again."
            )
            raise ValueError(msg)
        rows = self._validated(X, reset=first)
        self._learn(rows, self._targets(y), sample_weight, more=True)
        return self

    def _targets(self, y: Any) -> Targets:
        return targets(type(self).__name__, y, self.classes_, self._unlabeled)

    def _learn(self, rows: Any, found: Targets, sample_weight: Any, *, more: bool = False) -> None:
        if not hasattr(self, "statistics_"):
            self._choose(rows, found, sample_weight)
        template = self._template()
        data, weights = self._labelled(template, rows, found, sample_weight)
        if template.exact and data.complete:
            seen = None if more else (data, weights)
            stats = self._gathered(template, data, weights)
            if stats.exact:
                self._adopt(template, stats, more=more, seen=seen)
                return
            if more:
                raise UnsupportedError(self._needs_cells("partial_fit", data.rows))
        if more and not template.exact:
            msg = (
                f"{type(self).__name__}.partial_fit sees rows once, but its families, {template.components!r:.200}, "
                "take several passes over them. Name others, such as Poisson for counts, or give all rows to fit."
            )
            raise UnsupportedError(msg)
        if more:
            msg = (
                f"{type(self).__name__}.partial_fit takes rows whose class is known; row "
                f"{int(np.argmax(data.codes < 0))} has none. Give all rows to fit, which shares such rows out by EM."
            )
            raise UnsupportedError(msg)
        options = self._climbing()
        if data.complete:
            options["n_init"] = self.n_init
        rng = generator(self.random_state)
        learned = self._begun(template, data.rows).learn(data, weights, self._believed(), rng, **options)
        self.converged_, self.n_iter_ = learned.converged, learned.passes
        self.distribution_ = self._refined(learned.distribution, learned.statistics, (data, weights))
        self.statistics_ = learned.statistics
        self._tell(() if data.complete else self._misled(template, data, weights))

    def _misled(self, template: Classes, data: Labelled, weights: Weights) -> tuple[Alert, ...]:
        """What to tell where rows of unknown class made those of known class less clear."""
        known = np.flatnonzero(data.codes >= 0)
        if not template.exact or not len(known):
            return ()
        some = Labelled.of(taken(data.rows, known), data.codes[known])
        w = None if weights.values is None else weights.values[known]
        stats = template.suffstats(some, Weights.of(w, len(known)))
        if not stats.count.all() or not stats.exact:
            return ()
        alone = self._settled(template, stats).estimate(stats, self._believed())
        models = (alone, self.distribution_)
        before, after = (np.average(one.most_probable(some.rows) == some.codes, weights=w) for one in models)
        if after >= before - max(MISLED, 2 / len(known)):
            return ()
        text = (
            f"rows of unknown class drew the classes away from their labels: {after:.0%} of the labelled rows are told "
            f"right, and {before:.0%} without the others. Rows of a class are not as the prototype has them; describe "
            "columns together (joint=True, MultivariateNormal; see dependence), or leave out the rows without a class."
        )
        return (("unlabelled", text),)

    def _gathered(self, template: Classes, data: Labelled, weights: Weights) -> Any:
        """The statistics of rows whose classes are known."""
        return template.suffstats(data, weights)

    def _adopt(self, template: Classes, stats: Any, *, more: bool, seen: Any = None) -> None:
        """Estimate from exact statistics, added to those of earlier rows."""
        if more and hasattr(self, "statistics_"):
            stats = self.statistics_ + stats
        model = self._settled(template, stats).estimate(stats, self._believed())
        self.distribution_, self.statistics_ = self._refined(model, stats, seen), stats
        self.converged_, self.n_iter_ = True, 1
        self._tell(streams=more)

    def _tell(self, more: tuple[Alert, ...] = (), *, streams: bool = False) -> None:
        """Show the attributes, and warn of what is not to be trusted; what a stream has not seen may still come."""
        self.class_count_ = self.statistics_.count.copy()
        self._show()
        if not self.converged_:
            text = f"{type(self).__name__} stopped before the likelihood was flat; raise max_iter or tol."
            warnings.warn(text, ConvergenceWarning, stacklevel=4)
        self.alerts_ = (*more, *self.distribution_.alerts(self.statistics_))
        aloud = self._warns - {"empty", "unseen"} if streams else self._warns
        told = [text for code, text in self.alerts_ if code in aloud]
        if told:
            others = f" And {len(told) - 1} more such alerts, in alerts_." if told[1:] else ""
            warnings.warn(f"{type(self).__name__}: {told[0]}{others}", SufficeWarning, stacklevel=4)

    def merge(self, other: Any) -> Self:
        """Add what another fit of the same classes learned: as if its rows had been seen here."""
        check_is_fitted(self)
        check_mergeable(self, other)
        if not np.array_equal(self.classes_, other.classes_):
            msg = (
                f"merge adds fits of the same classes; here are {self.classes_.tolist()}, there "
                f"{other.classes_.tolist()}. Name all of them in the first partial_fit(classes=…) of both."
            )
            raise ValueError(msg)
        self._refuse_inexact("merge")
        other._refuse_inexact("merge")  # noqa: SLF001 (of the same kind)
        self._adopt(self._template(), other.statistics_, more=True)
        return self

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows: as if they had never been seen."""
        check_is_fitted(self)
        self._refuse_inexact("unlearn")
        template = self._template()
        rows = self._validated(X, reset=False)
        data, weights = self._labelled(template, rows, self._targets(y), sample_weight)
        if not data.complete:
            msg = f"unlearn takes rows whose class is known; row {int(np.argmax(data.codes < 0))} has none."
            raise UnsupportedError(msg)
        gone = self._gathered(template, data, weights)
        if not gone.exact:
            raise UnsupportedError(self._needs_cells("unlearn", data.rows))
        left = self.statistics_ - gone
        self._adopt(template, left, more=False)
        return self

    def _refuse_inexact(self, what: str) -> None:
        if not self.statistics_.exact:
            msg = (
                f"{what} needs exact statistics, and those of {type(self).__name__} here were gathered given "
                "parameters (rows of unknown class, missing cells under a covariance, or a family that takes several "
                "passes). Fit all rows again."
            )
            raise UnsupportedError(msg)

    def _needs_cells(self, what: str, rows: Any) -> str:
        where = ""
        if isinstance(rows, np.ndarray):
            missing = np.isnan(rows)
            row, column = np.argwhere(missing & ~missing.all(axis=1, keepdims=True))[0].tolist()
            where = f"; row {row}, column {column} is missing"
        return (
            f"{type(self).__name__}.{what} sees rows once, and where columns vary together what is expected of a "
            f"missing cell takes several passes{where}. Give all rows to fit, or complete ones here."
        )

    # ---- asking ---------------------------------------------------------------------------------------------------
    def _asked(self, X: Any) -> tuple[Classes, Any]:
        """The learned classes, and rows that they are asked about."""
        check_is_fitted(self)
        model = self.distribution_
        return model, model.read(self._validated(X, reset=False))

    def _asked_quickly(self, X: Any) -> tuple[Classes, Any]:
        """The same, in a form of which nothing but the most probable class is asked."""
        return self._asked(X)

    def predict(self, X: Any, loss: Any = None, reject: float | None = None) -> Array:
        """The class of each row, (n,): the most probable, or with ``loss`` that of least expected loss.

        Parameters
        ----------
        X
            Rows.
        loss
            ``loss[i, j]`` costs deciding for class j when class i is true, in the order of ``classes_``; the rows and
            columns of a DataFrame are found by their labels. With more actions than classes the answer is the number
            of the action.
        reject
            The largest expected loss that is accepted. Other rows get −1, or None where −1 is a class or classes are
            no numbers.
        """
        if isinstance(X, Source):
            return self._each_frame(X, lambda rows: self.predict(rows, loss, reject))
        if loss is None and reject is None:
            model, rows = self._asked_quickly(X)
            return np.asarray(self.classes_[model.most_probable(rows)])
        loss = None if loss is None else in_order(loss, self.classes_)
        actions = decide(self.predict_proba(X), loss, reject)
        if loss is not None and np.shape(loss)[1] != len(self.classes_):
            return np.asarray(actions)
        rejected = actions < 0
        labels = np.asarray(self.classes_[actions])
        if not rejected.any():
            return labels
        numbers = self.classes_.dtype.kind in "if" and -1 not in self.classes_
        labels = labels if numbers else labels.astype(object)
        labels[rejected] = -1 if numbers else None
        return labels

    def predict_proba(self, X: Any) -> Array:
        """p(y | x) of each class, (n, k)."""
        if isinstance(X, Source):
            return self._each_frame(X, self.predict_proba)
        model, rows = self._asked(X)
        return np.asarray(model.predict_proba(rows))

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Log p(x, y) of each class, (n, k)."""
        model, rows = self._asked(X)
        return model.log_joint(rows)

    def predict_log_proba(self, X: Any) -> Array:
        """Log p(y | x) of each class, (n, k)."""
        joint = self.predict_joint_log_proba(X)
        total = share_out(joint).total[:, None]
        return np.where(np.isfinite(total), joint - np.where(np.isfinite(total), total, 0.0), self._log_priors())

    def _log_priors(self) -> Array:
        return np.asarray(self.distribution_.log_weights)

    @property
    def class_prior_(self) -> Array:
        """p(y) of each class; setting it changes the decisions, not the classes, and ``fit`` alone learns it again."""
        if not hasattr(self, "distribution_"):
            msg = f"This {type(self).__name__} instance is not fitted yet."
            raise AttributeError(msg)
        return np.array(self.distribution_.weights)

    @class_prior_.setter
    def class_prior_(self, priors: Any) -> None:
        self.distribution_ = self.distribution_.reweighted(checked_priors(priors, self.classes_))
        self._show()

    def with_priors(self, priors: Any) -> Self:
        """The same classifier with other probabilities of the classes, as where it is used they are not as here.

        They stay as they are when rows are added or removed afterwards.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.class_prior_ = priors
        return other

    # ---- explaining -----------------------------------------------------------------------------------------------
    def with_class_column(self, name: Any = "class") -> Any:
        """p(x, y) as a distribution in which the class is one more column, called ``name``: ask it anything."""
        return self._joint.with_class_column(name)

    def explain(self, row: Any, label: Any = None, against: Any = None) -> Explanation:
        """Why a row has its class: prior log-odds plus one term for each column, or block of columns.

        By default the most probable class is compared with the next; ``label`` and ``against`` choose others.
        """
        check_is_fitted(self)
        known = list(getattr(self, "feature_names_in_", ()))
        given, cells = one_row(row, known, by_name=self._by_name)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            _, rows = self._asked(given)

        def name(column: Any) -> Any:
            return known[column] if known and isinstance(column, int) else column

        def value(column: Any) -> Any:
            return cells.get(name(column), cells.get(column))

        return explain(self.distribution_, rows, label, against, name, value)

    def portrait(self) -> Portrait:
        """What there is to say about the classes, as values: what each says of every column, and what that tells."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return of_classes(self.distribution_, None if names is None else tuple(names), self)

    def summary(self, width: int | None = None) -> str:
        """The classes as a page of text: their shares, what each says of every column, and which columns tell most."""
        return page(self.portrait(), width)

    def dependence(self, X: Any, y: Any, sample_weight: Any = None) -> Dependence:
        """What independent columns ignore: the information of every pair of columns given the class.

        What is Categorical or Bernoulli by :func:`suffice.infer` is a label; see `suffice.combinators.dependence`.
        """
        check_is_fitted(self)
        columns = by_name(X)
        codes = self._targets(y).codes
        lengths = {len(columns[name]) for name in columns}
        if lengths != {len(codes)}:
            msg = f"dependence takes one class for each row; got {len(codes)} classes for {max(lengths)} rows."
            raise DataError(msg)
        weights = row_weights(sample_weight, codes).values
        return dependence(columns, codes, weights, self._label_columns(columns, codes, weights))

    def _label_columns(self, columns: Any, codes: Array, weights: Array | None) -> set[Any]:
        return {one.name for one in infer(columns, weights=weights, within=codes).findings if one.label}

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: those of the classes, shared ones once, and of p(y)."""
        check_is_fitted(self)
        return int(self.distribution_.n_parameters)

    def __sklearn_tags__(self) -> Any:
        """Tell that missing cells are welcome, and whether labels are."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self._words
        return tags
