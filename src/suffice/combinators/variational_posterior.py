"""The variational posterior of a mixture: its prior, where the climb begins, and what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.combinators.mixture import Mixture
from suffice.combinators.posterior_table import page, portrait
from suffice.combinators.shares import DirichletShares, KnownShares
from suffice.combinators.stack import Stack
from suffice.combinators.starts import SPARE, shares_of
from suffice.combinators.variational import VariationalMixture, largest_first, owned, posterior_of
from suffice.core.distribution import Alert
from suffice.core.em import Climb, Trace, climb
from suffice.core.errors import UnsupportedError
from suffice.core.parameters import Array
from suffice.core.portrait import Portrait
from suffice.core.rich_text import Page
from suffice.core.weights import Weights
from suffice.distributions.dirichlet import Dirichlet

SORTED = 5  # most climbs that go on with the members by falling weight, where weights have an order


@dataclass(frozen=True, eq=False)
class VariationalPosterior(Page):
    """What to believe of a mixture after the data, members and weights independently; accepted as a prior.

    Attributes
    ----------
    weights, count
        The expected weight of each member, and the expected number of rows that it made; superfluous ones have none.
    components
        The members as a stack, at the expected natural parameters.
    belief
        The beliefs, ``{"weights": …, "components": …}``.
    log_evidence
        A lower bound of the log marginal likelihood of the data; that itself for one component.
    trace, converged, n_iter
        What each pass saw; ``trace.objective`` is the bound.
    alerts
        ``(code, text)`` pairs: what a reader must know before trusting it.
    """

    mixture: VariationalMixture = field(repr=False)
    statistics: Any = field(repr=False)
    log_evidence: float
    trace: Trace = field(repr=False)
    converged: bool = True
    alerts: tuple[Alert, ...] = ()

    @property
    def weights(self) -> Array:
        return np.asarray(self.mixture.weights)

    @property
    def count(self) -> Array:
        return np.asarray(self.statistics.count)

    @property
    def components(self) -> Any:
        return self.mixture.components

    @property
    def n_iter(self) -> int:
        return self.trace.passes

    @property
    def belief(self) -> dict[str, Any]:
        return {"weights": self.mixture.shares.belief, "components": self.mixture.beliefs}

    @property
    def prior(self) -> dict[str, Any]:
        """The prior of weights and members, as it was settled."""
        return {"weights": self.mixture.prior["weights"].belief, "components": self.mixture.prior["components"]}

    @property
    def mean(self) -> dict[str, Any]:
        """The expected weights, and the expected parameters of the members."""
        return {"weights": self.weights, "components": self.mixture.beliefs.mean}

    @property
    def std(self) -> dict[str, Any]:
        """The standard deviations of the weights, and of the parameters of the members."""
        return {"weights": self.mixture.shares.std, "components": self.mixture.beliefs.std}

    def interval(self, level: float = 0.95) -> dict[str, Any]:
        """Central credible intervals (low, high): of each weight by itself, and of the members' parameters."""
        return {"weights": self.mixture.shares.interval(level), "components": self.mixture.beliefs.interval(level)}

    def sample(self, n: int = 1, random_state: Any = None) -> dict[str, Any]:
        """Draw weights (n, k) and parameters of the members."""
        rng = np.random.default_rng(random_state)
        return {"weights": self.mixture.shares.sample(n, rng), "components": self.mixture.beliefs.sample(n, rng)}

    def predictive(self) -> Mixture:
        """The distribution of a new row: the members' predictives, mixed by the expected weights."""
        return self.mixture.predictive

    def predict_proba(self, x: Any) -> Array:
        """The probability that each member made a row, (n, k), as the bound shares rows out."""
        return self.mixture.predict_proba(x)

    def predict(self, x: Any) -> Any:
        """The most probable member of each row, (n,)."""
        return self.mixture.predict(x)

    def portrait(self) -> Portrait:
        """What there is to say about the belief, as values: members that have rows, at their expected parameters."""
        return portrait(self)

    def summary(self, width: int | None = None, *, errors: bool = False) -> str:
        """The belief as a page of text; with ``errors`` also what is believed of every parameter."""
        return page(self, width, errors=errors)

    def _repr_html_(self) -> str:
        """Show the belief as a table in a notebook."""
        from suffice.core.html import of_portrait

        return of_portrait(self.portrait())

    def __str__(self) -> str:
        """Show the summary."""
        return self.summary()

    def __repr__(self) -> str:
        """Show the members, their weights and the bound on one line."""
        shown = np.array2string(self.weights, precision=4, separator=", ", threshold=12, edgeitems=2)
        codes = ", ".join(code for code, _ in self.alerts)
        alerts = f", alerts: {codes}" if codes else ""
        kind = self.components.name
        return f"VariationalPosterior({kind}, weights={shown}, log_evidence ≥ {self.log_evidence:.6g}{alerts})"


