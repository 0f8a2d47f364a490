"""The variational posterior of a mixture: its prior, where the climb begins, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.combinators.mixture import Mixture
from suffice.combinators.posterior_table import ROW, page, portrait
from suffice.combinators.shares import DirichletShares, KnownShares
from suffice.combinators.stack import Stack
from suffice.combinators.starts import SPARE, shares_of
from suffice.combinators.variational import VariationalMixture, largest_first, owned, posterior_of
from suffice.core.distribution import Alert
from suffice.core.em import Climb, Trace, climb
from suffice.core.errors import UnsupportedError
from suffice.core.names import by_name, with_names
from suffice.core.parameters import Array
from suffice.core.portrait import Portrait
from suffice.core.posterior import named_columns
from suffice.core.rich_text import Page
from suffice.core.weights import Weights
from suffice.distributions.dirichlet import Dirichlet

SORTED = 5  # most climbs that go on with the members by falling weight, where weights have an order
OVERLAP = 0.05  # nats that a row leaves open about its component, on average, before intervals are much too narrow
LEFT_OUT = 2  # components, the smallest first, that are left out one by one before none of them seems superfluous


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
    column_names
        The names of the data's columns, by which the predictive answers and rows are read; None where they had none.
    """

    mixture: VariationalMixture = field(repr=False)
    statistics: Any = field(repr=False)
    log_evidence: float
    trace: Trace = field(repr=False)
    converged: bool = True
    alerts: tuple[Alert, ...] = ()
    column_names: tuple[Any, ...] | None = None

    def with_column_names(self, names: tuple[Any, ...]) -> VariationalPosterior:
        """The same belief, which calls the columns by these names, and finds them by these in rows."""
        alerts = tuple((code, with_names(text, names)) for code, text in self.alerts)
        return replace(self, column_names=names, alerts=alerts)

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
        """The standard deviations of the weights, and of the parameters of the members; see :meth:`interval`."""
        return {"weights": self.mixture.shares.std, "components": self.mixture.beliefs.std}

    def interval(self, level: float = 0.95) -> dict[str, Any]:
        """Central credible intervals (low, high): of each weight by itself, and of the members' parameters.

        They are too narrow where components overlap, and an alert says so: the belief leaves out how parameters and
        the components of rows depend on each other.
        """
        return {"weights": self.mixture.shares.interval(level), "components": self.mixture.beliefs.interval(level)}

    def sample(self, n: int = 1, random_state: Any = None) -> dict[str, Any]:
        """Draw weights (n, k) and parameters of the members."""
        rng = np.random.default_rng(random_state)
        return {"weights": self.mixture.shares.sample(n, rng), "components": self.mixture.beliefs.sample(n, rng)}

    def predictive(self) -> Mixture:
        """The distribution of a new row: the members' predictives, mixed by the expected weights."""
        found: Mixture = named_columns(self.mixture.predictive, self.column_names)
        return found

    def predict_proba(self, x: Any) -> Array:
        """The probability that each member made a row, (n, k), as the bound shares rows out."""
        return self.mixture.predict_proba(by_name(x, self.column_names))

    def predict(self, x: Any) -> Any:
        """The most probable member of each row, (n,)."""
        return self.mixture.predict(by_name(x, self.column_names))

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
    start = prior.mixture if options["start"] is None and isinstance(prior, VariationalPosterior) else options["start"]
    free = start is None or isinstance(start, str)
    found: list[tuple[Climb, tuple[Alert, ...]]] = []
    alerts: list[Alert] = []
    try:
        _climbs(found, model, rows, weights, settled, {**options, "start": start})
    except KeyboardInterrupt:
        if not found:
            raise
        text = f"interrupted after {len(found)} of {options['n_init']} starts; what stands here is the best of them."
        alerts.append(("interrupted", text))
    path, notes = max(found, key=lambda one: one[0].height)
    learned, stats = path.distribution, path.statistics
    if free:
        learned, stats = learned.in_order(stats)
    if path.fell:
        alerts.append(("fell", f"{path.reason}; what stands here is the best before it."))
    elif not path.converged:
        alerts.append(("not converged", f"{path.reason}, before the bound was flat; raise max_iter or run it longer."))
    alerts.extend(_narrow(stats))
    height = float(path.trace.objective[-1])
    return VariationalPosterior(learned, stats, height, path.trace, path.converged, (*notes, *alerts))


def _narrow(stats: Any) -> tuple[Alert, ...]:
    """What to tell of intervals where components overlap: they are too narrow by construction."""
    shared = float(stats.entropy[0]) / max(float(stats.count.sum()), 1e-300)
    if (stats.count >= ROW).sum() < 2 or shared < OVERLAP:
        return ()
    text = (
        "standard deviations and intervals are too narrow: components overlap, and the belief takes the parameters to "
        "be independent of which component made each row (on average a row leaves "
        f"{shared:.2g} nats open). The standard errors of sf.fit(…) account for it."
    )
    return (("narrow", text),)


def _climbs(
    found: list[Any], model: Any, rows: Any, weights: Weights, prior: dict[str, Any], options: dict[str, Any]
) -> None:
    """Add a climb from every start to those found, with what to tell about it.

    Where weights have an order, each goes on with the members by falling weight as long as that leads higher.
    """
    rng, start = np.random.default_rng(options["random_state"]), options["start"]
    tol = VariationalMixture.tolerance if options["tol"] is None else options["tol"]
    free = start is None or isinstance(start, str)
    ordered = free and not prior["weights"].exchangeable and not isinstance(model.components, Stack)

    def climbed(first: VariationalMixture) -> Climb:
        more = {"accelerate": options["accelerate"], "callback": options["callback"]}
        return climb(first, first.staged(rows), weights, None, options["max_iter"], tol, **more)

    for _ in range(options["n_init"]):
        first, notes = begin(model, rows, weights, rng, start, prior)
        found.append((climbed(first), notes))
        path = found[-1][0].heeded()
        for _ in range(SORTED if ordered and path.converged else 0):
            after = climbed(posterior_of(path.distribution, largest_first(path.statistics), prior)).heeded()
            if not _higher(after, path):
                break
            found[-1], path = (after, notes), after
        if free:
            found[-1] = (_fewer(path, rows, weights, prior, climbed), notes)


def _higher(after: Climb, before: Climb) -> bool:
    reached, known = (float(one.trace.objective[-1]) for one in (after, before))
    return reached > known + 1e-6 * abs(known)


def _fewer(path: Climb, rows: Any, weights: Weights, prior: dict[str, Any], climbed: Callable[..., Climb]) -> Climb:
    """The climb, or a higher one without some of its components, the smallest first."""
    while path.converged:
        count = np.asarray(path.statistics.count)
        seen = [int(j) for j in np.argsort(count, kind="stable") if count[j] >= ROW]
        for component in seen[:-1][:LEFT_OUT]:
            begin = path.distribution.without(component)
            after = climbed(posterior_of(path.distribution, begin.suffstats(rows, weights), prior)).heeded()
            if _higher(after, path):
                path = after
                break
        else:
            return path
    return path


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
