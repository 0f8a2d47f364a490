"""What to believe of a mixture: the prior of its weights, that of its members, and the posterior of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.combinators.stack import side_by_side
from suffice.core.errors import ParameterError, UnsupportedError
from suffice.core.lazy import special
from suffice.core.member import check_named
from suffice.core.parameters import Array
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.weak_priors import part_of_variance, shared_row

LEAST_WEIGHT = 1e-10  # under a prior that is infinite at 0: there the posterior has no maximum, here it has


class MixtureBeliefs:
    """Priors of a mixture, as a base class of it."""

    n: int
    weights: Any
    components: Any
    shaped: Any

    def priors(self, prior: Any) -> dict[str, Any]:
        """The prior of the weights and that of the members."""
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

    def refusal(self, prior: Any) -> str:
        """Why something is no prior of a mixture."""
        unknown = [key for key in prior if key not in ("weights", "components")] if isinstance(prior, dict) else []
        got = f"the key {unknown[0]!r}" if unknown else "a function" if callable(prior) else f"{prior!r:.60}"
        return (
            "the prior of a Mixture is {'weights': Dirichlet(…), 'components': a conjugate prior of the members, or a "
            f"list with one for each}}, either of them, or 'weak'; got {got}. A density as a function is for a "
            "distribution that is no mixture."
        )

    def log_prior(self, prior: Any) -> Array:
        """Log density of the prior of weights and members at their values."""
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

    def approximate_posterior(self, rows: Any, weights: Any, prior: Any, options: dict[str, Any]) -> Any:
        """The variational posterior: beliefs about weights and members that are nearest to the true one."""
        from suffice.combinators.variational_posterior import believe

        return believe(self, rows, weights, prior, options)

    def settle_prior(self, prior: Any, rows: Any, weights: Any, part: float = 1.0) -> Any:
        """The prior with what ``"weak"`` stands for, or the reason why it is none."""
        if prior is None:
            return None
        model = self.shaped(rows)
        if isinstance(prior, str):
            check_named(prior)
            return model.weak_belief(rows, weights, part)
        given = self.priors(prior)
        inner = given.get("components")
        stack, own = model.components, part * model.component_part
        if isinstance(inner, (list, tuple)) and not stack.blocks:
            settled = _beside(stack, [stack.settle_part(one, rows, weights, own) for one in inner])
        else:
            settled = stack.settle_part(inner, rows, weights, own)
        return prior if settled is inner else {**given, "components": settled}

    def settle_part(self, prior: Any, rows: Any, weights: Any, part: float = 1.0) -> Any:
        return self.settle_prior(prior, rows, weights, part)

    @property
    def component_part(self) -> float:
        """The part of the variances of all rows that a component is expected to have."""
        return part_of_variance(self.n, self.components.columns or 1)

    def weak_belief(self, rows: Any, weights: Any, part: float = 1.0) -> dict[str, Any]:
        """One pseudo-row that the weights share equally, and of a component what is weak for its part of all rows."""
        model = self.shaped(rows)
        inner = model.components.weak_belief(rows, weights, part * model.component_part)
        return {"weights": Dirichlet(np.array([shared_row(self.n)])), "components": inner}

    def silent(self, prior: Any) -> tuple[str, ...]:
        found: tuple[str, ...] = self.components.silent(self.priors(prior).get("components"))
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


def _beside(stack: Any, priors: list[Any]) -> Any:
    """The priors of members of one kind as one, with the members first."""
    if len(priors) != stack.members:
        msg = f"there are {len(priors)} priors for {stack.members} members; give one for each, or one for all."
        raise ParameterError(msg)
    beliefs = [getattr(one, "belief", one) for one in priors]
    kinds = list(dict.fromkeys(type(one) for one in beliefs))
    found = side_by_side(beliefs) if len(kinds) == 1 and beliefs[0] is not None else None
    if found is None or found.blocks:
        several = ", ".join("None" if one is None else one.name for one in beliefs)
        msg = f"members of one kind take priors of one kind, and all of them or none; got {several}."
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
