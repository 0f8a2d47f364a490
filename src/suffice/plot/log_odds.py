"""Pictures of decisions: what speaks for a class, and what against it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.models.class_explanation import Explanation, display_name
from suffice.plot.canvas import BLUE, DARK, GREY, RED, axes, dress, plain, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME, VALUE, CLASS, SHORT = 24, 14, 24, 16  # letters of a column, a cell, a class above and below the picture
ROOM = 8  # letters of a tick that the title's width reckons with
MOST = 14  # bars; the smallest of more are drawn as one


def evidence(explanation: Explanation, *, ax: Axes | None = None) -> Any:
    """Draw prior log-odds and the term of each column as bars that add up to the log-odds of the class.

    Bars to the right speak for the class.

    Parameters
    ----------
    explanation : Explanation
        What ``classifier.explain(row)`` gives.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = sf.plot.evidence(classifier.explain(row))  # doctest: +SKIP
    """
    if not hasattr(explanation, "log_odds"):
        msg = f"evidence draws an explanation, classifier.explain(row); got {type(explanation).__name__}."
        raise TypeError(msg)
    bars = [("prior", explanation.prior)]
    terms = [(_tick(explanation, name), term) for name, term in explanation.sorted.items()]
    if len(terms) > MOST:
        rest = terms[MOST - 1 :]
        terms = [*terms[: MOST - 1], (f"{len(rest)} more columns", float(sum(term for _, term in rest)))]
    bars += terms
    total = explanation.log_odds
    heights = [term for _, term in bars] + [total]
    finite = [abs(one) for one in heights if np.isfinite(one)]
    reach = max(finite, default=1.0) or 1.0
    ax = axes(ax, (6.8, 1.3 + 0.32 * (len(bars) + 1)))
    places = np.arange(len(bars) + 1)
    lengths = np.clip(heights, -1.15 * reach, 1.15 * reach)
    colours = [BLUE if one > 0 else RED for one in heights[:-1]] + [DARK]
    ax.barh(places, lengths, color=colours, height=0.66)
    ax.axvline(0.0, color=GREY, lw=1)
    ax.axhline(len(bars) - 0.5, color=GREY, lw=0.8, ls=":")
    for place, height, length in zip(places, heights, lengths, strict=True):
        side = 4 if height >= 0 else -4
        ax.annotate(
            _signed(height),
            (length, place),
            (side, 0),
            textcoords="offset points",
            va="center",
            ha="left" if height >= 0 else "right",
            fontsize=8,
            color=DARK,
        )
    ax.set_yticks(places, [name for name, _ in bars] + ["log-odds"])
    ax.invert_yaxis()
    dress(ax)
    low, high = min(0.0, float(lengths.min())), max(0.0, float(lengths.max()))
    room = 0.16 * (high - low or 1.0)
    ax.set_xlim(low - (room if low < 0 else room / 4), high + (room if high > 0 else room / 4))
    ax.tick_params(axis="y", length=0)
    label, against = plain(explanation.label, CLASS), plain(explanation.against, CLASS)
    ax.set_xlabel(f"← {plain(explanation.against, SHORT)} · nats · {plain(explanation.label, SHORT)} →")
    sure = f"= {explanation.probability:.3g}" if explanation.probability < 0.9995 else "> 0.999"
    title(
        ax, f"{label} against {against}: log-odds {_signed(total)}, p {sure}", max(len(name) for name, _ in bars) - ROOM
    )
    return ax


def _signed(value: float) -> str:
    return (f"{value:+.2f}" if np.isfinite(value) else f"{value:+}".replace("inf", "∞")).replace("-", "−")


def _tick(explanation: Explanation, name: Hashable) -> str:
    """A column and its cell; columns that are described together are named as far as there is room for them."""
    if not isinstance(name, tuple) or len(name) == 1:
        one = name[0] if isinstance(name, tuple) else name
        note = f" ({explanation.notes[name]})" if name in explanation.notes else ""
        return f"{plain(one, NAME)} = {plain(display_name(explanation.values.get(name)), VALUE)}{note}"
    kept = 1 + (len(str(name[0])) + len(str(name[1])) + 2 <= NAME)
    rest = len(name) - kept
    return ", ".join(plain(one, NAME // kept) for one in name[:kept]) + (f" and {rest} more" if rest else "")
