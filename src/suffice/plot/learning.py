"""Pictures of how mixtures are learned.

The number of components, the log-likelihood by pass, and the posterior of their parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.em.trace import Trace
from suffice.errors import ParameterError
from suffice.models.variational_posterior import VariationalPosterior
from suffice.plot.canvas import BLUE, DASHES, GREY, RED, axes, colour, dress, marker, number, plain, title
from suffice.selection.select import CRITERIA, Selection, criterion_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLAT = 1e-3  # nats that a run must rise by to be seen rising


# ---- number of components ----
def selection(chosen: Selection, criterion: str | None = None, ax: Any = None) -> Any:
    """Draw a criterion against the number of components, a line for each structure or family, with the best marked.

    Candidates that rest on spurious optima are hollow.

    Parameters
    ----------
    chosen : Selection
        What :func:`suffice.select` gives.
    criterion : str, optional
        ``"bic"``, ``"aic"``, ``"icl"`` or ``"held_out"``; by default the one that ranked them.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> found = sf.select(sf.Normal(), [1, 2, 1, 7, 9, 8.0], n_components=[1, 2, 3], random_state=0)
    >>> ax = sf.plot.selection(found)  # doctest: +SKIP
    """
    if not isinstance(chosen, Selection):
        msg = f"plot.selection draws what sf.select(…) gives; got {type(chosen).__name__}."
        raise ParameterError(msg)
    name = criterion_of(criterion or chosen.criterion)
    if not any(np.isfinite(row[name]) for row in chosen.table):
        msg = f"no candidate has {name!r}; ask sf.select(…, holdout=5) for it."
        raise ParameterError(msg)
    families = len({row["family"] for row in chosen.table}) > 1
    lines: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(chosen.table, key=lambda row: int(row["n_components"])):
        label = row["structure"] or row["family"]
        name_of = f"{row['family']} {label}" if families and row["structure"] else label
        lines.setdefault(plain(name_of, 28), []).append(row)
    ax = axes(ax, (7.2, 4.2))
    for index, (label, rows) in enumerate(lines.items()):
        x, y = [row["n_components"] for row in rows], [row[name] for row in rows]
        ls = DASHES[index // 7 % len(DASHES)]
        ax.plot(x, y, color=colour(index), marker=marker(index), ms=5, lw=1.4, ls=ls, label=label)
        bad = [i for i, row in enumerate(rows) if row["spurious"]]
        hollow = {"mfc": "white", "mec": colour(index), "ms": 5, "zorder": 4}
        ax.plot([x[i] for i in bad], [y[i] for i in bad], marker(index), **hollow)
    _mark_best(ax, chosen, name)
    better = "lower" if CRITERIA[name] > 0 else "higher"
    words = "held-out log-likelihood per row" if name == "held_out" else _words(name)
    ax.set(xlabel="number of components", ylabel=f"{words} ({better} is better)")
    ax.xaxis.get_major_locator().set_params(integer=True)
    dress(ax)
    ax.margins(0.04, 0.08)
    outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    ax.legend(frameon=False, fontsize=8, **(outside if len(ax.get_legend_handles_labels()[1]) > 4 else {}))
    return ax


def _mark_best(ax: Any, chosen: Selection, name: str) -> None:
    row = chosen.table[0]
    best = f"{row['n_components']} × {row['structure'] or row['family']}"
    ring = {"mfc": "none", "mec": RED, "mew": 2, "ms": 13, "zorder": 5}
    ax.plot([row["n_components"]], [row[name]], "o", label="best" + _by(chosen, name), **ring)
    spurious = "; hollow: spurious" if any(one["spurious"] for one in chosen.table) else ""
    title(ax, f"{len(chosen.table)} candidates, best by {_words(chosen.criterion)}: {best}{spurious}")


def _by(chosen: Selection, name: str) -> str:
    return "" if name == chosen.criterion else f" by {_words(chosen.criterion)}"


def _words(criterion: str) -> str:
    return "held-out" if criterion == "held_out" else criterion.upper()


# ---- log-likelihood by pass ----
def trace(found: Any, ax: Any = None) -> Any:
    """Draw the log-likelihood and the bound of every pass of a fit; of a posterior, the bound of its evidence.

    The line is Σ w log p(x), the circles G(Q, θ) from the statistics of the same pass: EM without mistakes has them on
    the line. First passes of a poor start, beside which all others would be flat, are left out; the title says so.

    Parameters
    ----------
    found : Fit or posterior of a mixture
        What was learned in several passes.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> fit = sf.fit(sf.Mixture(sf.Normal(), 2), [1, 2, 1, 7, 9, 8.0], random_state=0)
    >>> ax = sf.plot.trace(fit)  # doctest: +SKIP
    """
    path = getattr(found, "trace", None)
    if not isinstance(path, Trace):
        msg = f"plot.trace draws what sf.fit or sf.posterior of a mixture gives; got {type(found).__name__}."
        raise ParameterError(msg)
    ax = axes(ax)
    belief = isinstance(found, VariationalPosterior)
    x = np.arange(1, len(path.log_likelihood) + 1)
    refused = found.n_iter - len(x)
    quantity = "bound of the log evidence" if belief else "log-likelihood"
    ax.plot(x, path.log_likelihood, color=BLUE, lw=2, label=quantity + (", measured" if belief else ""))
    ring = {"mfc": "none", "mec": RED, "ms": 7 if len(x) <= 50 else 3.5, "mew": 1 if len(x) <= 50 else 0.6, "lw": 0}
    ax.plot(x, path.bound, "o", label="the same from the statistics" if belief else "bound from the statistics", **ring)
    ax.axhline(path.log_likelihood[-1], color=GREY, lw=1, ls=":")
    ax.set(xlabel="pass" if refused <= 0 else "pass that was kept", ylabel=quantity)
    ax.xaxis.get_major_locator().set_params(integer=True)
    what = found.components.name if belief else found.distribution.name
    state = "converged" if found.converged else "NOT converged"
    passes = f"{found.n_iter} pass{'es'[: 2 * (found.n_iter != 1)]}"
    passes += f", {refused} of them taken back" if refused > 0 else ""
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    dress(ax)
    ax.margins(0.03, 0.08)
    below = _leave_out_poor_start(ax, [path.log_likelihood])
    title(ax, f"{what}: {state} after {passes}, at {number(path.log_likelihood[-1], 4)}{below}")
    _in_nats(ax)
    return ax


def traces(found: Any, ax: Any = None) -> Any:
    """Draw the log-likelihood by pass from every start of a fit; the one that was kept is blue.

    Heights are below its end; lines that do not reach 0 are starts that found a worse optimum.

    Parameters
    ----------
    found : Fit
        A fit of a mixture with ``n_init`` starts.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> fit = sf.fit(sf.Mixture(sf.Normal(), 2), [1, 2, 1, 7, 9, 8.0], random_state=0, n_init=3)
    >>> ax = sf.plot.traces(fit)  # doctest: +SKIP
    """
    best = getattr(found, "trace", None)
    if not isinstance(best, Trace):
        msg = f"plot.traces draws what sf.fit of a mixture gives; got {type(found).__name__}."
        raise ParameterError(msg)
    paths = getattr(found, "starts", ()) or (best,)
    objective = _objective(best)
    quantity = "log posterior" if getattr(found, "prior", None) is not None else "log-likelihood"
    ax, top = axes(ax), objective[-1]
    kept = next((i for i, path in enumerate(paths) if np.array_equal(_objective(path), objective)), 0)
    others = [path for i, path in enumerate(paths) if i != kept]
    for index, path in enumerate(others):
        y = _objective(path) - top
        label = f"{len(others)} other start{'s'[: len(others) != 1]}" if index == 0 else None
        ax.plot(np.arange(1, len(y) + 1), y, color=GREY, lw=1.1, alpha=0.8, label=label)
        ax.plot([len(y)], y[-1:], "o", color=GREY, ms=3.5)
    ax.plot(np.arange(1, len(objective) + 1), objective - top, color=BLUE, lw=2.2, label="kept", zorder=4)
    ax.plot([len(objective)], [0.0], "o", color=BLUE, ms=5, zorder=5)
    ends = [_objective(path)[-1] for path in paths]
    near = sum(end >= top - 1e-6 * (1 + abs(top)) for end in ends)
    state = "converged" if found.converged else "NOT converged"
    ax.set(xlabel="pass that was kept", ylabel=f"{quantity} − that of the best")
    ax.xaxis.get_major_locator().set_params(integer=True)
    dress(ax)
    ax.margins(0.03, 0.08)
    below = _leave_out_poor_start(ax, [_objective(path) - top for path in paths])
    if others:
        title(ax, f"{len(paths)} starts, {near} ended at the best {quantity}, {number(top, 2)}; {state}{below}")
    else:
        title(ax, f"one start: {state} at {quantity} {number(top, 2)}{below}")
    _in_nats(ax)
    ax.legend(frameon=False, fontsize=8, loc="lower right")
    return ax


def _leave_out_poor_start(ax: Axes, paths: list[Any]) -> str:
    """Leave out first passes beside which all others would be a flat line, and return words that say so.

    A pass is left out while the one after it gains more than twice what is still to come; no more than an eighth are.
    """
    out, floor, top = 0, np.inf, max(float(path.max()) for path in paths)
    for path in paths:
        k = 0
        while (
            k < max(len(path) // 8, 1) and k + 1 < len(path) and path[k + 1] - path[k] > 2 * (top - path[k + 1]) + FLAT
        ):
            k += 1
        out, floor = max(out, k), min(floor, float(path[k]))
    lowest = min(float(path.min()) for path in paths)
    if not out or lowest >= floor:
        return ""
    room = 0.08 * max(top - floor, FLAT)
    ax.set_ylim(floor - room, top + room)
    first = "the first pass" if out == 1 else f"the first {out} passes"
    return f"; below the picture: {first}, from {number(lowest)}"


def _in_nats(ax: Axes) -> None:
    """Let values be read as they are; what is less than a thousandth of a nat is flat."""
    ax.ticklabel_format(axis="y", useOffset=False, style="plain")
    low, high = ax.get_ylim()
    more = max(FLAT - (high - low), 0.0) / 2
    ax.set_ylim(low - more, high + more)


def _objective(path: Trace) -> Any:
    return path.objective if len(path.objective) else path.log_likelihood


# ---- beliefs --------------------------------------------------------------------------------------------------------
def component_intervals(post: VariationalPosterior, name: str | None, level: float, ax: Axes | None) -> Any:
    """Draw the posterior mean and credible interval of one number of each component."""
    name = "weights" if name is None else name
    answers = [post.mean, post.interval(level)]
    means, ends = (one["weights"] if name == "weights" else _of_components(one["components"], name) for one in answers)
    single = {"weights"} | {key for key, value in _named(post).items() if np.size(value) == len(post.weights)}
    if means is None or ends is None or np.size(means) != len(post.weights):
        msg = (
            f"the posterior of a mixture is drawn for one number of each component, "
            f"here {', '.join(sorted(single))}; got "
            f"{name!r}. Draw the components themselves with plot.mixture(post, data), or ask post.interval()."
        )
        raise ParameterError(msg)
    live = np.flatnonzero(post.count >= 0.5)
    shown = np.arange(len(post.weights)) if name == "weights" else live
    low, mean, high = (np.ravel(one)[shown] for one in (ends[0], means, ends[1]))
    ax = axes(ax)
    place = np.arange(len(shown))
    ax.vlines(place, low, high, color=BLUE, lw=3, alpha=0.45, label=f"{level:.0%} credible interval")
    ax.plot(place, mean, "o", color=RED, ms=6, label="expected", clip_on=False, zorder=4)
    ax.set_xticks(place, [str(j) for j in shown])
    ax.set(xlabel="component", ylabel=name.removesuffix("s") if name == "weights" else name)
    empty = len(post.weights) - len(live)
    emptied = f", {empty} of {len(post.weights)} emptied" if empty else ""
    title(ax, f"{len(post.weights)} × {post.components.name}: belief about {name}{emptied}")
    dress(ax)
    ax.set_xlim(-0.6, len(shown) - 0.4)
    if name == "weights":
        ax.set_ylim(0, None)
    ax.legend(frameon=False, fontsize=9)
    return ax


def _named(post: VariationalPosterior) -> dict[str, Any]:
    mean = post.mean["components"]
    if isinstance(mean, dict):
        return {key: value for key, value in mean.items() if not isinstance(value, dict)}
    return {} if isinstance(mean, list) else {post.components.belief_about: mean}


def _of_components(answer: object, name: str) -> Any:
    """The answer about one parameter; a belief about a single one has no names."""
    if isinstance(answer, dict):
        return answer.get(name)
    return None if isinstance(answer, list) else answer
