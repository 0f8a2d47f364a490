"""Bayes' rule as a classifier: a distribution for each class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.distributions.normal import Normal
from suffice.errors import ParameterError, naming
from suffice.estimators.bayes import BayesShell
from suffice.estimators.prototypes import by_name, takes_labels
from suffice.estimators.rows import as_table, columns_of, is_mapping, keep_names
from suffice.estimators.targets import check_priors
from suffice.estimators.validation import ABOVE_ZERO, AT_LEAST_ONE, RANDOM_STATE, rules_of
from suffice.models.classifier import Classes
from suffice.tables.sequences import Sequences
from suffice.types import Array, Data, Prior, Seed


class BayesClassifier(BayesShell):
    """A classifier from any distribution: p(y | x) ∝ p(y) p(x | y).

    Parameters
    ----------
    prototype : Distribution
        The distribution of the rows of a class, as ``sf.Normal()`` (independent columns), ``sf.MultivariateNormal()``,
        ``sf.Product({"age": sf.Normal(), "city": sf.Categorical()})`` or ``sf.Mixture(sf.Normal(), 2)``; or
        ``{class: distribution}``. None is ``Normal()``. What is tied in it is shared by the classes. Rows of a
        :class:`HiddenMarkov` are whole sequences, as :func:`suffice.sequences` makes them.
    priors : array or dict, optional
        p(y) of each class in the order of ``classes_``; None learns them. ``with_priors`` changes them afterwards.
    prior : distribution, dict or "weak", optional
        What is believed of a class's parameters before the data: a conjugate prior, ``"weak"``, or
        ``{"weights": Dirichlet(…), "components": …}``.
    unlabeled : label, optional
        A label that means "class unknown", as −1. None and NaN in y always mean it. Rows of unknown class take part
        by EM. y may also be a boolean matrix (n, k) of the classes that each row may have.
    max_iter, tol, n_init, random_state : int, float, int, int or Generator or RandomState
        Of fits that take several passes: most passes, the relative change of the log-likelihood that ends them, number
        of starts, and their seed.

    Attributes
    ----------
    classes_, class_count_, class_prior_
        The labels, the weight of the rows of each, and p(y). Setting ``class_prior_`` changes the decisions.
    distribution_, statistics_
        p(x, y) as a value, a mixture with named components, and all that it kept of the rows.
    converged_, alerts_
        Whether the passes came to rest, and what to know before trusting the fit.

    Examples
    --------
    >>> X, y = [[1.0], [1.2], [3.0], [3.4]], ["a", "a", "b", "b"]
    >>> sf.BayesClassifier(sf.Normal()).fit(X, y).predict([[1.1], [3.1]])
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **rules_of(BayesShell),
        "prototype": [Distribution, dict, None],
        "priors": ["array-like", None],
        "prior": "no_validation",
        "unlabeled": "no_validation",
        "max_iter": [AT_LEAST_ONE],
        "tol": [ABOVE_ZERO, None],
        "n_init": [AT_LEAST_ONE],
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        prototype: object = None,
        *,
        priors: Data = None,
        prior: Prior = None,
        unlabeled: Data = None,
        max_iter: int = 1000,
        tol: float | None = None,
        n_init: int = 1,
        random_state: Seed = None,
    ) -> None:
        """Keep the options."""
        self.prototype = prototype
        self.priors = priors
        self.prior = prior
        self.unlabeled = unlabeled
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    @classmethod
    def from_distributions(cls, distributions: Mapping[Any, Any], priors: Data = None) -> Self:
        """A classifier of known distributions, without data: the optimal one where they are true.

        Parameters
        ----------
        distributions : dict
            The distribution (or fit) of the rows of each class, with its parameters.
        priors : sequence or dict, optional
            p(y), in the order of ``distributions`` or by class; equal without it. ``classes_`` are sorted, as always.

        Returns
        -------
        BayesClassifier
            It predicts, explains and samples as one that was fitted, and ``linear()`` gives its (w, b). ``fit`` learns
            the classes from data instead.

        Examples
        --------
        >>> known = sf.BayesClassifier.from_distributions({"well": sf.Normal(0, 1), "sick": sf.Normal(2, 1)})
        >>> known.predict([[0.5], [1.5]])
        array(['well', 'sick'], dtype='<U4')
        """
        given = {label: getattr(one, "distribution", one) for label, one in distributions.items()}
        for label, one in given.items():
            if not isinstance(one, Family) or not one.lone:
                msg = f"{cls.__name__}: class {label!r} needs a distribution, such as Normal(0, 1); got {one!r:.60}."
                raise ParameterError(msg)
            with naming(f"class {label!r}", ParameterError):
                one.require_ready("be a class")
        if len(given) < 2:
            msg = f"{cls.__name__}: a classifier has at least two classes; got {len(given)}."
            raise ParameterError(msg)
        ordered = _by_class(priors, list(given))
        found = cls(given, priors=ordered)
        found.classes_ = np.unique(np.array(list(given)))
        order = [list(given).index(label) for label in found.classes_.tolist()]
        parts = [list(given.values())[i] for i in order]
        found.priors = None if ordered is None else [ordered[i] for i in order]
        weights = None if ordered is None else check_priors(found.priors, found.classes_)
        labels = tuple(found.classes_.tolist())
        found.distribution_ = Classes(parts, weights=weights, labels=labels).fix("weights")
        names = found.distribution_.column_names
        if names is None:
            found.n_features_in_ = len(found.distribution_.column_labels)
        else:
            keep_names(found, dict.fromkeys(names))
        found.converged_, found.n_iter_, found.alerts_ = True, 0, ()
        return found

    @property
    def _given(self) -> Any:
        return Normal() if self.prototype is None else self.prototype

    def _prototype(self, classes: Array) -> Any:
        given = self._given
        if not isinstance(given, Mapping):
            return given
        missing = [one for one in classes.tolist() if one not in given]
        if missing:
            msg = (
                f"BayesClassifier: prototype says nothing of class {missing[0]!r}; it has {', '.join(map(repr, given))}"
                ". Give each class a distribution, or one for all."
            )
            raise ValueError(msg)
        return [given[one] for one in classes.tolist()]

    @property
    def _words(self) -> bool:
        return takes_labels(self._given)

    @property
    def _by_name(self) -> bool:
        return by_name(self._given)

    def _validate(self, X: Data, *, reset: bool) -> Any:
        if isinstance(X, Sequences):
            return self._sequences(X, reset=reset)
        X = as_table(type(self).__name__, X, None if reset else self.n_features_in_)
        named = columns_of(self, X, reset=reset) if self._by_name or is_mapping(X) else None
        return named if named is not None else super()._validate(X, reset=reset)

    def _sequences(self, X: Sequences, *, reset: bool) -> Sequences:
        """Whole sequences, each of which has a class."""
        if reset:
            self.n_features_in_ = int(np.prod(np.shape(X.rows)[1:]))
        return X


def _by_class(priors: Data, labels: list[Any]) -> list[Any] | None:
    """The probabilities of classes in the order of these labels, from a sequence or by class."""
    if priors is None:
        return None
    if isinstance(priors, Mapping):
        if set(priors) != set(labels):
            msg = f"priors are of the classes {', '.join(map(repr, labels))}; got {', '.join(map(repr, priors))}."
            raise ParameterError(msg)
        return [priors[label] for label in labels]
    ordered = list(priors)
    if len(ordered) != len(labels):
        msg = f"there are {len(labels)} classes, but {len(ordered)} priors; give one for each."
        raise ParameterError(msg)
    return ordered
