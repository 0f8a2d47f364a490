"""Pictures of decisions: what speaks for a class, and what against it."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.canvas import BLUE, DARK, GREY, RED, axes, dress, title
from suffice.combinators.evidence import Explanation, named, shown

MOST = 14  # bars; the smallest of more are drawn as one


def evidence(explanation: Explanation, *, ax: Any = None) -> Any:
    """Draw prior log-odds and the term of each column as bars that add up to the log-odds of the class.

    Bars to the right speak for the class. Returns the Matplotlib axes.

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
            f"{height:+.2f}".replace("-", "−"),
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
    ax.set_xlabel(f"←  for {explanation.against!r}      nats      for {explanation.label!r}  →")
    title(
        ax,
        f"{explanation.label!r} against {explanation.against!r}: log-odds {total:+.2f}, p "
        + (f"= {explanation.probability:.3g}" if explanation.probability < 0.9995 else "> 0.999"),
    )
    return ax


def _tick(explanation: Explanation, name: Any) -> str:
    value = explanation.values.get(name)
    text = f"{named(name)} = {shown(value)}"
    return text if len(text) <= 44 else text[:43] + "…"
