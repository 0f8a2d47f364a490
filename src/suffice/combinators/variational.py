"""Variational Bayes: what to believe of a mixture's weights and members, by the same loop as EM.

The belief is q(π) Π q(θ_j), each conjugate. Given it, a row is shared out by E[log π_j] + E[log p(x | θ_j)], which is
the log density of a member plus an offset; given the statistics of the rows so shared, each belief is its prior's
posterior. Both steps raise one lower bound of the log evidence, so the loop climbs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from suffice.combinators.mixture import Mixture
from suffice.combinators.shares import DirichletShares, KnownShares, StickBreaking
from suffice.combinators.starts import shares_of
from suffice.core.distribution import Alert
from suffice.core.em import Climb, Trace, climb
from suffice.core.errors import UnsupportedError
from suffice.core.latent import Joint, share_out
from suffice.core.parameters import Array
from suffice.core.weights import Weights
from suffice.distributions.dirichlet import Dirichlet
from suffice.engines import local


@dataclass(frozen=True, eq=False, repr=False)
class VariationalMixture(Mixture, register=False):
    """A mixture whose weights and members are only believed, as the loop sees it.

    Its ``components`` stand at the expected natural parameters and its ``weights`` at the expected weights; rows are
    scored with what is lost by not being sure of either.
    """

    beliefs: Any = field(default=None, kw_only=True)  # the posterior of the members
    shares: Any = field(default=None, kw_only=True)  # the belief about the weights
    prior: Any = field(default=None, kw_only=True)  # of both, by name
    offset: Any = field(default=None, kw_only=True)  # (k, d), of each cell's log density

    @classmethod
    def of(cls, beliefs: Any, shares: Any, prior: dict[str, Any]) -> Self:
        """The mixture of a belief about the members and one about the weights."""
        members, offset = beliefs.expected_member()
        return cls(members, weights=shares.mean, beliefs=beliefs, shares=shares, prior=prior, offset=offset)

    @cached_property
    def log_weights(self) -> Array:
        """E log π (k,)."""
        return np.asarray(self.shares.log)

    @property
    def guarded(self) -> bool:
        return not getattr(self.prior["components"], "ridge", 0.0)

    # ---- rows ---------------------------------------------------------------------------------------------------
    def _base(self, x: Any) -> Array:
        """What scores have beside the members' log densities: (k,), or (n, k) where rows have different offsets."""
        exposure = self.components.exposure(x)
        own = self.offset.sum(axis=1) if exposure is None else exposure @ self.offset.T
        return np.asarray(self.log_weights + own)

    def scores(self, x: Any) -> Array:
        return np.asarray(self.components.log_density(x) + self._base(x))

    def gather(self, x: Any, w: Weights) -> Joint:
        found = self.components.expect(x, self._base(x), w.of_member(0).values)
        evidence, entropy = np.array([found.log_likelihood]), np.array([found.entropy])
        return Joint(found.count, found.statistics, evidence, entropy)

    def log_density(self, x: Any) -> Array:
        return self.predictive.log_density(x)

    def row_bounds(self, x: Any) -> Array:
        """What each row adds to the bound, (n,): log Σ exp(E log π + E log p), less than its log density."""
        rows = self.read(x)
        return local.fill(lambda part: share_out(self.scores(rows[part])).total, len(rows), self._width(rows))

    @property
    def at_expected(self) -> Mixture:
        """The mixture at the expected weights and natural parameters."""
        return Mixture(self.components, weights=self.weights)

    @cached_property
    def predictive(self) -> Mixture:
        """The distribution of a new row, weights and parameters averaged over the beliefs."""
        return Mixture(self.beliefs.predictive(), weights=self.weights)

    def sample_with_members(self, n: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        return self.predictive.sample_with_members(n, random_state)

    # ---- learning -----------------------------------------------------------------------------------------------
    def estimate(self, stats: Any, prior: Any = None) -> Self:
        """The beliefs after the statistics; the prior is the one that the first of them was made with."""
        del prior
        self.check_owner(stats)
        beliefs = self.components.posterior(stats.members, self.prior["components"])
        return type(self).of(beliefs, self.prior["weights"].after(stats.count), self.prior)

    @cached_property
    def learned(self) -> float:
        """D(belief‖prior) of weights and members together, in nats."""
        return float(self.shares.divergence(self.prior["weights"]) + np.sum(self.beliefs.divergence()))

    def evidence(self, stats: Any) -> float:
        """A lower bound of the log evidence, from the pass that gathered the statistics."""
        return float(stats.evidence[0]) - self.learned

    def log_likelihood(self, stats: Any) -> Any:
        """The same bound from the statistics alone, under any belief."""
        self.check_owner(stats)
        with np.errstate(invalid="ignore"):
            chosen = np.where(stats.count > 0, stats.count * self.log_weights, 0.0).sum()
        made = np.sum(self.components.log_likelihood(stats.members))
        lost = np.sum(self.components.exposed(stats.members) * self.offset)
        return float(chosen + made + lost + stats.entropy[0] - self.learned)

    def distance(self, other: Any) -> float:
        moved = float(self.components.distance(other.components))
        return max(float(np.abs(self.weights - other.weights).max()), moved)

    def sound(self, stats: Any) -> bool:
        del stats
        return True

    def in_order(self, stats: Any) -> tuple[Any, Any]:
        return super().in_order(stats) if _exchangeable(self.prior) else (self, stats)

    def permuted(self, order: Any) -> Self:
        order = np.asarray(order)
        return type(self).of(self.beliefs.chosen(order), self.shares.permuted(order), self.prior)

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        del stats
        return ()

    def log_prior(self, prior: Any) -> Array:
        """0: the prior is in the bound."""
        del prior
        return np.zeros(())

    def __eq__(self, other: object) -> bool:
        """Equal when of equal members with equal weights."""
        return super().__eq__(other)

    def __hash__(self) -> int:
        """Hash of the members and weights."""
        return super().__hash__()


@dataclass(frozen=True, eq=False)
class VariationalPosterior:
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
    for _ in range(options["n_init"]):
        first, notes = begin(model, rows, weights, rng, start, settled)
        path = climb(
            first,
            first.staged(rows),
            weights,
            None,
            options["max_iter"],
            tol,
            accelerate=options["accelerate"],
            callback=options["callback"],
        )
        found.append((path, notes))
    path, notes = max(found, key=lambda one: one[0].rank)
    learned, stats = path.distribution, path.statistics
    if start is None or isinstance(start, str):
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
    broken = (
        given.pop("weights") if isinstance(given, dict) and isinstance(given.get("weights"), StickBreaking) else None
    )
    given = model.priors(given)
    if given.get("components") is None:
        msg = "the prior says nothing of the components: give {'components': …} beside the weights, or 'weak'."
        raise UnsupportedError(msg)
    components = _named(given["components"], lambda: model.settle_prior("weak", rows, weights)["components"])
    _check_conjugate(model.components, components)
    shares: Any = broken or DirichletShares(given.get("weights") or Dirichlet(np.array([1.0 / model.n])))
    if "weights" in model.fixed:
        shares = KnownShares(model.weights)
    return {"weights": shares.of(model.n), "components": components}


def _named(prior: Any, weak: Callable[[], Any]) -> Any:
    """The prior with what names stand for: from all rows, and the same in every pass."""
    if isinstance(prior, str):
        if prior != "weak":
            msg = f"prior={prior!r} is not known; the only prior with a name is 'weak'."
            raise UnsupportedError(msg)
        return weak()
    if isinstance(prior, dict):
        return {key: _named(one, partial(_part, weak, key)) for key, one in prior.items()}
    return prior


def _part(whole: Callable[[], Any], key: Any) -> Any:
    return whole()[key]


def _check_conjugate(stack: Any, prior: Any) -> None:
    """Refuse a prior under which a member's belief has no closed form."""
    if stack.blocks and isinstance(prior, dict):
        for key, one in prior.items():
            if key in stack.blocks:
                _check_conjugate(stack.blocks[key], one)
        return
    belief = getattr(prior, "belief", prior)
    if stack.blocks or isinstance(belief, stack.conjugates):
        return
    kinds = " or ".join(dict.fromkeys(one.__name__ for one in stack.conjugates)) or "none"
    msg = (
        f"the belief about a mixture needs a conjugate prior of its components, and {stack.name} has {kinds}; got "
        f"{prior!r:.60}. sf.fit(…, prior=…) takes any prior."
    )
    raise UnsupportedError(msg)


def begin(
    model: Any, rows: Any, weights: Weights, rng: Any, start: Any, prior: dict[str, Any]
) -> tuple[VariationalMixture, tuple[Alert, ...]]:
    """The first belief: the posterior of the rows as the start shares them out, and what to tell about it."""
    if isinstance(start, VariationalMixture):
        return posterior_of(start, start.suffstats(rows, weights), prior), ()
    if start is None or isinstance(start, (str, Mixture)) or hasattr(start, "specs"):
        first, notes = model.begin(rows, weights, rng, start, None)
        stats = first.suffstats(rows, weights)
    else:
        first, notes = model, ()
        stats = owned(model, rows, Weights.of(shares_of(model, rows, start) * weights.dense(), len(rows)))
    return posterior_of(first, stats, prior), notes


def _exchangeable(prior: dict[str, Any]) -> bool:
    """Whether the prior says the same of every member, so that they may change places."""
    return bool(prior["weights"].exchangeable) and all(_alike(one) for one in _each(prior["components"]))


def _each(prior: Any) -> list[Any]:
    nested = prior.values() if isinstance(prior, dict) else getattr(prior, "beliefs", {}).values()
    return list(nested) or [prior]


def _alike(prior: Any) -> bool:
    belief = getattr(prior, "belief", prior)
    return bool(getattr(belief, "lone", False) or getattr(belief, "members", 0) == 1)


def owned(model: Any, rows: Any, shares: Weights) -> Joint:
    """The statistics of rows whose owners are known, as a whole or in parts."""
    members = model.components.suffstats(rows, shares)
    return Joint(shares.member_totals(), members, np.zeros(1), np.zeros(1))


def posterior_of(model: Any, stats: Joint, prior: dict[str, Any]) -> VariationalMixture:
    """The belief after the statistics of a first sharing out."""
    beliefs = model.components.posterior(stats.members, prior["components"])
    return VariationalMixture.of(beliefs, prior["weights"].after(stats.count), prior)
