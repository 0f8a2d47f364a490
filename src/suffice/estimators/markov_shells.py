"""hmmlearn's estimators: its arguments, attributes and methods over the library's hidden Markov models."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from suffice.distributions.dirichlet import Dirichlet
from suffice.em.init.short_runs import belief
from suffice.em.loop import run_em
from suffice.em.trace import Pass
from suffice.em.training import TrainingData
from suffice.models.hidden_markov import HiddenMarkov
from suffice.statistics.weights import Weights
from suffice.tables.read_sequences import sequences
from suffice.tables.sequences import Sequences
from suffice.types import Array

NOTHING = 1e-10  # rows that a prior is worth that hmmlearn lets be worth none
IMPLEMENTATIONS = ("log", "scaling")


class ConvergenceMonitor:
    """How the passes of a fit went.

    Attributes
    ----------
    tol, n_iter, verbose
        What ends a fit: a gain below ``tol``, or so many passes; and whether each pass is printed.
    history, iter
        The log-likelihood that each pass saw, with a prior its log density beside it, and how many there were.
    """

    def __init__(self, tol: float, n_iter: int, verbose: bool) -> None:  # noqa: FBT001 (as hmmlearn has it)
        """Keep the options."""
        self.tol, self.n_iter, self.verbose = tol, n_iter, verbose
        self.history: list[float] = []
        self.iter = 0

    def report(self, log_prob: float) -> None:
        """Note a pass, and print it where that is asked for."""
        if self.verbose:
            delta = log_prob - self.history[-1] if self.history else float("nan")
            sys.stderr.write(f"{self.iter + 1:>10d} {log_prob:>16.8f} {delta:>+16.8f}\n")
        self.history.append(log_prob)
        self.iter += 1

    @property
    def converged(self) -> bool:
        """Whether the passes came to an end."""
        gained = len(self.history) >= 2 and self.history[-1] - self.history[-2] < self.tol
        return self.iter == self.n_iter or gained

    def __repr__(self) -> str:
        """Show the options and the history."""
        return f"ConvergenceMonitor(history={self.history}, iter={self.iter}, n_iter={self.n_iter}, tol={self.tol})"


class MarkovShell(BaseEstimator):
    """What hmmlearn's models share. A subclass says its emissions, where they begin, and its attributes."""

    codes: ClassVar[dict[str, str]] = {}  # letters of ``params`` for the emissions' attributes

    n_components: int
    startprob_prior: Any
    transmat_prior: Any
    algorithm: str
    random_state: Any
    n_iter: int
    tol: float
    verbose: bool
    params: str
    init_params: str
    implementation: str

    def _keep(self, options: dict[str, Any]) -> None:
        """Set the options, and the monitor that a model has before it is fitted."""
        for name, value in options.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)
        self.monitor_ = ConvergenceMonitor(self.tol, self.n_iter, self.verbose)

    # ---- what a subclass says -------------------------------------------------------------------------------------
    def _emissions(self) -> list[Any]:
        """The emissions with their present parameters; what ``params`` leaves out is fixed."""
        raise NotImplementedError

    def _belief(self) -> Any:
        """The prior of the emissions; None without."""
        return None

    def _begin(self, X: Array, rng: Any) -> None:
        """Set the emissions' attributes that a fit begins from."""
        raise NotImplementedError

    def _show(self, model: HiddenMarkov) -> None:
        """Set the emissions' attributes by what was learned."""
        raise NotImplementedError

    def _read(self, X: Any) -> Any:
        """Rows as the emissions take them."""
        return X

    def _scalars(self) -> dict[str, int]:
        """How many numbers of the emissions are learned, by the letters of ``params``."""
        raise NotImplementedError

    # ---- the chain ------------------------------------------------------------------------------------------------
    def _needs(self, code: str, name: str) -> bool:
        return code in self.init_params or not hasattr(self, name)

    def _init(self, X: Array) -> None:
        """Where a fit begins, drawn as hmmlearn draws it; what ``init_params`` leaves out stays as it was set."""
        if getattr(self, "n_features", None) is None:
            self.n_features = X.shape[1]
        k, rng = self.n_components, check_random_state(self.random_state)
        if self._needs("s", "startprob_"):
            self.startprob_ = rng.dirichlet(np.full(k, 1.0 / k))
        if self._needs("t", "transmat_"):
            self.transmat_ = rng.dirichlet(np.full(k, 1.0 / k), size=k)
        self._begin(X, check_random_state(self.random_state) if isinstance(self.random_state, int) else rng)

    def _model(self) -> HiddenMarkov:
        """The model with the present attributes."""
        for name in ("startprob_", "transmat_"):
            value = np.asarray(getattr(self, name), dtype=float)
            if not np.allclose(value.sum(axis=-1), 1):
                msg = f"{name} must sum to 1; got {value.sum(axis=-1)}"
                raise ValueError(msg)
        model = HiddenMarkov(self._emissions(), None, _sums_to_one(self.startprob_), _sums_to_one(self.transmat_))
        kept = [name for code, name in (("s", "initial"), ("t", "transitions")) if code not in self.params]
        return model.fix(*kept)

    def _prior(self) -> Any:
        found: dict[str, Any] = {}
        for name, given in (("initial", self.startprob_prior), ("transitions", self.transmat_prior)):
            alpha = np.asarray(given, dtype=float)
            if (alpha != 1).any():
                found[name] = Dirichlet(np.atleast_1d(alpha))
        inner = self._belief()
        if inner is not None:
            found["emissions"] = inner
        return found or None

    def _sequences(self, X: Any, lengths: Any) -> tuple[Array, Sequences]:
        rows = check_array(X, ensure_all_finite="allow-nan")
        if lengths is not None and np.sum(lengths) != len(rows):
            more = "more" if np.sum(lengths) > len(rows) else "less"
            msg = f"{more} than {len(rows)} samples in lengths array {lengths}"
            raise ValueError(msg)
        return rows, sequences(self._read(rows), lengths=[len(rows)] if lengths is None else list(lengths))

    # ---- learning -------------------------------------------------------------------------------------------------
    def fit(self, X: Any, lengths: Any = None) -> Self:
        """Learn from the rows (n, d) of sequences of these lengths, by ``n_iter`` passes of EM at most."""
        if self.implementation not in IMPLEMENTATIONS:
            msg = f"implementation must be 'log' or 'scaling'; got {self.implementation!r}"
            raise ValueError(msg)
        rows, data = self._sequences(X, lengths)
        self._init(rows)
        self.monitor_ = ConvergenceMonitor(self.tol, self.n_iter, self.verbose)
        model, prior = self._model(), self._prior()
        read = model.read(data)
        model = model.for_data(read)
        training = TrainingData(model.preprocess(read), Weights(len(read)), prior, belief(prior))

        def report(seen: Pass) -> None:
            self.monitor_.report(seen.log_likelihood)

        path = run_em(
            model, training, max_iter=self.n_iter, gain=self.tol, accelerate=False, brief=True, callback=report
        )
        learned = path.distribution.estimate(path.statistics, prior)
        self.startprob_, self.transmat_ = np.array(learned.initial), np.array(learned.transitions)
        self._show(learned)
        return self

    # ---- asking ---------------------------------------------------------------------------------------------------
    def _ask(self, X: Any, lengths: Any) -> tuple[HiddenMarkov, Sequences]:
        check_is_fitted(self, "startprob_")
        return self._model(), self._sequences(X, lengths)[1]

    def score(self, X: Any, lengths: Any = None) -> float:
        """The log-likelihood of all sequences."""
        model, rows = self._ask(X, lengths)
        return float(np.sum(model.log_prob(rows)))

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, Array]:
        """The log-likelihood of all sequences, and the probability of each state of each row, (n, k)."""
        model, rows = self._ask(X, lengths)
        return float(np.sum(model.log_prob(rows))), model.smooth(rows)

    def decode(self, X: Any, lengths: Any = None, algorithm: str | None = None) -> tuple[float, Array]:
        """The states, and their log joint probability with the rows.

        ``"viterbi"`` gives the most probable path, ``"map"`` the most probable state of each row; the number is then
        the sum of the probabilities of these states, as in hmmlearn.
        """
        algorithm = algorithm or self.algorithm
        if algorithm not in ("viterbi", "map"):
            msg = f"Unknown decoder {algorithm!r}; it is 'viterbi' or 'map'"
            raise ValueError(msg)
        model, rows = self._ask(X, lengths)
        if algorithm == "viterbi":
            return float(np.sum(model.best_path_log_prob(rows))), model.decode(rows)
        shares = model.smooth(rows)
        return float(shares.max(axis=1).sum()), shares.argmax(axis=1)

    def predict(self, X: Any, lengths: Any = None) -> Array:
        """The states of the rows, (n,), by ``algorithm``."""
        return self.decode(X, lengths)[1]

    def predict_proba(self, X: Any, lengths: Any = None) -> Array:
        """The probability of each state of each row, (n, k)."""
        model, rows = self._ask(X, lengths)
        return model.smooth(rows)

    def sample(self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None) -> tuple[Array, Array]:
        """Draw a sequence of rows (n, d), and the states that made them; from ``currstate``, where it is given."""
        check_is_fitted(self, "startprob_")
        model = self._model()
        if currstate is not None:
            model = model.with_chain(np.eye(self.n_components)[currstate], model.transitions)
        seed = self.random_state if random_state is None else random_state
        rng = np.random.default_rng(check_random_state(seed).randint(1 << 31))
        rows, states = model.sample_with_states(n_samples, rng)
        return np.asarray(rows).reshape(n_samples, -1), states

    def get_stationary_distribution(self) -> Array:
        """The probability of each state in the long run."""
        check_is_fitted(self, "transmat_")
        return np.array(self._model().stationary)

    def _n_scalars(self) -> int:
        k = self.n_components
        return k - 1 + k * (k - 1) + sum(self._scalars().values())

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike's criterion: lower is better."""
        return -2 * self.score(X, lengths) + 2 * self._n_scalars()

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Schwarz's criterion: lower is better."""
        return -2 * self.score(X, lengths) + self._n_scalars() * float(np.log(len(X)))


def _sums_to_one(value: Any) -> Array:
    """Probabilities without the rounding of a caller's."""
    found = np.asarray(value, dtype=float)
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def fixed(one: Any, names: list[str]) -> Any:
    """An emission whose parameters of these names passes leave as they are."""
    return one.fix(*names) if names else one
