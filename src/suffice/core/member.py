"""What a distribution does as a member of others: share rows with its neighbours, keep off the floor, change places.

Over 400 lines: the whole contract of a member, with its defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from suffice.core import latent
from suffice.core.answers import Answers
from suffice.core.cells import Part
from suffice.core.errors import ParameterError, UnsupportedError
from suffice.core.parameters import Array
from suffice.core.separation import Separation
from suffice.core.sketch import opening
from suffice.engines import local
from suffice.kernels import choosing

TRACE = 1e-3  # of a row: a probability that stands for less than it is on its way to 0, and passes ended before it came
WITHIN = 1.959963984540054  # standard errors to both sides of 95 %
SHARPEST = 1e5  # no member is narrower than a three-hundredth of all rows, as far as its family has no floor of its own


@dataclass(frozen=True, eq=False, repr=False)
class Member(Answers):
    """The part of the contract that mixtures and the loop ask for; every family inherits a general answer."""

    quick_quantiles: ClassVar[bool] = True  # whether they have a formula, so that a page may ask for many
    tolerance: ClassVar[float | None] = None  # relative change of log L that counts as flat; None: only rounding does

    def expect(self, x: Any, log_weights: Array, weights: Array | None = None) -> latent.Expectation:
        """One E-step over rows of the stack: (log-likelihood, entropy of the responsibilities, statistics).

        Parameters
        ----------
        x
            Rows in the form that ``read`` gives.
        log_weights
            Log probability of each member, (k,), or (n, k) for each row; −inf forbids a member.
        weights
            One per row, (n,).
        """
        return latent.expect(self, x, np.asarray(log_weights), weights)

    def best(self: Any, x: Any, log_weights: Array) -> Array:
        """The member of the highest score log π + log p(x) for each row of a block, (n,); −1 where all are −inf."""
        return choosing.chosen(self.relative_density(x) + log_weights)

    def in_cells(self, x: Any) -> Part | None:
        """A block of rows whose log-density is a sum over cells, as one loop for columns of many kinds takes it."""
        del x
        return None

    def gather_together(self: Any, x: Any, w: Any) -> Any:
        """The statistics of a block of rows, as far as the estimate of all members together needs them."""
        return self.gather(x, w)

    def relative_density(self: Any, x: Any) -> Array:
        """The log density (n, k) of a block of rows, up to what is the same for all members of a row."""
        return np.asarray(self.log_density(x))

    def pieces(self: Any, x: Any) -> list[tuple[Any, Array]]:
        """The log density as a sum of independent pieces: each by its column, (n, k); a vector is one piece."""
        if self.row_vector or self.support.core:
            return [(tuple(range(int(np.prod(np.shape(x)[1:])))), self.log_density(x))]
        found = []
        for column in range(np.shape(x)[1]):
            part = x.column(column) if hasattr(x, "column") else x[:, column : column + 1]
            found.append(((column,), self.reshaped(lambda value, j=column: value[:, j : j + 1]).log_density(part)))
        return found

    def contrasts(self: Any, x: Any, first: int, second: int) -> list[tuple[Any, Array]]:
        """Log p(x | first) − log p(x | second) as a sum: by columns, (n,); where both are impossible, 0."""
        with np.errstate(invalid="ignore"):
            pairs = [(columns, scores[:, first], scores[:, second]) for columns, scores in self.pieces(x)]
            return [(columns, np.where(left == right, 0.0, left - right)) for columns, left, right in pairs]

    def strangers(self: Any, x: Any) -> list[tuple[Any, Array]]:
        """Which cells hold a label that is none of the levels: by columns, (n,)."""
        return [(columns, np.zeros(len(x), bool)) for columns, _ in self.pieces(x)]

    def staged(self, rows: Any) -> Any:
        """Rows prepared for many passes under this model."""
        return rows

    @property
    def coupled(self: Any) -> bool:
        """Whether members share parameters, so that none can be estimated without the others."""
        return bool(set(self.tied) & set(self.free)) or any(block.coupled for block in self.blocks.values())

    # ---- the floor under a member ---------------------------------------------------------------------------------
    @property
    def sharpness(self) -> Array | None:
        """How narrow each cell is, (k, d), as 1 / variance but for a factor; None: it cannot become a point."""
        return None

    def blunted(self, by: Array) -> Self:
        """The stack with its sharpness divided by factors (k, d), and its middle where it was."""
        del by
        return self

    def within(self, x: Any) -> Array:
        """Which rows (n,) this family can have made, whatever its parameters: where others can, they are theirs."""
        if not isinstance(x, np.ndarray):  # labels
            return np.ones(len(x), bool)
        axes = tuple(range(x.ndim - self.support.core, x.ndim))
        inside = self.support.contains(x) | np.isnan(x).any(axis=axes)
        return np.asarray(inside.reshape(len(x), -1).all(axis=1))

    def floor(self) -> Any:
        """What members of a mixture are held above, where this is the estimate of all rows; None: nothing.

        It is fixed for a whole fit: no member may shrink to a point.
        """
        sharpness = self.stacked.sharpness
        return None if sharpness is None else SHARPEST * sharpness[0]

    def floor_of(self: Any, stats: Any) -> Any:
        """The floor that follows from the statistics of all rows."""
        return self.estimate(stats).floor()

    def raised(self, floor: Any) -> Self:
        """The best parameters that are not below the floor, given that these are the best of all."""
        sharpness = None if floor is None else self.stacked.sharpness
        if sharpness is None or not (sharpness > floor).any():
            return self
        return self.like(self.stacked.blunted(np.maximum(sharpness / floor, 1.0)))

    def estimate_above(self: Any, stats: Any, prior: Any, floor: Any) -> Any:
        """The M-step of members that are held above the floor.

        By default the best of all is raised; what that made worse than the members at hand is not taken.
        """
        best = self.estimate(stats, prior)
        raised = best.raised(floor)
        if raised is best or isinstance(floor, float):
            return raised
        if stats.exact or self.blocks or self.stacked.sharpness is None:
            return self.no_worse(raised, stats, prior)
        # Statistics that tell the likelihood of their own parameters only: what stands on the floor stays there.
        stuck = (self.stacked.sharpness >= floor * (1 - 1e-6)) & (best.stacked.sharpness > floor)
        return self.like(self.stacked.choose(stuck, raised.stacked))

    def no_worse(self: Any, other: Any, stats: Any, prior: Any) -> Any:
        """The ``other``, unless it explains the statistics worse than these parameters do."""

        def height(members: Any) -> float:
            belief = 0.0 if prior is None else float(np.sum(members.log_prior(prior)))
            return float(np.sum(members.log_likelihood(stats))) + belief

        return other if height(other) >= height(self) else self

    def held(self, floor: Any) -> Array:
        """Which members lie on the floor, (k,)."""
        sharpness = None if floor is None else self.stacked.sharpness
        if sharpness is None:
            return np.zeros(self.members, bool)
        return np.asarray((sharpness >= floor * (1 - 1e-6)).any(axis=1))

    def floor_columns(self, floor: Any, index: int) -> tuple[Any, ...]:
        """The columns in which one component lies on the floor, by place or name; () where it has none of its own."""
        sharpness = None if floor is None else self.stacked.sharpness
        if sharpness is None or self.row_vector:
            return ()
        return tuple(np.flatnonzero(sharpness[index] >= np.asarray(floor) * (1 - 1e-6)).tolist())

    def degenerate(self, floor: Any, stats: Any) -> Array:
        """Which components (k,) lie on the floor in some direction in which the rows together do not."""
        del stats
        return self.held(floor)

    def singular_alerts(self, floor: Any, stats: Any) -> tuple[tuple[str, str], ...]:
        """What to tell of columns that are constant, or follow from others, in all rows together."""
        del floor, stats
        return ()

    def separation(self, stats: Any, floor: Any = None) -> Separation | None:
        """How far components differ in their normal columns; None where the family has none, or learns no spread."""
        del stats, floor
        return None

    def rounding(self, stats: Any) -> float:
        """How much of Σ w log p is rounding, where the family computes it as a difference of large numbers."""
        del stats
        return 0.0

    @property
    def guarded(self) -> bool:
        """Whether every M-step maximises, so that a fall of the objective is a mistake."""
        return True

    # ---- members whose parameters are only believed ----------------------------------------------------------------
    def expected_member(self, belief: Any) -> tuple[Any, Array]:
        """Members m and offsets (k, d) with E[log p(x | θ)] = log m(x) + offset of each cell, θ under the belief.

        They stand at the expected natural parameter, so the offset is A(E η) − E A(η) ≤ 0.
        """
        raise self._cannot(f"average its log density over {belief.name}")

    def exposure(self, x: Any) -> Array | None:
        """How many times the offset of each cell counts, (n, d); None: once everywhere. Missing cells have none."""
        axes = tuple(range(2, x.ndim))
        if np.isfinite(x.sum()):
            return None
        missing = np.isnan(x).any(axis=axes) if axes else np.isnan(x)
        return np.where(missing, 0.0, 1.0) if missing.any() else None

    def exposed(self, stats: Any) -> Array:
        """The exposure of the rows that statistics were gathered from, (k, d)."""
        return np.asarray(stats.weight).reshape(len(stats.weight), -1)

    # ---- showing --------------------------------------------------------------------------------------------------
    def readings(self: Any) -> list[list[Any]]:
        """What a summary says of each column (d) under each member (k): by default mean ± standard deviation."""
        from suffice.core.readings import spreads

        own = self.marginals
        return spreads(own.mean, own.std) if own is self.stacked else list(own.readings())

    @property
    def marginals(self: Any) -> Any:
        """The columns by themselves, as a stack of independent ones; None where a row is one event and has no parts."""
        return None if self.row_vector or self.support.core else self.stacked

    def portrait(self: Any, names: Any = None, fit: Any = None) -> Any:
        """What there is to say about it, as a `Portrait`; ``names`` are those of the data's columns."""
        from suffice.core.fit_portrait import of_family

        return of_family(self, names, fit)

    def numbers(self: Any, names: Any = None, errors: Any = None, reach: float = WITHIN) -> tuple[Any, ...]:
        """Every number as a `Parameter`, with standard errors and intervals of ``reach`` of them to both sides."""
        from suffice.core.fit_portrait import column_names, parameters

        return parameters(self, column_names(self, names), errors, reach)

    @property
    def tries(self: Any) -> int:
        """How many short climbs a start is the best of, where the caller gives none."""
        return max((block.tries for block in self.blocks.values()), default=1)

    # ---- what a sample lacks --------------------------------------------------------------------------------------
    @property
    def rigid(self: Any) -> bool:
        """Whether a share of a row, however small, moves the estimate as far as the whole row: bounds are learned."""
        return any(block.rigid for block in self.blocks.values())

    def loosened(self: Any, factor: float) -> Any:
        """The same with learned bounds ``factor`` times as far apart."""
        return self.rebuilt(block.loosened(factor) for block in self.blocks.values()) if self.blocks else self

    def eased(self: Any, share: float) -> Any:
        """The same parameters off the bounds of their domains, by a small ``share`` of the way.

        What a sample happens to lack is not impossible: under a probability of 0 no pass would ever learn of it.
        """
        if self.blocks:
            return self.rebuilt(block.eased(share) for block in self.blocks.values())
        stack, moved = self.stacked, {}
        for name in self.free:
            domain, value = self.specs()[name].domain, np.asarray(getattr(stack, name))
            edge = domain.on_boundary(value)
            if not edge.any():
                continue
            if domain.core:
                known = np.broadcast_to(stack.possible(), value.shape)
                even = known / np.maximum(known.sum(axis=-1, keepdims=True), 1.0)
                lacks = (edge & (known > 0)).any(axis=-1, keepdims=True)
                moved[name] = np.where(lacks, (1 - share) * value + share * even, value)
            else:
                width = domain.high - domain.low
                step = share * (width if np.isfinite(width) else 1.0)
                moved[name] = np.where(edge, np.where(value == domain.low, value + step, value - step), value)
        return self.like(replace(stack, **moved)) if moved else self

    def snapped(self: Any, stats: Any, row: float) -> Any:
        """The same parameters on the bounds of their domains, where rows do not tell them from these.

        The passes of a mixture come ever nearer to a bound, and how near is an accident of where they end: nothing that
        is said of an estimate may depend on it. ``row`` is the weight of one row.
        """
        if self.blocks:
            return self.rebuilt(map(lambda one, part: one.snapped(part, row), self.blocks.values(), stats.parts))
        stack, moved = self.stacked, {}
        for name in self.free:
            domain = self.specs()[name].domain
            if not any(domain.closed):
                continue
            value = np.asarray(getattr(stack, name))
            chances = stack.chances(stats) / row
            chances = chances.sum(axis=0, keepdims=True) if name in self.tied else chances
            within = TRACE / np.maximum(chances, 1.0).reshape(*chances.shape, *(1,) * domain.core)
            there = domain.snapped(value, within)
            if (domain.on_boundary(there) & ~domain.on_boundary(value)).any():
                moved[name] = there
        return self.like(replace(stack, **moved)) if moved else self

    def chances(self, stats: Any) -> Array:
        """How often a probability could have shown itself in the rows of statistics, by their weight, (k, d)."""
        return self.exposed(stats)

    def possible(self: Any) -> Array:
        """Which entries of a vector of probabilities stand for something, as 1 and 0: all."""
        return np.ones(np.shape(self.probs))

    # ---- places ---------------------------------------------------------------------------------------------------
    def chosen(self, order: Array) -> Self:
        """The stack of some of its members, in this order."""
        return self.reshaped(lambda value: value[order])

    @property
    def simple(self) -> bool:
        """Whether a member is one cluster by itself, rather than several."""
        return True

    @property
    def symmetric(self) -> bool:
        """Whether hidden members cannot be told apart, so that no pass would ever change that."""
        return False

    @property
    def quadratic(self) -> bool:
        """Whether log densities are quadratic in the row, and no parameter is fixed or tied."""
        return False

    @property
    def asks_rows(self: Any) -> bool:
        """Whether standard errors need the rows: statistics do not hold who made which."""
        return any(block.asks_rows for block in self.blocks.values())

    def needs_rows(self: Any, stats: Any) -> bool:
        """Whether standard errors need the rows that these statistics are of."""
        del stats
        return bool(self.asks_rows)

    def seen_cells(self, stats: Any) -> Array:
        """Σ w of the cells that were seen: (k, d) by column, or (k,) rows where a row is one cell."""
        return np.asarray(stats.weight)

    @property
    def decides(self: Any) -> bool:
        """Whether rows go as a whole to hidden members, so that what the loop climbs is not the likelihood."""
        return any(block.decides for block in self.blocks.values())

    def log_likelihood_of(self: Any, rows: Any, weights: Any) -> float:
        """Σ w log p(x), from the rows."""

        def part(where: slice) -> float:
            held = weights[where].dense()[:, 0]
            with np.errstate(invalid="ignore"):
                return float(np.where(held > 0, held * self.stacked.log_density(rows[where])[:, 0], 0.0).sum())

        return float(local.reduce(part, len(rows), self._width(rows)))

    # ---- the loop -------------------------------------------------------------------------------------------------
    def evidence(self: Any, stats: Any) -> float:
        """Σ w log p(x) of the rows under the parameters that gathered the statistics."""
        return float(np.sum(self.log_likelihood(stats)))

    def begin(self: Any, rows: Any, weights: Any, rng: Any, start: Any, prior: Any) -> tuple[Any, tuple[Any, ...]]:
        """Where the loop begins, and what to tell about it."""
        del prior
        if start is None:
            return self.start(*opening(rows, weights), rng), ()
        if type(start) is not type(self):
            msg = f"start= of {self.name} is a {self.name} with its parameters; got {start!r:.60}."
            raise ParameterError(msg)
        return self.adopted([start.shaped(rows)], np.ones(1)), ()

    def adopted(self: Any, members: Any, shares: Array) -> Any:
        """This prototype with the parameters of as many ``members``, which have ``shares`` (k,) of the rows.

        What is fixed, tied or restricted in the prototype stays so.
        """
        for one in members:
            if type(one) is not type(self) or one.blocks.keys() != self.blocks.keys():
                msg = f"start= has {one!r:.60} where the prototype has {self.name}; give parameters of the same family."
                raise ParameterError(msg)
        if self.blocks:
            parts = ([one.blocks[key] for one in members] for key in self.blocks)
            return self.rebuilt(b.adopted(part, shares) for b, part in zip(self.blocks.values(), parts, strict=True))
        stack, values = self.stacked, {}
        for name in self.free:
            value = np.concatenate([np.asarray(getattr(one.stacked, name)) for one in members])
            shape = np.shape(getattr(stack, name))
            if value.shape != shape:
                msg = f"start= has {self.name}s of {name} {value.shape}, where the data need {shape}; give as many."
                raise ParameterError(msg)
            mean = np.tensordot(shares / shares.sum(), value, axes=1)
            values[name] = np.broadcast_to(mean, shape) if name in self.tied else value
        return self.like(stack.placed(values, shares))

    def placed(self: Any, values: dict[str, Array], shares: Array) -> Any:
        """The stack with these parameters, brought into what its structure allows."""
        del shares
        return replace(self, **values)

    def approximate_posterior(self, rows: Any, weights: Any, prior: Any, options: dict[str, Any]) -> Any:
        """What to believe of the parameters where no formula gives it, but a climb comes near; None: a formula does."""
        del rows, weights, prior, options

    def is_spurious(self, stats: Any) -> bool:
        """Whether some component is degenerate, or no more than chance explains."""
        del stats
        return False

    def spurious_gain(self, stats: Any, *, chance: bool = True) -> float:
        """How much of the log-likelihood degenerate components, or ``chance``, can have brought."""
        del stats, chance
        return 0.0

    def in_order(self, stats: Any, prior: Any = None) -> tuple[Any, Any]:
        """The same distribution and statistics with hidden members in canonical order, where none is told apart."""
        del prior
        return self, stats

    def matched(self, other: Any) -> Any:
        """The same distribution with hidden members in the order of those of ``other``."""
        del other
        return self

    def first_guess(self: Any, rows: Any, weights: Any, rng: Any) -> Any:
        """Where a fit begins that these parameters made the rows of; by default it knows nothing of them."""
        return self.start(rows, weights, rng)

    def settle_prior(self, prior: Any, rows: Any, weights: Any) -> Any:
        """The prior that a name stands for, where it must be known before the first pass."""
        del rows, weights
        return prior

    # ---- priors of a part, in which there is no density of the whole ----------------------------------------------
    def settle_part(self: Any, prior: Any, rows: Any, weights: Any, part: float = 1.0) -> Any:
        """The conjugate prior of the members of a mixture, by name or as given, or the reason why it is none.

        ``part`` is the part of the variances of all rows that is expected within a member.
        """
        if prior is None or not isinstance(prior, str):
            belief = getattr(prior, "belief", prior)
            if prior is None or isinstance(belief, self.conjugates):
                return prior
            known = [
                one for one in self.conjugates if not any(o is not one and issubclass(o, one) for o in self.conjugates)
            ]
            kinds = " or ".join(one.__name__ for one in known) or "none"
            got = "a function" if callable(prior) else f"{prior!r:.60}"
            msg = (
                f"a member of a mixture takes a conjugate prior, and {self.name} has {kinds}; got {got}. Give that, "
                "'weak', or no prior; a density as a function is for a distribution that is no mixture."
            )
            raise UnsupportedError(msg)
        check_named(prior)
        return self.weak_belief(rows, weights, part)

    def weak_belief(self: Any, rows: Any, weights: Any, part: float = 1.0) -> Any:
        """The weak prior of a member, from all rows; None where the family has none that it can be estimated under."""
        one = self.each[0]
        try:
            found = one.weak_prior(one.first_statistics(rows, weights), part)
            self.estimate(self.suffstats(rows[:2]), found)
        except UnsupportedError:
            return None
        return found

    def silent(self: Any, prior: Any) -> tuple[str, ...]:
        """The parts that a prior says nothing of."""
        return (self.name,) if prior is None and self.free else ()

    def distance(self: Any, other: Any) -> float:
        """The largest relative move of a parameter; a location is measured against the spread."""
        if self.blocks:
            pairs = [(block, other.blocks.get(key)) for key, block in self.blocks.items()]
            return float(max(np.inf if type(a) is not type(b) else a.distance(b) for a, b in pairs))
        worst = 0.0
        for name, old in self.params.items():
            new = np.asarray(getattr(other, name))
            domain = self.specs()[name].domain
            unbounded = np.isinf(domain.low) and np.isinf(domain.high)
            scale = np.asarray(self.scale_of(name) if unbounded else np.abs(old))
            with np.errstate(all="ignore"):
                ratio = np.abs(new - old) / np.where(scale > 0, scale, 1.0)
            worst = max(worst, float(np.fmax.reduce(ratio, axis=None, initial=0.0)))  # NaN is no move
        return worst

    def bounds(self: Any, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
        """Estimate ± reach × standard error by parameter, inside its domain; of blocks, by block and parameter."""
        if self.blocks:
            return {key: block.bounds(errors[key], reach) for key, block in self.blocks.items()}
        found: dict[Any, Any] = {}
        for name, error in errors.items():
            value, domain = self.params[name], self.specs()[name].domain
            ends = domain.clip(np.stack([value - reach * error, value + reach * error]))
            found[name] = (float(ends[0]), float(ends[1])) if np.ndim(value) == 0 else (ends[0], ends[1])
        return found


def check_named(prior: str) -> None:
    """Refuse names of priors that are not known."""
    if prior != "weak":
        msg = f"prior={prior!r} is not known; priors by name are 'weak' and, in sf.posterior, 'reference'."
        raise UnsupportedError(msg)
