"""What to believe of a mixture: the prior of its weights, that of its components, and the posterior of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.conjugate import check_named
from suffice.core.family import Family
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.weak_priors import part_of_variance, shared_row
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.stack import side_by_side
from suffice.numerics.lazy import special
from suffice.statistics.weights import Weights
from suffice.types import Array, Data, Prior, Rows

LEAST_WEIGHT = 1e-10  # under a prior that is infinite at 0: there the posterior has no maximum, here it has


class MixturePriors:
    """Priors of a mixture, as a base class of it."""

    n: int
    weights: Any
    components: Any
    for_data: Any

    def priors(self, prior: Prior) -> dict[str, Any]:
        """The prior of the weights and that of the components."""
        if prior is None:
            return {}
        if isinstance(prior, dict) and set(prior) <= {"weights", "components"}:
            given = dict(prior)
        elif callable(prior) or (isinstance(prior, dict) and not set(prior) & set(self.components.blocks)):
            raise UnsupportedError(self.refusal(prior))
        elif isinstance(prior, Dirichlet) and Dirichlet not in getattr(self.components, "conjugates", ()):
            given = {"weights": prior}
        else:
            given = {"components": prior}
        belief = given.get("weights")
        if belief is not None and (
            not isinstance(belief, Dirichlet) or np.shape(belief.alpha) not in ((1,), (self.n,))
        ):
            msg = (
                f"the weights of a Mixture of {self.n} take Dirichlet([…]) with one entry for each component, or one "
                f"for all; got {belief!r:.60}."
            )
            raise ParameterError(msg)
        return given

    def refusal(self, prior: Prior) -> str:
        """Why something is not a prior of a mixture."""
        unknown = [key for key in prior if key not in ("weights", "components")] if isinstance(prior, dict) else []
        got = f"the key {unknown[0]!r}" if unknown else "a function" if callable(prior) else f"{prior!r:.60}"
        return (
            "the prior of a Mixture is {'weights': Dirichlet(…), 'components': a conjugate prior of them, or a "
            f"list with one for each}}, either of them, or 'weak'; got {got}. A density as a function is for a "
            "distribution that is not a mixture."
        )

    def log_prior(self, prior: Prior) -> Array:
        """Log density of the prior of weights and components at their values."""
        beliefs = self.priors(prior)
        total = 0.0
        if beliefs.get("weights") is not None:
            alpha = np.broadcast_to(beliefs["weights"].alpha, self.weights.shape)
            constant = special.gammaln(alpha.sum()) - special.gammaln(alpha).sum()
            within = np.where(alpha < 1, np.maximum(self.weights, LEAST_WEIGHT), self.weights)
            total += float(constant + special.xlogy(alpha - 1.0, within).sum())
        if beliefs.get("components") is not None:
            total += float(np.sum(self.components.log_prior(beliefs["components"])))
        return np.asarray(total)

    def posterior(self, stats: Any, prior: Any) -> Any:
        """Refuse, and name what there is instead: statistics that depend on parameters have no closed posterior."""
        del stats, prior
        msg = (
            "a Mixture has no posterior in closed form: sf.posterior(mixture, rows, prior=…) comes near it, and "
            "sf.fit(…, prior=…) gives its mode."
        )
        raise UnsupportedError(msg)

    def resolve_prior(self, prior: Prior, rows: Data, weights: Weights, part: float = 1.0) -> Any:
        """The prior with what ``"weak"`` stands for, or the reason why it is none."""
        if prior is None:
            return None
        model = self.for_data(rows)
        if isinstance(prior, str):
            check_named(prior)
            return model.default_prior(rows, weights, part)
        given = self.priors(prior)
        inner = given.get("components")
        stack, own = model.components, part * model.component_part
        if isinstance(inner, (list, tuple)) and not stack.blocks:
            resolved = _side_by_side(stack, [stack.resolve_block_prior(one, rows, weights, own) for one in inner])
        else:
            resolved = stack.resolve_block_prior(inner, rows, weights, own)
        return prior if resolved is inner else {**given, "components": resolved}

    def resolve_block_prior(self, prior: str, rows: Rows, weights: Weights, part: float = 1.0) -> Any:
        return self.resolve_prior(prior, rows, weights, part)

    @property
    def component_part(self) -> float:
        """The part of the variances of all rows that a component is expected to have."""
        return part_of_variance(self.n, self.components.columns or 1)

    def default_prior(self, rows: Rows, weights: Weights, part: float = 1.0) -> dict[str, Any]:
        """One pseudo-row that the weights share equally, and of a component what is weak for its part of all rows."""
        model = self.for_data(rows)
        inner = model.components.default_prior(rows, weights, part * model.component_part)
        return {"weights": Dirichlet(np.array([shared_row(self.n)])), "components": inner}

    def blocks_without_prior(self, prior: dict[Any, Any]) -> tuple[str, ...]:
        found: tuple[str, ...] = self.components.blocks_without_prior(self.priors(prior).get("components"))
        return found

    def _weights(self, count: Array, prior: Any) -> Array:
        if prior is None:
            total = count.sum()
            return np.asarray(count / total if total > 0 else self.weights)
        alpha = np.broadcast_to(prior.alpha, count.shape)
        count = count + alpha - 1.0
        if (alpha < 1).any():
            return _held(count)
        total = count.sum()
        return np.asarray(count / total if total > 0 else self.weights)


def _side_by_side(stack: Family, priors: list[Any]) -> Any:
    """The priors of components of one kind as one, with the components first."""
    if len(priors) != stack.n_components:
        msg = f"there are {len(priors)} priors for {stack.n_components} components; give one for each, or one for all."
        raise ParameterError(msg)
    beliefs = [getattr(one, "belief", one) for one in priors]
    kinds = list(dict.fromkeys(type(one) for one in beliefs))
    found = side_by_side(beliefs) if len(kinds) == 1 and beliefs[0] is not None else None
    if found is None or found.blocks:
        several = ", ".join("None" if one is None else one.name for one in beliefs)
        msg = f"components of one kind take priors of one kind, and all of them or none; got {several}."
        raise UnsupportedError(msg)
    return found


def _held(count: Array) -> Array:
    """The weights π ≥ `LEAST_WEIGHT` that maximise Σ count log π, where counts may be negative.

    Those that are not positive stand on the bound, and so do those whose share would lie below it.
    """
    free = count > 0
    if not free.any():
        free = np.arange(len(count)) == np.argmax(count)
    while True:
        left = 1.0 - LEAST_WEIGHT * (~free).sum()
        shares = np.where(free, np.maximum(count, 0.0), 0.0)
        total = shares.sum()
        found = np.where(free, left * shares / total if total > 0 else left / free.sum(), LEAST_WEIGHT)
        below = free & (found < LEAST_WEIGHT)
        if not below.any():
            return np.asarray(found)
        free = free & ~below
