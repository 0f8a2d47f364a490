"""What to believe of a mixture: the prior of its weights, that of its members, and the posterior of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.combinators.stack import Stack
from suffice.core.errors import ParameterError, UnsupportedError
from suffice.core.lazy import special
from suffice.core.parameters import Array
from suffice.distributions.dirichlet import Dirichlet


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

    def log_prior(self, prior: Any) -> Array:
        beliefs = self.priors(prior)
        total = 0.0
        if beliefs.get("weights") is not None:
            alpha = np.broadcast_to(beliefs["weights"].alpha, self.weights.shape)
            constant = special.gammaln(alpha.sum()) - special.gammaln(alpha).sum()
            total += float(constant + special.xlogy(alpha - 1.0, self.weights).sum())
        if beliefs.get("components") is not None:
            total += float(np.sum(self.components.log_prior(beliefs["components"])))
        return np.asarray(total)

    def posterior(self, stats: Any, prior: Any) -> Any:
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

    def settle_prior(self, prior: Any, rows: Any, weights: Any) -> Any:
        """``"weak"``: one pseudo-row for the weight of each member, and for a member what is weak for all rows."""
        if prior != "weak" or not isinstance(prior, str):
            return prior
        stack = self.shaped(rows).components
        weak = [one.weak_prior(one.suffstats(view, weights)) for one, view in _with_views(stack, rows)]
        return {"weights": Dirichlet(np.array([2.0])), "components": weak if isinstance(stack, Stack) else weak[0]}

    def _weights(self, count: Array, prior: Any) -> Array:
        if prior is not None:
            count = np.maximum(count + np.broadcast_to(prior.alpha, count.shape) - 1.0, 0.0)
        total = count.sum()
        return np.asarray(count / total if total > 0 else self.weights)


def _with_views(stack: Any, rows: Any) -> list[tuple[Any, Any]]:
    """The members, each with the rows as it reads them."""
    if isinstance(stack, Stack):
        return list(zip(stack.each, stack.views(rows), strict=True))
    return [(stack.each[0], rows)]
