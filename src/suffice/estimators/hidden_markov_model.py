"""Hidden Markov models of anything, as an estimator."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice.core.distribution import Distribution
from suffice.distributions.normal import Normal
from suffice.em.fit import fit, named_fit
from suffice.estimators.prototypes import by_name, takes_labels
from suffice.estimators.rows import columns_of, is_mapping
from suffice.estimators.validation import (
    ABOVE_ZERO,
    AT_LEAST_ONE,
    RANDOM_STATE,
    checked,
    generator,
    validate_data,
)
from suffice.models.hidden_markov import HiddenMarkov
from suffice.tables.read_sequences import sequences
from suffice.tables.sequences import Sequences
from suffice.types import Array, Data, Seed


class HiddenMarkovModel(BaseEstimator):
    """`suffice.fit` of a hidden Markov model as a scikit-learn estimator.

    Parameters
    ----------
    emission : Distribution or sequence of Distribution
        What makes the rows of a state: any distribution, or a list with one for each state; None is ``Normal()``.
    n_states : int
        How many states; a list of emissions says it itself.
    initial, transitions : str or array, array
        As of :class:`HiddenMarkov`.
    prior : dict or "weak", optional
        ``{"initial": Dirichlet(…), "transitions": Dirichlet(…), "emissions": …}``, any of them, or ``"weak"``.
    max_iter, tol, n_init, random_state : int, float, int, int or Generator or RandomState
        As in :func:`suffice.fit`.

    Attributes
    ----------
    fit_
        The `Fit`: ``print(model.fit_)`` shows the states, how long they last, and alerts.
    distribution_, initial_, transitions_, n_iter_, converged_
        The learned value, its probabilities, and how the passes went.

    Examples
    --------
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [4.9], [0.1], [0.0]])
    >>> sf.HiddenMarkovModel(sf.Normal(), 2, random_state=0).fit(X).predict(X)
    array([0, 0, 0, 1, 1, 1, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "emission": [Distribution, list, tuple, None],
        "n_states": [AT_LEAST_ONE],
        "initial": [str, "array-like"],
        "transitions": ["array-like", None],
        "prior": "no_validation",
        "max_iter": [AT_LEAST_ONE],
        "tol": [ABOVE_ZERO, None],
        "n_init": [AT_LEAST_ONE],
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        emission: Any = None,
        n_states: int = 2,
        *,
        initial: Any = "free",
        transitions: Any = None,
        prior: Any = None,
        max_iter: int = 1000,
        tol: float | None = None,
        n_init: int = 1,
        random_state: Seed = None,
    ) -> None:
        """Keep the options."""
        self.emission = emission
        self.n_states = n_states
        self.initial = initial
        self.transitions = transitions
        self.prior = prior
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    @property
    def _prototype(self) -> HiddenMarkov:
        given = Normal() if self.emission is None else self.emission
        n = None if isinstance(given, (list, tuple)) else self.n_states
        return HiddenMarkov(given, n, self.initial, self.transitions)

    def _read(self, X: Data, lengths: Any, *, reset: bool = False) -> Sequences:
        """Rows as sequences, checked as scikit-learn does."""
        one = self._prototype.parts[0]
        named = columns_of(self, X, reset=reset) if by_name(one) or is_mapping(X) else None
        if named is None:
            kinds = None if takes_labels(one) else [np.float64, np.float32]
            X = validate_data(self, X, reset=reset, dtype=kinds, ensure_all_finite="allow-nan")
        else:
            X = named
        return sequences(X, lengths=[len(X)] if lengths is None else lengths)

    @checked
    def fit(self, X: Data, y: Data = None, lengths: Any = None, weights: Data = None) -> Self:
        """Learn from the rows (n, d) of sequences of these ``lengths``; all rows are one where there are none.

        ``weights`` has one for each sequence.
        """
        del y
        options: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "n_init": self.n_init}
        found = fit(
            self._prototype,
            self._read(X, lengths, reset=True),
            weights=weights,
            prior=self.prior,
            random_state=generator(self.random_state),
            **options,
        )
        self.fit_ = named_fit(found, getattr(self, "feature_names_in_", None))
        self.distribution_ = self.fit_.distribution
        self.n_iter_, self.converged_ = self.fit_.n_iter, self.fit_.converged
        return self

    @property
    def initial_(self) -> Array:
        """The probability of each state in a first row, (k,)."""
        return np.asarray(self.distribution_.initial)

    @property
    def transitions_(self) -> Array:
        """The probability of each move between states, (k, k)."""
        return np.asarray(self.distribution_.transitions)

    def predict(self, X: Data, lengths: Any = None) -> Array:
        """The most probable path of states, (n,)."""
        check_is_fitted(self)
        return np.asarray(self.distribution_.decode(self._read(X, lengths)))

    def predict_proba(self, X: Data, lengths: Any = None) -> Array:
        """The probability of each state given all rows of its sequence, (n, k)."""
        check_is_fitted(self)
        return np.asarray(self.distribution_.smooth(self._read(X, lengths)))

    def score(self, X: Data, y: Data = None, lengths: Any = None) -> float:
        """Mean log density of the rows, each given those before it in its sequence."""
        del y
        check_is_fitted(self)
        rows = self._read(X, lengths)
        return float(np.sum(self.distribution_.log_prob(rows))) / rows.n_rows

    def forecast(self, X: Data, steps: int = 1) -> Any:
        """What comes after one sequence: a :class:`~suffice.models.forecast.Forecast`."""
        check_is_fitted(self)
        return self.distribution_.forecast(self._read(X, None), steps)

    def sample(self, n_samples: int = 1) -> tuple[Any, Array]:
        """Draw a sequence of rows, and the states that made them."""
        check_is_fitted(self)
        found: tuple[Any, Array] = self.distribution_.sample_with_states(n_samples, generator(self.random_state))
        return found

    def __sklearn_tags__(self) -> Any:
        """Tell that missing cells are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
