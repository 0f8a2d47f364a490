"""The variational posterior of a mixture: its prior, where the run begins, and what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from suffice.bayes.posterior import named_columns
from suffice.core.family import Family
from suffice.core.responsibilities import Joint
from suffice.display.rich_text import Page
from suffice.display.summary import Summary
from suffice.distributions.dirichlet import Dirichlet
from suffice.em.init.starts import SPARE, shares_of
from suffice.em.loop import EMResult, run_em
from suffice.em.restarts import best_of_restarts
from suffice.em.trace import Trace
from suffice.em.training import TrainingData
from suffice.errors import UnsupportedError
from suffice.models.mixture import Mixture
from suffice.models.posterior_table import ROW, page, summarize
from suffice.models.stack import Stack
from suffice.models.variational import VariationalMixture, largest_first, posterior_of, tag_assignments
from suffice.models.weight_posterior import DirichletShares, KnownShares
from suffice.statistics.weights import Weights
from suffice.tables.column_names import by_name
from suffice.types import Alert, Array, Data, Prior, Rows, Seed

SORTED = 5  # most runs that go on with the components by falling weight, where weights have an order
OVERLAP = 0.05  # nats that a row leaves open about its component, on average, before intervals are much too narrow
LEFT_OUT = 2  # components, the smallest first, that are left out one by one before none of them seems superfluous


@dataclass(frozen=True, eq=False)
class VariationalPosterior(Page):
    """What to believe of a mixture after the data, components and weights independently; accepted as a prior.

    Attributes
    ----------
    weights, count
        The expected weight of each component, and the expected number of rows that it made; superfluous ones have none.
    components
        The components as a stack, at the expected natural parameters.
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
        return replace(self, column_names=names, alerts=tuple(alert.with_names(names) for alert in self.alerts))

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
        """The prior of weights and components, as it was resolved."""
        return {"weights": self.mixture.prior["weights"].belief, "components": self.mixture.prior["components"]}

    @property
    def mean(self) -> dict[str, Any]:
        """The expected weights, and the expected parameters of the components."""
        return {"weights": self.weights, "components": self.mixture.beliefs.mean}

    @property
    def std(self) -> dict[str, Any]:
        """The standard deviations of the weights, and of the parameters of the components; see :meth:`interval`."""
        return {"weights": self.mixture.shares.std, "components": self.mixture.beliefs.std}

    def interval(self, level: float = 0.95) -> dict[str, Any]:
        """Central credible intervals (low, high): of each weight by itself, and of the components' parameters.

        They are too narrow where components overlap, and an alert says so: the belief leaves out how parameters and
        the components of rows depend on each other.
        """
        return {"weights": self.mixture.shares.interval(level), "components": self.mixture.beliefs.interval(level)}

    def sample(self, n: int = 1, random_state: Seed = None) -> dict[str, Any]:
        """Draw weights (n, k) and parameters of the components."""
        rng = np.random.default_rng(random_state)
        return {"weights": self.mixture.shares.sample(n, rng), "components": self.mixture.beliefs.sample(n, rng)}

    def predictive(self) -> Mixture:
        """The distribution of a new row: the components' predictives, mixed by the expected weights."""
        found: Mixture = named_columns(self.mixture.predictive, self.column_names)
        return found

    def predict_proba(self, x: Data) -> Array:
        """The probability that each component made a row, (n, k), as the bound shares rows out."""
        return self.mixture.predict_proba(by_name(x, self.column_names))

    def predict(self, x: Data) -> Any:
        """The most probable component of each row, (n,)."""
        return self.mixture.predict(by_name(x, self.column_names))

    def summarize(self) -> Summary:
        """What there is to say about the belief, as values: components that have rows, at their expected parameters."""
        return summarize(self)

    def summary(self, width: int | None = None, *, errors: bool = False) -> str:
        """The belief as a page of text; with ``errors`` also what is believed of every parameter."""
        return page(self, width, errors=errors)

    def _repr_html_(self) -> str:
        """Show the belief as a table in a notebook."""
        from suffice.display.html import of_summary

        return of_summary(self.summarize())

    def __str__(self) -> str:
        """Show the summary."""
        return self.summary()

    def __repr__(self) -> str:
        """Show the components, their weights and the bound on one line."""
        shown = np.array2string(self.weights, precision=4, separator=", ", threshold=12, edgeitems=2)
        codes = ", ".join(code for code, _ in self.alerts)
        alerts = f", alerts: {codes}" if codes else ""
        kind = self.components.name
        return f"VariationalPosterior({kind}, weights={shown}, log_evidence ≥ {self.log_evidence:.6g}{alerts})"


def believe(
    mixture: Mixture, rows: Rows, weights: Weights, prior: Prior, options: dict[str, Any]
) -> VariationalPosterior:
    """The variational posterior of a mixture: the best of ``n_init`` runs that raise the evidence bound."""
    if mixture.hard:
        msg = "hard=True gives each row to one component as a whole; a belief shares rows out. Leave it out."
        raise UnsupportedError(msg)
    model = mixture.for_data(rows)
    resolved = resolve(model, rows, weights, prior)
    start = prior.mixture if options["start"] is None and isinstance(prior, VariationalPosterior) else options["start"]
    free = start is None or isinstance(start, str)
    alerts: list[Alert] = []
    run = _runner(model, rows, weights, resolved, {**options, "start": start})
    restarts = best_of_restarts(run, options["n_init"], lambda one: one.objective)
    if restarts.interrupted:
        count = len(restarts.runs)
        text = f"interrupted after {count} of {restarts.asked} starts; what stands here is the best of them."
        alerts.append(Alert("interrupted", text, interrupted=True))
    path, notes = restarts.best, restarts.best.alerts
    learned, stats = path.distribution, path.statistics
    if free:
        learned, stats = learned.in_order(stats)
    if path.fell:
        alerts.append(Alert("fell", f"{path.reason}; what stands here is the best before it."))
    elif not path.converged:
        text = f"{path.reason}, before the bound was flat; raise max_iter or run it longer."
        alerts.append(Alert("not converged", text, interrupted=path.interrupted))
    alerts.extend(_narrow(stats))
    bound = float(path.trace.objective[-1])
    return VariationalPosterior(learned, stats, bound, path.trace, path.converged, (*notes, *alerts))


