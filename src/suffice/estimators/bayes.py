"""What the scikit-learn shells of Bayes classifiers share: classes, and learning p(x, y) as rows come and go."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from suffice.core.family import Family
from suffice.engines import blas
from suffice.errors import DataError, SufficeWarning, UnsupportedError
from suffice.estimators.adding import Adding
from suffice.estimators.attributes import FittedAttributes
from suffice.estimators.deciding import Deciding
from suffice.estimators.rows import keep_names, refuse_files, with_target
from suffice.estimators.targets import Targets, check_priors, targets, warn_of_numeric_target
from suffice.estimators.validation import (
    checked,
    generator,
    locating_text,
    refuse_infinite,
    row_weights,
    validate_data,
)
from suffice.models.classifier import Classes
from suffice.models.labelled_rows import Labelled, LabelledFiles
from suffice.statistics.sums import Statistics
from suffice.statistics.weights import Weights
from suffice.tables.deferred_columns import Codes, weights_of
from suffice.tables.frame import Frame
from suffice.tables.rows import cells, numbers
from suffice.tables.sketch import take_rows
from suffice.tables.streams import Source, few, located, streamed
from suffice.types import Alert, Array, Data, Rows

MISLED = 0.05  # of the labelled rows: what rows of unknown class may cost before an alert tells


class BayesShell(Adding, Deciding, FittedAttributes, ClassifierMixin, BaseEstimator):
    """An estimator around p(x, y), ``distribution_``, and its statistics, ``statistics_``.

    A subclass says what the rows of a class are in ``_prototype``, their prior in ``_components_prior``, and shows
    its attributes in ``_show``. ``_refine`` may change an estimate (a shrinkage, a smoothing) given the statistics.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    _warns: ClassVar[frozenset[str]] = frozenset({"collapsed", "singular", "unlabelled", "empty", "unseen"})  # aloud

    priors: Any = None  # options of those shells that have them
    prior: Any = None
    unlabeled: Any = None
    max_iter: int = 1000
    tol: float | None = None
    n_init: int = 1
    random_state: Any = None
    n_features_in_: int
    alerts_: tuple[Alert, ...]

    # ---- what a subclass says -------------------------------------------------------------------------------------
    def _prototype(self, classes: Array) -> Any:
        """The distribution of the rows of a class, or a list with one for each class."""
        raise NotImplementedError

    def _components_prior(self) -> Any:
        """The prior of the estimate."""
        return self.prior

    def _class_priors(self) -> Any:
        """p(y) as the caller gives it; None: from the rows."""
        return self.priors

    def _choose(self, rows: Data, found: Targets, sample_weight: Data) -> None:
        """Choose families by the first rows, where a subclass does."""

    def _for_statistics(self, template: Classes, stats: Statistics) -> Classes:
        """The classes before they have parameters, with the columns and levels that the statistics know."""
        return template.for_statistics(stats)

    def _for_rows(self, template: Classes, rows: Rows) -> Classes:
        """The classes before several passes over these rows."""
        del rows
        return template

    def _refine(self, model: Classes, stats: Statistics, seen: tuple[Labelled, Weights] | None) -> Classes:
        """The estimate as this classifier wants it; ``seen``: all rows and their weights, where they are at hand."""
        del stats, seen
        return model

    def _regularise(self, stats: Statistics, seen: tuple[Labelled, Weights] | None) -> Any:
        """The statistics that are estimated from, where too few rows tell too little."""
        del seen
        return stats

    def _notes(self) -> tuple[Alert, ...]:
        """What that changed."""
        return ()

    def _em_options(self) -> dict[str, Any]:
        """The options of several passes."""
        return {"max_iter": self.max_iter, "tol": self.tol}

    def _display(self) -> None:
        if "statistics_" in self.__dict__:  # what is set by hand has seen no rows
            self.class_count_ = self.statistics_.count.copy()
        super()._display()

    def _with_components(self, components: Family, columns: int, weights: Array | None = None) -> Classes:
        """The classes with other components, and other probabilities p(y) where they are given."""
        last, labels = self.__dict__.get("distribution_"), tuple(self.classes_.tolist())
        if last is not None and last.labels == labels and columns == self.n_features_in_:
            model: Classes = replace(last, components=components)
        else:
            given = self.__dict__.pop("class_prior_", None) if weights is None else weights
            priors = np.full(len(labels), 1.0 / len(labels)) if given is None else given
            model = Classes(components, weights=check_priors(priors, self.classes_), labels=labels)
            self.__dict__.pop("statistics_", None)
            self.n_features_in_, self.converged_, self.n_iter_, self.alerts_ = columns, True, 0, ()
        return model if weights is None else model.reweighted(weights)

    @property
    def _by_name(self) -> bool:
        """Whether columns go by name."""
        return False

    @property
    def _words(self) -> bool:
        """Whether columns may hold labels."""
        return False

    # ---- rows -----------------------------------------------------------------------------------------------------
    def _validate(self, X: Data, *, reset: bool) -> Any:
        """What the caller gave, checked as scikit-learn does; families name cells that they do not take."""
        if self._words:
            return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        kinds = [np.float64, np.float32]
        with locating_text(X, type(self).__name__):
            rows = validate_data(self, X, reset=reset, dtype=kinds, ensure_all_finite=False)
        if reset:
            self._remember_precision(rows)
        else:  # families look at every cell that they learn from
            refuse_infinite(rows, type(self).__name__)
        return rows

    def _template(self) -> Classes:
        """The classes before they have parameters."""
        prototype, k = self._prototype(self.classes_), len(self.classes_)
        labels = tuple(self.classes_.tolist())
        held = hasattr(self, "statistics_") and "weights" in self.distribution_.fixed  # given, or set since
        given = self.distribution_.weights if held else self._class_priors()
        weights = None if given is None else check_priors(given, self.classes_)
        several = isinstance(prototype, list)
        model = Classes(prototype, None if several else k, weights=weights, labels=labels)
        return model if given is None else model.fix("weights")

    def _read_labelled(
        self, template: Classes, rows: Rows, found: Targets, sample_weight: Data
    ) -> tuple[Labelled, Weights]:
        """Rows with their classes and weights; those of weight 0 are none, and bring no level of a label."""
        data = Labelled.of(template.components.read(rows), found.codes, found.allowed)
        weights = row_weights(sample_weight, data)
        if weights.values is None or weights.values.all():
            return data, weights
        kept = np.flatnonzero(weights.values)
        allowed = None if data.allowed is None else data.allowed[kept]
        some = Labelled.of(take_rows(data.rows, kept), data.codes[kept], allowed)
        return some, Weights.of(weights.values[kept], len(kept))

    # ---- learning -------------------------------------------------------------------------------------------------
    @property
    def _adds(self) -> bool:
        """Whether the statistics of a class are exact, so that rows can be added and removed."""
        prototype = self._prototype(getattr(self, "classes_", np.empty(0)))
        return all(one.exact for one in (prototype if isinstance(prototype, list) else [prototype]))

    @checked
    def fit(self, X: Data, y: Data, sample_weight: Data = None) -> Self:
        """Learn from rows (n, d) and their classes; weight 2 is the row twice.

        Parameters
        ----------
        X
            Rows, as the prototype reads them.
        y
            The class of each row; None and NaN are unknown classes. Or a boolean matrix (n, k) of those allowed.
        sample_weight
            One number of at least 0 per row.

        Of a table ``y`` may be the name of a column, and then ``sample_weight``, too. Of files, as
        :func:`suffice.scan` opens them, both are names of columns; files are read once for each pass, and every row has
        a class.
        """
        if isinstance(X, Source):
            return self._fit_files(X, y, sample_weight)
        X, y, sample_weight = with_target(type(self).__name__, X, y, sample_weight)
        rows = self._validate(X, reset=True)
        found = targets(type(self).__name__, y, None, self.unlabeled)
        if found.allowed is None:
            warn_of_numeric_target(type(self).__name__, found.classes, int((found.codes >= 0).sum()), 3)
        self._forget(found.classes)
        self._learn(rows, found, sample_weight)
        return self

    def _forget(self, classes: Array) -> None:
        """Begin a fit of these classes; should it fail, what was learned stands, unless it was of other classes."""
        if not np.array_equal(getattr(self, "classes_", ()), classes):
            self.distribution_ = None
            del self.__dict__["distribution_"]
        self.classes_ = classes
        for name in ("statistics_", "target_name_", "class_prior_"):
            self.__dict__.pop(name, None)

    def _fit_files(self, X: Source, y: Data, sample_weight: Data) -> Self:
        """Learn from files; those that are small are read at once."""
        if not isinstance(y, str) or not (sample_weight is None or isinstance(sample_weight, str)):
            msg = f"{type(self).__name__}: of files, y and sample_weight are names of columns; got {y!r:.60}."
            raise DataError(msg)
        codes: Any = Codes(X, y)
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
        self._forget(np.array(codes.levels))
        warn_of_numeric_target(type(self).__name__, self.classes_, len(X), 4)
        features, weights = X.only(names), weights_of(X, sample_weight, len(X))
        with located(X):
            self._choose(features, Targets(codes, self.classes_), weights)
            template = self._template()
            data = LabelledFiles(streamed(template.components, X, names, weights), codes)
            if template.exact:
                self._adopt(template, template.suffstats(data, weights), more=False)
                return self
            options = {**self._em_options(), "n_init": self.n_init}
            learned = template.learn(data, weights, self._components_prior(), generator(self.random_state), **options)
        self.converged_, self.n_iter_ = learned.converged, learned.passes
        self.distribution_ = self._refine(learned.distribution, learned.statistics, None)
        self.statistics_ = learned.statistics
        self._tell()
        return self

    def _of_frame(self, frame: Frame, names: tuple[Hashable, ...]) -> Any:
        """Rows of a file, in the form in which rows of this classifier come."""
        if self._named_rows:
            return {name: frame[name] for name in names}
        return numbers(Frame({name: frame.raw(name) for name in names}, len(frame)), type(self).__name__)

    @property
    def _named_rows(self) -> bool:
        """Whether rows are given as columns by name."""
        return self._by_name

    @available_if(lambda self: self._adds)
    @checked
    def partial_fit(self, X: Data, y: Data, classes: Data = None, sample_weight: Data = None) -> Self:
        """Add rows; the first call names all ``classes``. Any split of rows gives what ``fit`` of all would."""
        refuse_files(type(self).__name__, "partial_fit", X, "fit(scan, name of the target) reads files part by part.")
        X, y, sample_weight = with_target(type(self).__name__, X, y, sample_weight)
        first, named = not hasattr(self, "statistics_"), hasattr(self, "classes_")
        if classes is None and not named:
            msg = "classes must be passed on the first call to partial_fit."
            raise ValueError(msg)
        if not named:
            self.classes_ = np.unique(np.asarray(classes))
        elif classes is not None and not np.array_equal(self.classes_, np.unique(np.asarray(classes))):
            msg = (
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}. Merge "
                "classifiers with other classes one by one, or fit again."
            )
            raise ValueError(msg)
        rows = self._validate(X, reset=first)
        self._learn(rows, self._targets(y), sample_weight, more=True)
        return self

    def _targets(self, y: Data) -> Targets:
        return targets(type(self).__name__, y, self.classes_, self.unlabeled)

    def _learn(self, rows: Rows, found: Targets, sample_weight: Data, *, more: bool = False) -> None:
        if not hasattr(self, "statistics_"):
            self._choose(rows, found, sample_weight)
        template = self._template()
        data, weights = self._read_labelled(template, rows, found, sample_weight)
        if not more:
            self._check_labelled(data, weights)
        if template.exact and data.complete:
            seen = None if more else (data, weights)
            stats = self._gather(template, data, weights)
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
        self._warn_of_unlabelled(data)
        options = self._em_options()
        if data.complete:
            options["n_init"] = self.n_init
        rng = generator(self.random_state)
        learned = self._for_rows(template, data.rows).learn(data, weights, self._components_prior(), rng, **options)
        self.converged_, self.n_iter_ = learned.converged, learned.passes
        self.distribution_ = self._refine(learned.distribution, learned.statistics, (data, weights))
        self.statistics_ = learned.statistics
        self._tell(() if data.complete else self._check_misled(template, data, weights))

    def _check_labelled(self, data: Labelled, weights: Weights) -> None:
        """Refuse rows that cannot be learned from: none, unless a class needs several."""

    def _warn_of_unlabelled(self, data: Labelled) -> None:
        """Tell how many rows have no class, unless the caller named a label for that, or gave those allowed."""
        unknown = int((data.codes < 0).sum())
        if not unknown or data.allowed is not None or self.unlabeled is not None:
            return
        text = (
            f"{type(self).__name__}: {unknown} of {len(data.codes)} rows have no class (NaN or None in y); EM shares "
            "them out among the classes. Leave them out if that is not meant."
        )
        warnings.warn(text, SufficeWarning, stacklevel=5)

    def _check_misled(self, template: Classes, data: Labelled, weights: Weights) -> tuple[Alert, ...]:
        """What to tell where rows of unknown class made those of known class less clear."""
        known = np.flatnonzero(data.codes >= 0)
        if not template.exact or not len(known):
            return ()
        some = Labelled.of(take_rows(data.rows, known), data.codes[known])
        w = None if weights.values is None else weights.values[known]
        stats = template.suffstats(some, Weights.of(w, len(known)))
        if not stats.count.all() or not stats.exact:
            return ()
        alone = self._for_statistics(template, stats).estimate(stats, self._components_prior())
        models = (alone, self.distribution_)
        before, after = (np.average(one.most_probable(some.rows) == some.codes, weights=w) for one in models)
        if after >= before - max(MISLED, 2 / len(known)):
            return ()
        text = (
            f"rows of unknown class drew the classes away from their labels: {after:.0%} of the labelled rows are told "
            f"right, and {before:.0%} without the others. Rows of a class are not as the prototype has them; describe "
            "columns together (joint=True, MultivariateNormal; see dependence), or leave out the rows without a class."
        )
        return (Alert("unlabelled", text),)

    def _gather(self, template: Classes, data: Labelled, weights: Weights) -> Any:
        """The statistics of rows whose classes are known."""
        return template.suffstats(data, weights)

    def _adopt(self, template: Classes, stats: Statistics, *, more: bool, seen: tuple[Any, ...] | None = None) -> None:
        """Estimate from exact statistics, added to those of earlier rows."""
        if more and hasattr(self, "statistics_"):
            stats = self.statistics_ + stats
        with blas.one_thread():  # more of them wait for each other where matrices are small
            model = self._for_statistics(template, stats).estimate(
                self._regularise(stats, seen), self._components_prior()
            )
            self.distribution_, self.statistics_ = self._refine(model, stats, seen), stats
            self.converged_, self.n_iter_ = True, 1
            self._tell(streams=more)

    def _tell(self, more: tuple[Alert, ...] = (), *, streams: bool = False) -> None:
        """Show the attributes, and warn of what is not to be trusted; what a stream has not seen may still come."""
        self._display()
        if not self.converged_:
            text = f"{type(self).__name__} stopped before the likelihood was flat; raise max_iter or tol."
            warnings.warn(text, ConvergenceWarning, stacklevel=4)
        self.alerts_ = (*more, *self._notes(), *self.distribution_.alerts(self.statistics_))
        aloud = self._warns - {"empty", "unseen"} if streams else self._warns
        texts = [text for code, text in self.alerts_ if code in aloud]
        if texts:
            others = f" And {len(texts) - 1} more such alerts, in alerts_." if texts[1:] else ""
            warnings.warn(f"{type(self).__name__}: {texts[0]}{others}", SufficeWarning, stacklevel=4)

    def __sklearn_tags__(self) -> Any:
        """Tell that missing cells are welcome, and whether labels are."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self._words
        return tags
