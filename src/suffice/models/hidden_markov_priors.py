"""What to believe of a hidden Markov model: of its initial probabilities, its transitions, and its emissions."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.conjugate import check_named
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.weak_priors import shared_row
from suffice.errors import ParameterError, UnsupportedError
from suffice.numerics.lazy import special
from suffice.types import Array

KEYS = {"initial", "transitions", "emissions"}


class MarkovPriors:
    """Priors of a hidden Markov model, as a base class of it."""

    n: Any  # of the model itself, as all of these
    initial: Any
    transitions: Any
    emissions: Any
    for_data: Any
    mixture_by: Any
    _first_allowed: Any
    _moves_allowed: Any

    def priors(self, prior: Any) -> dict[str, Any]:
        """The prior of the initial probabilities, of the transitions, and of the emissions."""
        if prior is None:
            return {}
        if isinstance(prior, dict) and set(prior) <= KEYS:
            given = dict(prior)
        elif callable(prior) or (isinstance(prior, dict) and not set(prior) & set(self.emissions.blocks)):
            msg = (
                "the prior of a HiddenMarkov is {'initial': Dirichlet(…), 'transitions': Dirichlet(…), 'emissions': a "
                f"conjugate prior of them}}, any of these, or 'weak'; got {prior!r:.80}."
            )
            raise UnsupportedError(msg)
        else:
            given = {"emissions": prior}
        for name, shapes in (("initial", [(self.n,)]), ("transitions", [(self.n,), (self.n, self.n)])):
            belief = given.get(name)
            if belief is None:
                continue
            fits = isinstance(belief, Dirichlet) and np.shape(belief.alpha) in ((1,), *shapes)
            if not fits or not (np.asarray(belief.alpha) >= 1).all():
                rows = ", or a stack of one for each state" if name == "transitions" else ""
                msg = (
                    f"{name} of a HiddenMarkov of {self.n} take a Dirichlet with an entry of at least 1 for each, "
                    f"or one for all{rows}; got {belief!r:.60}."
                )
                raise ParameterError(msg)
        return given

    def pseudo_counts(self, belief: Any, shape: tuple[int, ...]) -> Array:
        """What a Dirichlet adds to counts of this shape, as far as these may be."""
        if belief is None:
            return np.zeros(shape)
        allowed = self._first_allowed if len(shape) == 1 else self._moves_allowed
        return np.asarray(np.where(allowed > 0, np.broadcast_to(belief.alpha, shape) - 1.0, 0.0))

    def same_for_all_states(self, beliefs: dict[str, Any]) -> bool:
        """Whether priors say the same of every state, with one value for staying where it is."""
        first = self.pseudo_counts(beliefs.get("initial"), (self.n,))
        moves = self.pseudo_counts(beliefs.get("transitions"), (self.n, self.n))
        away = moves[~np.eye(self.n, dtype=bool)]
        return bool(np.ptp(first) == 0 and np.ptp(np.diag(moves)) == 0 and (self.n < 2 or np.ptp(away) == 0))

    def log_prior(self, prior: Any) -> Array:
        """Log density of the prior at the parameters."""
        beliefs, total = self.priors(prior), 0.0
        for name in ("initial", "transitions"):
            if beliefs.get(name) is not None:
                value = np.asarray(getattr(self, name))
                allowed = self._first_allowed if name == "initial" else self._moves_allowed
                alpha = np.where(allowed > 0, np.broadcast_to(beliefs[name].alpha, value.shape), 0.0)
                terms = special.gammaln(np.where(alpha > 0, alpha, 1.0)).sum(axis=-1)
                constant = special.gammaln(alpha.sum(axis=-1)) - terms
                inner = special.xlogy(np.where(alpha > 0, alpha - 1.0, 0.0), value).sum(axis=-1)
                total += float(np.sum(constant + inner))
        if beliefs.get("emissions") is not None:
            total += float(np.sum(self.emissions.log_prior(beliefs["emissions"])))
        return np.asarray(total)

    def posterior(self, stats: Any, prior: Any) -> Any:
        """Refuse, and name what there is instead."""
        del stats, prior
        msg = "a HiddenMarkov has no posterior in closed form: sf.fit(…, prior=…) gives its mode."
        raise UnsupportedError(msg)

    def resolve_prior(self, prior: Any, rows: Any, weights: Any, part: float = 1.0) -> Any:
        """The prior with what ``"weak"`` stands for, or the reason why it is none."""
        if prior is None:
            return None
        model = self.for_data(rows)
        if isinstance(prior, str):
            check_named(prior)
            return model.default_prior(rows, weights, part)
        given = self.priors(prior)
        inner = given.get("emissions")
        if inner is None:
            return prior
        mixture = model.mixture_by(np.full(self.n, 1 / self.n))
        resolved = mixture.resolve_prior({"components": inner}, rows.rows, rows.row_weights(weights), part)
        return {**given, "emissions": resolved["components"]}

    def resolve_block_prior(self, prior: Any, rows: Any, weights: Any, part: float = 1.0) -> Any:
        return self.resolve_prior(prior, rows, weights, part)

    def default_prior(self, rows: Any, weights: Any, part: float = 1.0) -> dict[str, Any]:
        """One pseudo-row for each distribution of states, and of emissions as for a mixture."""
        model = self.for_data(rows)
        mixture = model.mixture_by(np.full(self.n, 1 / self.n))
        inner = mixture.default_prior(rows.rows, rows.row_weights(weights), part)["components"]
        shared = Dirichlet(np.array([shared_row(self.n)]))
        return {"initial": shared, "transitions": shared, "emissions": inner}

    def blocks_without_prior(self, prior: Any) -> tuple[str, ...]:
        found: tuple[str, ...] = self.emissions.blocks_without_prior(self.priors(prior).get("emissions"))
        return found