def believe(mixture: Any, rows: Any, weights: Weights, prior: Any, options: dict[str, Any]) -> VariationalPosterior:
    """The variational posterior of a mixture: the best of ``n_init`` climbs of the evidence bound."""
    if mixture.hard:
        msg = "hard=True gives each row to one member as a whole; a belief shares rows out. Leave it out."
        raise UnsupportedError(msg)
    model = mixture.shaped(rows)
    settled = settle(model, rows, weights, prior)
    rng = np.random.default_rng(options["random_state"])
    start = prior.mixture if options["start"] is None and isinstance(prior, VariationalPosterior) else options["start"]
    tol = VariationalMixture.tolerance if options["tol"] is None else options["tol"]
    found: list[tuple[Climb, tuple[Alert, ...]]] = []
    free = start is None or isinstance(start, str)
    ordered = free and not settled["weights"].exchangeable and not isinstance(model.components, Stack)

    def climbed(first: VariationalMixture) -> Climb:
        more = {"accelerate": options["accelerate"], "callback": options["callback"]}
        return climb(first, first.staged(rows), weights, None, options["max_iter"], tol, **more)

    for _ in range(options["n_init"]):
        first, notes = begin(model, rows, weights, rng, start, settled)
        path = climbed(first)
        for _ in range(SORTED if ordered and path.converged else 0):
            after = climbed(posterior_of(path.distribution, largest_first(path.statistics), settled))
            if not after.trace.objective[-1] > path.trace.objective[-1] + 1e-6 * abs(path.trace.objective[-1]):
                break
            path = after
        found.append((path, notes))
    path, notes = max(found, key=lambda one: one[0].worth)
    learned, stats = path.distribution, path.statistics
    if free:
        learned, stats = learned.in_order(stats)
    alerts = list(notes)
    if path.fell:
        alerts.append(("fell", f"{path.reason}; what stands here is the best before it."))
    elif not path.converged:
        alerts.append(("not converged", f"{path.reason}, before the bound was flat; raise max_iter or run it longer."))
    return VariationalPosterior(
        learned, stats, float(path.trace.objective[-1]), path.trace, path.converged, tuple(alerts)
    )


def settle(model: Any, rows: Any, weights: Weights, prior: Any) -> dict[str, Any]:
    """The prior of the weights, for as many members as there are, and that of the members."""
    if isinstance(prior, VariationalPosterior):
        prior = prior.belief
    if isinstance(prior, str):
        prior = {"components": prior}
    given = dict(prior) if isinstance(prior, dict) else prior
    own = given.pop("weights") if isinstance(given, dict) and hasattr(given.get("weights"), "after") else None
    given = model.priors(given)
    if given.get("components") is None:
        msg = "the prior says nothing of the components: give {'components': …} beside the weights, or 'weak'."
        raise UnsupportedError(msg)
    components = model.settle_prior({"components": given["components"]}, rows, weights)["components"]
    _check_conjugate(model.components, components)
    shares: Any = own or DirichletShares(given.get("weights") or Dirichlet(np.array([1.0 / model.n])))
    if "weights" in model.fixed:
        shares = KnownShares(model.weights)
    return {"weights": shares.of(model.n), "components": components}


def _check_conjugate(stack: Any, prior: Any) -> None:
    """Refuse a prior under which a member's belief has no closed form."""
    if isinstance(stack, Stack):
        prior = list(stack.priors(prior))
    if stack.blocks and isinstance(prior, (dict, list)):
        for key, one in prior.items() if isinstance(prior, dict) else enumerate(prior):
            if key in stack.blocks:
                _check_conjugate(stack.blocks[key], one)
        return
    belief = getattr(prior, "belief", prior)
    if stack.blocks or isinstance(belief, stack.conjugates):
        return
    kinds = " or ".join(dict.fromkeys(one.__name__ for one in stack.conjugates)) or "none"
    msg = (
        f"the belief about a mixture needs a conjugate prior of its components, and {stack.name} has {kinds}; got "
        f"{prior!r:.60}. sf.fit(…, prior='weak') leaves such members without one."
    )
    raise UnsupportedError(msg)


def begin(
    model: Any, rows: Any, weights: Weights, rng: Any, start: Any, prior: dict[str, Any]
) -> tuple[VariationalMixture, tuple[Alert, ...]]:
    """The first belief: the posterior of the rows as the start shares them out, and what to tell about it."""
    if isinstance(start, VariationalMixture):
        return posterior_of(start, start.suffstats(rows, weights), prior), ()
    if start is None or isinstance(start, (str, Mixture)) or hasattr(start, "specs"):
        first, notes = model.begin(rows, weights, rng, SPARE if start is None else start, None)
        stats = first.suffstats(rows, weights)
        if (start is None or isinstance(start, str)) and not isinstance(first.components, Stack):
            stats = largest_first(stats)
    else:
        first, notes = model, ()
        stats = owned(model, rows, Weights.of(shares_of(model, rows, start) * weights.dense(), len(rows)))
    return posterior_of(first, stats, prior), notes
