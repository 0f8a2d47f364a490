"""`fit`: data in, a learned distribution out, with all that is known about the learning."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.arguments import generator
from suffice.bayes.density_prior import is_density
from suffice.core.distribution import Distribution
from suffice.core.family import Family
from suffice.core.likelihood import log_likelihood_of_rows
from suffice.em.alerts import impossible, unbelieved, under, without_cells
from suffice.em.checkpoint import Checkpoint
from suffice.em.fit_posterior import believe
from suffice.em.init.starts import TRIALS
from suffice.em.loop import EMResult
from suffice.em.one_pass import fitted_in_one_pass
from suffice.em.options import check_ddof, check_options, prepare, refuse_ddof
from suffice.em.problem import Problem, log_prior_at
from suffice.em.restarts import best_of_restarts, discarded
from suffice.em.result import Fit
from suffice.em.trace import Pass
from suffice.errors import DataError, UnsupportedError
from suffice.tables.column_names import names_of_data, with_column_names_in_errors
from suffice.tables.layout import like_data
from suffice.tables.missing import missing_cells
from suffice.tables.sketch import fingerprint
from suffice.tables.streams import Streamed, located
from suffice.types import Alert, Data, Prior, Seed

if TYPE_CHECKING:
    from suffice.bayes.density_posterior import DensityPosterior


@with_column_names_in_errors
def fit(
    distribution: Distribution,
    data: Data,
    *,
    weights: Data = None,
    prior: Prior = None,
    random_state: Seed = None,
    n_init: int = 1,
    max_iter: int = 1000,
    tol: float | None = None,
    ddof: float = 0,
    start: Data = None,
    accelerate: bool = True,
    callback: Callable[[Pass], Any] | None = None,
    checkpoint: object = None,
    resume: bool = False,
) -> Fit:
    """Learn a distribution's parameters: by maximum likelihood, or with ``prior`` at the mode of the posterior.

    Parameters
    ----------
    distribution : Distribution
        A prototype: its family, its fixed and tied parameters, and for iterative families where to begin.
    data : array, frame, columns by name, or files
        Rows: a list, an array of (n,) or (n, d), a table, or what the distribution reads; or files, as :func:`scan`
        opens them, which are read once for each pass and never held in memory. NaN and None are missing cells.
    weights : array, optional
        One number of at least 0 per row; weight 2 is the row twice. Of files, the name of a column.
    prior : distribution, dict or "weak", optional
        A conjugate prior, a posterior, ``"weak"``, or a density of the free parameters as a function: it takes
        them as arrays, by position in the order of the distribution (or by name, if its arguments have exactly their
        names), and returns an array. For one parameter any distribution of a number will do. The integral of a
        density may be infinite as long as likelihood × prior has a maximum; an alert then says so.
    random_state : int, Generator or RandomState, optional
        Seed or Generator of the starts of iterative families.
    n_init, max_iter, tol : int, int, float
        Number of starts, most iterations (an E-step and an M-step each: from ``start=`` without acceleration,
        ``max_iter=t`` ends at the t-th parameters of EM), and the relative change of log L that counts as flat
        (default: 1e-10 for a mixture, else to rounding).
    ddof : float
        1 gives the variance with divisor n − 1.
    start : distribution, str or array, optional
        Where a mixture begins: None (the best of several short runs on a sketch of the rows, by k-means and at random),
        ``"k-means++"``, ``"random"``, labels (n,), responsibilities (n, k), or a distribution with its parameters.
    accelerate : bool
        Whether steps of the loop are extrapolated; a step that would lower the likelihood is not taken.
    callback : callable, optional
        Called after each pass with a :class:`Pass`; what it raises ends the fit, and KeyboardInterrupt keeps the best.
    checkpoint, resume : path, bool
        A file that keeps where a fit of several passes stands, written after each of them (or less often, where writing
        would take a tenth of the time). After a crash the same call with ``resume=True`` goes on from there and ends in
        bitwise the same result; without such a file it begins. The file is removed when the fit ends. It belongs to
        one prototype, seed, set of options and data; with others it is refused.

    Returns
    -------
    Fit
        The learned distribution, its log-likelihood, statistics, trace and alerts.

    References
    ----------
    Dempster, A. P., Laird, N. M. and Rubin, D. B. (1977). Maximum likelihood from incomplete data via the EM
    algorithm. Journal of the Royal Statistical Society B 39, 1-38.
    Varadhan, R. and Roland, C. (2008). Simple and globally convergent methods for accelerating the convergence of any
    EM algorithm. Scandinavian Journal of Statistics 35, 335-353.
    Walker, H. F. and Ni, P. (2011). Anderson acceleration for fixed-point iterations. SIAM Journal on Numerical
    Analysis 49, 1715-1735.

    Examples
    --------
    >>> print(sf.fit(sf.Normal(), [1.0, 2.0, 3.0]).distribution)
    Normal(mean=2, std=0.816497)
    """
    check_options(distribution, n_init, max_iter, tol)
    named = prior if isinstance(prior, str) else ""
    rows, checked, prototype = prepare(distribution, data, weights)
    begun = fingerprint(rows, checked) if isinstance(rows, Streamed) else None  # files may change while they are read
    with located(data):
        believed = believe(prototype, rows, checked, prior, mode_only=True) if is_density(prototype, prior) else None
        check_ddof(ddof, prior)
        stats: Any = None
        if prototype.exact or believed is not None:
            stats = prototype.tag_family(prototype.gather_rows(rows, checked))
        if believed is not None or (stats is not None and stats.exact):
            learned = prototype.estimate(stats, prior) if believed is None else believed.estimate()
            if not stats.exact:
                stats = learned.suffstats(rows, checked)
            path = fitted_in_one_pass(learned.unbiased(stats, ddof) if ddof else learned, stats, rows, checked)
            found = _conclude(path, (rows, checked), prior, prototype, believed, (), named)
            return _with_names(found, data, weights)
        refuse_ddof(prototype, ddof, stats)
        options = {"max_iter": max_iter, "tol": tol, "accelerate": accelerate, "callback": callback, "whole": True}
        kept = None
        if checkpoint is not None:
            asked = {"prototype": distribution, "data": (fingerprint(rows, checked), len(rows)), "prior": prior}
            asked |= {"random_state": random_state, "n_init": n_init, "max_iter": max_iter, "tol": tol}
            kept = Checkpoint(checkpoint, prototype, {**asked, "start": start, "accelerate": accelerate}, resume=resume)
            options["callback"] = kept.watch(callback)
        resolved = prototype.resolve_prior(prior, rows, checked)
        with nullcontext() if kept is None else kept.going_on():
            problem = Problem(prototype, rows, checked, resolved, start, generator(random_state), options, kept)
            restarts = best_of_restarts(problem.run, n_init, before=problem.earlier_runs())
            path, runs = restarts.best, restarts.runs
            notes = (*path.alerts, *discarded(runs, path))
            tries = TRIALS if start is None and prototype.is_latent else 1
            trace = replace(path.trace, starts=len(runs), agreeing=restarts.agreeing, tries=tries)
            path = replace(path, trace=trace, starts=tuple(trace if one is path else one.trace for one in runs))
            if len(runs) < n_init:
                text = f"interrupted after {len(runs)} of {n_init} starts; what stands here is the best of them."
                notes = (*notes, Alert("interrupted", text, interrupted=True))
            if resolved is not prior:
                notes = (*notes, *unbelieved(prototype, resolved))
                prior = resolved
            found = _conclude(path, (rows, checked), prior, prototype, believed, notes, named)
        if begun is not None and found._mark is not None:  # noqa: SLF001 (a Fit is made here)
            found = replace(found, _mark=begun)
        if kept is not None and not restarts.interrupted:
            kept.remove()
        return _with_names(found, data, weights)


def _conclude(
    path: EMResult,
    data: Data,
    prior: Prior,
    prototype: Family,
    believed: DensityPosterior | None,
    notes: tuple[Alert, ...],
    name: str,
) -> Fit:
    learned, stats = path.distribution, path.statistics
    counted = learned.rows_of_units(*data)
    prior = resolved(prototype, prior, stats) if isinstance(prior, str) else prior
    alerts = [*notes, *[under(prior, alert) for alert in learned.alerts_under(stats, prior)]]
    if believed is not None:
        alerts.extend(alert for alert in believed.alerts if alert.code not in {one.code for one in alerts})
        prior_there = believed.log_prior(learned)
    else:
        prior_there = log_prior_at(learned, prior, prototype)
    cells, missing = learned.seen_cells(stats), 0
    if counted[1].values is not None or not (cells == counted[1].total).all():
        if not cells.any():
            msg = f"{learned.name} cannot be fitted: every cell is missing; give at least one value."
            raise DataError(msg)
        alerts.extend(without_cells(learned, cells, *counted))
        missing = missing_cells(cells, *counted) if cells.ndim == 2 else 0
    if path.fell:
        alerts.append(Alert("fell", f"{path.reason}; what stands here is the best before it."))
    elif not path.converged:
        text = f"{path.reason}, before the likelihood was flat; raise max_iter or run it longer."
        alerts.append(Alert("not converged", text, interrupted=path.interrupted))
    likelihood = (
        log_likelihood_of_rows(learned, *data) if learned.hard_assignment else float(path.trace.log_likelihood[-1])
    )
    if np.isneginf(likelihood):
        alerts.append(impossible(learned, *data))
    if np.isposinf(likelihood):
        alerts.append(Alert("collapsed", "the likelihood is infinite: the estimate is a point, not a density."))
    return Fit(
        distribution=learned,
        log_likelihood=likelihood,
        n=counted[1].total,
        statistics=stats,
        trace=path.trace,
        converged=path.converged,
        alerts=tuple(alerts),
        prior=prior,
        log_posterior=likelihood + prior_there,
        missing=missing,
        prior_name=name,
        starts=path.starts or (path.trace,),
        _data=data,
        _mark=fingerprint(*data) if learned.needs_rows(stats) else None,
    )


def _with_names(found: Fit, data: Data, weights: Data) -> Fit:
    """The fit with the names of the data's columns, and what their table was like."""
    if type(data) is np.ndarray and data.dtype.names is None and found.distribution.column_names is None:
        return found
    return like_data(named_fit(found, names_of_data(data, without=weights)), data)


def named_fit(found: Fit, names: Any) -> Fit:
    """The fit with the names of its columns, said in its alerts: those of the distribution, or of the data."""
    own = found.distribution.column_names
    if own is not None or names is None or len(names) != (found.distribution.columns or 1):
        return found if own is None else replace(found, names=own)
    names = tuple(names)
    return replace(found, names=names, alerts=tuple(alert.with_names(names) for alert in found.alerts))


def resolved(prototype: Family, prior: Prior, stats: Any) -> Any:
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