def _narrow(stats: Joint) -> tuple[Alert, ...]:
    """What to tell of intervals where components overlap: they are too narrow by construction."""
    shared = float(stats.entropy[0]) / max(float(stats.count.sum()), 1e-300)
    if (stats.count >= ROW).sum() < 2 or shared < OVERLAP:
        return ()
    text = (
        "standard deviations and intervals are too narrow: components overlap, and the belief takes the parameters to "
        "be independent of which component made each row (on average a row leaves "
        f"{shared:.2g} nats open). The standard errors of sf.fit(…) account for it."
    )
    return (Alert("narrow", text),)


def _runner(
    model: Mixture, rows: Rows, weights: Weights, prior: dict[str, Any], options: dict[str, Any]
) -> Callable[[tuple[EMResult, ...]], EMResult]:
    """What makes one run from a start.

    Where weights have an order, it goes on with the components by falling weight as long as that leads higher.
    """
    rng, start = np.random.default_rng(options["random_state"]), options["start"]
    tol = VariationalMixture.tolerance if options["tol"] is None else options["tol"]
    free = start is None or isinstance(start, str)
    ordered = free and not prior["weights"].exchangeable and not isinstance(model.components, Stack)

    def run_from(first: VariationalMixture) -> EMResult:
        more = {"accelerate": options["accelerate"], "callback": options["callback"]}
        data = TrainingData(first.preprocess(rows), weights)
        return run_em(first, data, max_iter=options["max_iter"], tol=tol, **more)

    def improvements(path: EMResult) -> Iterator[EMResult]:
        for _ in range(SORTED if ordered and path.converged else 0):
            begin = posterior_of(path.distribution, largest_first(path.statistics), prior)
            after = run_from(begin).raise_if_interrupted()
            if not _higher(after, path):
                break
            path = after
            yield path
        if free:
            yield _fewer(path, rows, weights, prior, run_from)

    def run(_: tuple[EMResult, ...]) -> EMResult:
        first, alerts = initialize(model, rows, weights, rng, start, prior)
        path = run_from(first)
        try:
            for better in improvements(path) if not path.interrupted else ():
                path = better
        except KeyboardInterrupt:
            path = replace(path, interrupted=True)
        return replace(path, alerts=alerts)

    return run


def _higher(after: EMResult, before: EMResult) -> bool:
    reached, known = (float(one.trace.objective[-1]) for one in (after, before))
    return reached > known + 1e-6 * abs(known)


def _fewer(
    path: EMResult, rows: Rows, weights: Weights, prior: dict[str, Any], run_from: Callable[..., EMResult]
) -> EMResult:
    """The run, or a higher one without some of its components, the smallest first."""
    while path.converged:
        count = np.asarray(path.statistics.count)
        seen = [int(j) for j in np.argsort(count, kind="stable") if count[j] >= ROW]
        for component in seen[:-1][:LEFT_OUT]:
            begin = path.distribution.without(component)
            after = run_from(
                posterior_of(path.distribution, begin.suffstats(rows, weights), prior)
            ).raise_if_interrupted()
            if _higher(after, path):
                path = after
                break
        else:
            return path
    return path


def resolve(model: Mixture, rows: Rows, weights: Weights, prior: Prior) -> dict[str, Any]:
    """The prior of the weights, for as many components as there are, and that of the components."""
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
    components = model.resolve_prior({"components": given["components"]}, rows, weights)["components"]
    _check_conjugate(model.components, components)
    shares: Any = own or DirichletShares(given.get("weights") or Dirichlet(np.array([1.0 / model.n])))
    if "weights" in model.fixed:
        shares = KnownShares(model.weights)
    return {"weights": shares.of(model.n), "components": components}


def _check_conjugate(stack: Family, prior: Prior) -> None:
    """Refuse a prior under which a component's belief has no closed form."""
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
        f"{prior!r:.60}. sf.fit(…, prior='weak') gives one estimate."
    )
    raise UnsupportedError(msg)


def initialize(
    model: Mixture, rows: Rows, weights: Weights, rng: np.random.Generator, start: object, prior: dict[str, Any]
) -> tuple[VariationalMixture, tuple[Alert, ...]]:
    """The first belief: the posterior of the rows as the start shares them out, and what to tell about it."""
    if isinstance(start, VariationalMixture):
        return posterior_of(start, start.suffstats(rows, weights), prior), ()
    if start is None or isinstance(start, (str, Mixture)) or hasattr(start, "specs"):
        first, notes = model.initialize(rows, weights, rng, SPARE if start is None else start, None)
        stats = first.suffstats(rows, weights)
        if (start is None or isinstance(start, str)) and not isinstance(first.components, Stack):
            stats = largest_first(stats)
    else:
        first, notes = model, ()
        stats = tag_assignments(model, rows, Weights.of(shares_of(model, rows, start) * weights.dense(), len(rows)))
    return posterior_of(first, stats, prior), notes
