"""`fit` and `posterior`: data in, a learned distribution out, with all that is known about the learning.

Over 400 lines: both doors with their documented options, and what they share.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suffice.core.beside import weights_of
from suffice.core.checkpoint import Checkpoint
from suffice.core.density import data_posterior, density_posterior, is_density
from suffice.core.distribution import Alert, Distribution
from suffice.core.doubts import impossible, unbelieved, under, without_cells
from suffice.core.em import Climb, InterruptedStart, Pass, Trace, climb
from suffice.core.errors import DataError, ParameterError, UnsupportedError
from suffice.core.finite_posterior import finite_posterior, is_finite
from suffice.core.layout import like_data
from suffice.core.missing import missing_cells
from suffice.core.names import names_of_data, saying_names, with_names
from suffice.core.parameters import generator
from suffice.core.prior_function import in_order
from suffice.core.ranking import discarded
from suffice.core.reference import reference_posterior
from suffice.core.result import Fit
from suffice.core.sketch import fingerprint
from suffice.core.streamed import Streamed, located, read, staged
from suffice.core.weights import Weights


@saying_names
def fit(
    distribution: Distribution,
    data: Any,
    *,
    weights: Any = None,
    prior: Any = None,
    random_state: Any = None,
    n_init: int = 1,
    max_iter: int = 1000,
    tol: float | None = None,
    ddof: float = 0,
    start: Any = None,
    accelerate: bool = True,
    callback: Callable[[Pass], Any] | None = None,
    checkpoint: Any = None,
    resume: bool = False,
) -> Fit:
    """Learn a distribution's parameters: by maximum likelihood, or with ``prior`` at the mode of the posterior.

    Parameters
    ----------
    distribution
        A prototype: its family, its fixed and tied parameters, and for iterative families where to begin.
    data
        Rows: a list, an array of (n,) or (n, d), a table, or what the distribution reads; or files, as :func:`scan`
        opens them, which are read once for each pass and never held in memory. NaN and None are missing cells.
    weights
        One number of at least 0 per row; weight 2 is the row twice. Of files, the name of a column.
    prior
        A conjugate prior, a posterior, ``"weak"``, or a density of the free parameters as a function: it takes
        them as arrays, by position in the order of the distribution (or by name, if its arguments have exactly their
        names), and returns an array. For one parameter any distribution of a number will do. The integral of a
        density may be infinite as long as likelihood × prior has a maximum; an alert then says so.
    random_state
        Seed or Generator of the starts of iterative families.
    n_init, max_iter, tol
        Number of starts, most iterations (an E-step and an M-step each: from ``start=`` without acceleration,
        ``max_iter=t`` ends at the t-th parameters of EM), and the relative change of log L that counts as flat
        (default: 1e-10 for a mixture, else to rounding).
    ddof
        1 gives the variance with divisor n − 1.
    start
        Where a mixture begins: None (the best of several short runs on a sketch of the rows, by k-means and at random),
        ``"k-means++"``, ``"random"``, labels (n,), responsibilities (n, k), or a distribution with its parameters.
    accelerate
        Whether steps of the loop are extrapolated; a step that would lower the likelihood is not taken.
    callback
        Called after each pass with a :class:`Pass`; what it raises ends the fit, and KeyboardInterrupt keeps the best.
    checkpoint, resume
        A file that keeps where a fit of several passes stands, written after each of them (or less often, where writing
        would take a tenth of the time). After a crash the same call with ``resume=True`` goes on from there and ends in
        bitwise the same result; without such a file it begins. The file is removed when the fit ends. It belongs to
        one prototype, seed, set of options and data; with others it is refused.

    Examples
    --------
    >>> print(sf.fit(sf.Normal(), [1.0, 2.0, 3.0]).distribution)
    Normal(mean=2, std=0.816497)
    """
    _check_options(distribution, n_init, max_iter, tol)
    named = prior if isinstance(prior, str) else ""
    rows, checked, prototype = _prepare(distribution, data, weights)
    begun = fingerprint(rows, checked) if isinstance(rows, Streamed) else None  # files may change while they are read
    with located(data):
        believed = _believe(prototype, rows, checked, prior, mode_only=True) if is_density(prototype, prior) else None
        _check_ddof(ddof, prior)
        stats: Any = prototype.suffstats(rows, checked) if prototype.exact or believed is not None else None
        if believed is not None or (stats is not None and stats.exact):
            learned = prototype.estimate(stats, prior) if believed is None else believed.estimate()
            if not stats.exact:
                stats = learned.suffstats(rows, checked)
            path = _at_once(learned, stats, ddof)
            found = _conclude(path, (rows, checked), prior, prototype, believed, (), named)
            return like_data(named_fit(found, names_of_data(data, without=weights)), data)
        _refuse_ddof(prototype, ddof, stats)
        options = {"max_iter": max_iter, "tol": tol, "accelerate": accelerate, "callback": callback, "whole": True}
        kept = None
        if checkpoint is not None:
            asked = {"prototype": distribution, "data": (fingerprint(rows, checked), len(rows)), "prior": prior}
            asked |= {"random_state": random_state, "n_init": n_init, "max_iter": max_iter, "tol": tol}
            kept = Checkpoint(checkpoint, prototype, {**asked, "start": start, "accelerate": accelerate}, resume=resume)
            options["callback"] = kept.watched(callback)
        settled = prototype.settle_prior(prior, rows, checked)
        with nullcontext() if kept is None else kept.going_on():
            climbs = _climbs(prototype, rows, checked, settled, start, generator(random_state), n_init, options, kept)
            path, notes = max(climbs, key=lambda one: one[0].merit)
            notes = (*notes, *discarded([one for one, _ in climbs], path))
            alike = sum(one.agrees(path) for one, _ in climbs)
            tries = prototype.tries if start is None else 1
            trace = replace(path.trace, starts=len(climbs), agreeing=alike, tries=tries)
            path = replace(path, trace=trace, starts=tuple(trace if one is path else one.trace for one, _ in climbs))
            if len(climbs) < n_init:
                text = f"interrupted after {len(climbs)} of {n_init} starts; what stands here is the best of them."
                notes = (*notes, ("interrupted", text))
            if settled is not prior:
                notes = (*notes, *unbelieved(prototype, settled))
                prior = settled
            found = _conclude(path, (rows, checked), prior, prototype, believed, notes, named)
        if begun is not None and found._mark is not None:  # noqa: SLF001 (a Fit is made here)
            found = replace(found, _mark=begun)
        if kept is not None and len(climbs) == n_init and not climbs[-1][0].interrupted:
            kept.remove()
        return like_data(named_fit(found, names_of_data(data, without=weights)), data)


def _climbs(
    prototype: Any,
    rows: Any,
    weights: Weights,
    prior: Any,
    start: Any,
    rng: Any,
    n_init: int,
    options: dict[str, Any],
    kept: Checkpoint | None,
) -> list[tuple[Climb, tuple[Alert, ...]]]:
    """A climb from every start, the first of them where a checkpoint stands; interrupted, those that there are."""
    state = None if kept is None else kept.state
    climbs: list[tuple[Climb, tuple[Alert, ...]]] = []
    if state is not None:
        climbs = list(state["climbs"])
        rng.bit_generator.state = state["rng"]
    try:
        while len(climbs) < n_init and not (climbs and climbs[-1][0].interrupted):
            going = _Going(rng, tuple(climbs), kept, state)
            climbs.append(_climbed(prototype, rows, weights, prior, start, going, options))
            state = None
    except KeyboardInterrupt:
        if not climbs:
            raise
    return climbs


@dataclass(frozen=True)
class _Going:
    """What goes on around a climb: the random numbers, the climbs before it, and where all of it is kept."""

    rng: Any
    climbs: tuple[Any, ...] = ()
    kept: Checkpoint | None = None
    state: Any = None

    def keeper(self, notes: tuple[Alert, ...]) -> Callable[[Any], None] | None:
        """What writes the state of the climb, and of all around it."""
        if self.kept is None:
            return None
        around = {"climbs": self.climbs, "rng": self.rng.bit_generator.state, "notes": notes}
        save = self.kept.save
        return lambda walk: save({**around, "walk": walk})


def _at_once(learned: Any, stats: Any, ddof: float) -> Climb:
    """The end of a way that took one pass."""
    learned = learned.unbiased(stats, ddof) if ddof else learned
    likelihood = float(np.sum(learned.log_likelihood(stats)))
    trace = Trace(np.array([likelihood]), np.array([likelihood]), np.zeros(1))
    return Climb(learned, stats, trace, converged=True, reason="exact")


@saying_names
def posterior(
    distribution: Distribution,
    data: Any,
    *,
    prior: Any,
    weights: Any = None,
    random_state: Any = None,
    n_init: int = 1,
    max_iter: int = 1000,
    tol: float | None = None,
    start: Any = None,
    accelerate: bool = True,
    callback: Callable[[Pass], Any] | None = None,
) -> Any:
    """What to believe of a distribution's parameters after seeing the data.

    ``prior`` is conjugate, a mixture of conjugate priors, an earlier posterior, ``"weak"``, ``"reference"`` (improper:
    :mod:`suffice.core.reference`), or any density of the free parameters as a function. It takes them as arrays, by
    position in the order of the distribution (or by name, if its arguments have exactly their names), and returns an
    array; it may be improper, as ``1 / std``, where the posterior is proper. For one parameter any distribution does.

    A prior over finitely many values is ``sf.Categorical(values, probabilities)`` for one parameter, and
    ``{distribution: weight, …}`` for any: the posterior has a weight for each, and sums where others integrate.

    That of a mixture of conjugate families is variational: beliefs about weights and members, each conjugate and
    independent of each other, that come nearest to the truth. Its ``log_evidence`` is a lower bound. The prior is
    ``{"weights": Dirichlet(…) or StickBreaking(…), "components": prior of a member}`` or ``"weak"``, where the weights
    may be left out: with a small concentration, 1/k by default, superfluous members empty themselves. The other
    arguments are those of :func:`fit`, and matter to mixtures alone.

    Examples
    --------
    >>> post = sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=sf.Beta(1, 1))
    >>> post.mean, post.predictive()
    (0.6, Bernoulli(p=0.6))
    >>> prior = sf.Categorical([0.2, 0.5, 0.9], [0.3, 0.4, 0.3])
    >>> sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=prior).weights.round(3)
    array([0.114, 0.596, 0.29 ])
    """
    _check_options(distribution, n_init, max_iter, tol)
    rows, checked, prototype = _prepare(distribution, data, weights, empty=True)
    options = {
        "random_state": random_state,
        "n_init": n_init,
        "max_iter": max_iter,
        "tol": tol,
        "start": start,
        "accelerate": accelerate,
        "callback": callback,
    }
    if is_finite(prior):
        near = finite_posterior(prototype, rows, checked, prior)
    else:
        near = prototype.approximate_posterior(rows, checked, prior, options)
    found = _believe(prototype, rows, checked, prior) if near is None else near
    names = names_of_data(data, without=weights)
    if names is None or prototype.column_names is not None or len(names) != (prototype.columns or 1):
        return found
    return found.with_column_names(names)


def _believe(prototype: Any, rows: Any, weights: Weights, prior: Any, *, mode_only: bool = False) -> Any:
    """The posterior; ``mode_only``: that of a density which need not have a finite integral."""
    if not prototype.exact:
        return data_posterior(prototype, rows, weights, prior, mode_only=mode_only)
    stats = prototype.suffstats(rows, weights)
    if not stats.exact:
        msg = (
            f"{prototype.name}: with missing cells there is no closed posterior, since what to expect of them depends "
            "on the parameters. Use sf.fit(…, prior=…) for the mode, or sf.posterior(sf.Mixture(prototype, 1), …), "
            "which comes near."
        )
        raise UnsupportedError(msg)
    if isinstance(prior, str) and prior == "reference":
        return reference_posterior(prototype, stats)
    if mode_only:
        return density_posterior(prototype, stats, prior, mode_only=True)
    return prototype.posterior(stats, prior)


def _check_options(distribution: Any, n_init: int, max_iter: int, tol: float | None) -> None:
    if isinstance(distribution, type) and issubclass(distribution, Distribution):
        msg = f"give an instance as the prototype: {distribution.__name__}() instead of {distribution.__name__}."
        raise ParameterError(msg)
    if not isinstance(distribution, Distribution):
        msg = f"the first argument is a distribution, such as sf.Normal(); got {type(distribution).__name__}."
        raise ParameterError(msg)
    if not distribution.lone:
        msg = "fit takes a single prototype; a stack of members is estimated by a Mixture or a classifier."
        raise UnsupportedError(msg)
    for name, value in (("n_init", n_init), ("max_iter", max_iter)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            msg = f"{name} is a whole number of at least 1; got {value!r}."
            raise ParameterError(msg)
    if tol is not None and not (isinstance(tol, (int, float, np.number)) and not isinstance(tol, bool) and tol >= 0):
        msg = f"tol is a number of at least 0; got {tol!r}."
        raise ParameterError(msg)


def _check_ddof(ddof: Any, prior: Any) -> None:
    if isinstance(ddof, bool) or not isinstance(ddof, (int, float, np.number)) or not 0 <= ddof < np.inf:
        msg = f"ddof is a number of at least 0, usually 0 or 1; got {ddof!r}."
        raise ParameterError(msg)
    if ddof and prior is not None:
        msg = f"ddof={ddof:g} corrects a maximum-likelihood variance; under a prior leave it out."
        raise ParameterError(msg)


def _refuse_ddof(prototype: Any, ddof: float, stats: Any) -> None:
    """Refuse to correct a variance that several passes find; ``stats`` are there where holes are the reason."""
    if ddof:
        prototype.unbiased(None, ddof)
        if stats is not None:
            msg = f"ddof={ddof:g} corrects the variance of complete rows, and cells are missing here; leave it out."
            raise UnsupportedError(msg)


def _prepare(distribution: Any, data: Any, weights: Any, *, empty: bool = False) -> tuple[Any, Weights, Any]:
    rows = read(distribution, data, without=weights)
    if len(rows) == 0 and not empty:
        msg = f"{distribution.name} cannot be fitted to no rows; give at least one."
        raise DataError(msg)
    checked = weights_of(data, weights, len(rows))
    if checked.members != 1 or checked.codes is not None:
        msg = f"weights have shape {np.shape(weights)}, but there are {len(rows)} rows; give one weight per row."
        raise DataError(msg)
    return rows, checked, distribution.shaped(rows)


def _climbed(
    prototype: Any, rows: Any, weights: Weights, prior: Any, start: Any, going: _Going, options: dict[str, Any]
) -> tuple[Climb, tuple[Alert, ...]]:
    """One climb from a start, and what to tell about it; members without a given order come in canonical order."""
    interrupted, walk = False, None
    try:
        if going.state is None:
            begin, notes = prototype.begin(rows, weights, going.rng, start, prior)
        else:
            walk, notes = going.state["walk"], going.state["notes"]
            begin = walk["here"].distribution
    except InterruptedStart as stopped:  # one pass, to know how good it is
        begin, notes, interrupted = stopped.best, (), True
        options = {**options, "max_iter": 1, "whole": False}
    tol = prototype.tolerance if options["tol"] is None else options["tol"]
    options = {**options, "tol": tol, "log_prior": lambda one: log_prior_at(one, prior, prototype)}
    path = climb(begin, staged(begin, rows), weights, prior, keep=going.keeper(notes), resumed=walk, **options)
    if interrupted:
        path = replace(path, converged=False, reason="interrupted before the first pass", interrupted=True)
    if start is not None and not isinstance(start, str):
        return path, notes
    learned, stats = path.distribution.in_order(path.statistics, prior)
    return replace(path, distribution=learned, statistics=stats), notes


def _conclude(
    path: Climb, data: Any, prior: Any, prototype: Any, believed: Any, notes: tuple[Alert, ...], name: str
) -> Fit:
    learned, stats, weights = path.distribution, path.statistics, data[1]
    prior = resolved(prototype, prior, stats)
    alerts = [*notes, *(under(prior, alert) for alert in learned.alerts(stats))]
    if believed is not None:
        alerts.extend(alert for alert in believed.alerts if alert[0] not in dict(alerts))
        prior_there = believed.log_prior(learned)
    else:
        prior_there = log_prior_at(learned, prior, prototype)
    cells = learned.seen_cells(stats)
    if not cells.any():
        msg = f"{learned.name} cannot be fitted: every cell is missing; give at least one value."
        raise DataError(msg)
    alerts.extend(without_cells(learned, cells, *data))
    if path.fell:
        alerts.append(("fell", f"{path.reason}; what stands here is the best before it."))
    elif not path.converged:
        alerts.append(
            ("not converged", f"{path.reason}, before the likelihood was flat; raise max_iter or run it longer.")
        )
    likelihood = learned.log_likelihood_of(*data) if learned.decides else float(path.trace.log_likelihood[-1])
    if np.isneginf(likelihood):
        alerts.append(impossible(learned, *data))
    if np.isposinf(likelihood):
        alerts.append(("collapsed", "the likelihood is infinite: the estimate is a point, not a density."))
    return Fit(
        distribution=learned,
        log_likelihood=likelihood,
        n=weights.total,
        statistics=stats,
        trace=path.trace,
        converged=path.converged,
        alerts=tuple(alerts),
        prior=prior,
        log_posterior=likelihood + prior_there,
        missing=missing_cells(cells, *data) if cells.ndim == 2 else 0,
        prior_name=name,
        starts=path.starts or (path.trace,),
        _data=data,
        _mark=fingerprint(*data) if learned.needs_rows(stats) else None,
    )


def named_fit(found: Fit, names: Any) -> Fit:
    """The fit with the names of its columns, said in its alerts: those of the distribution, or of the data."""
    names = None if names is None else tuple(names)
    own = found.distribution.column_names
    if own is not None or names is None or len(names) != (found.distribution.columns or 1):
        return replace(found, names=own)
    alerts = tuple((code, with_names(text, names)) for code, text in found.alerts)
    return replace(found, names=names, alerts=alerts)


def resolved(prototype: Any, prior: Any, stats: Any) -> Any:
    """The prior that a name stands for, in the layout of the prototype."""
    if not isinstance(prior, str):
        return prior
    if prototype.blocks:
        parts = zip(prototype.blocks.items(), stats.parts, strict=True)
        return {key: resolved(block, prior, part) for (key, block), part in parts}
    try:
        weak = prototype.weak_prior(stats)
    except UnsupportedError:  # of a part without any value, which was not estimated either
        return None
    if isinstance(weak, dict):  # of several parameters of one family
        return {name: prototype.like(one) if one.batch else one for name, one in weak.items()}
    return prototype.like(weak) if weak.batch else weak


def log_prior_at(learned: Any, prior: Any, prototype: Any) -> float:
    """Log density of the prior at the estimate."""
    if prior is None or isinstance(prior, str):
        return 0.0
    if prototype.blocks:
        priors = prototype.priors(prior)
        return sum(log_prior_at(learned.blocks[key], p, prototype.blocks[key]) for key, p in priors.items())
    if callable(prior):  # of one block; the density is taken as it is
        with np.errstate(all="ignore"):
            return float(np.sum(np.log(in_order(prior, learned.free)(*(learned.params[n] for n in learned.free)))))
    with np.errstate(all="ignore"):  # an estimate on the boundary, where the density may be infinite
        return float(np.sum(learned.log_prior(prior)))
