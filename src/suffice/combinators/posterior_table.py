"""The variational posterior of a mixture as a page of text: a line for each member that has rows."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from suffice.combinators.mixture_table import WIDE, Entry, table, under
from suffice.core.summary import labelled

ROW = 0.5  # rows that a member must have to be shown


def page(post: Any) -> str:
    """A sentence, its numbers, the members with rows, those without, the alerts."""
    n, k, count = float(post.count.sum()), len(post.count), post.count
    rows = f"{n:,.0f}" if abs(n - round(n)) < 1e-6 * max(n, 1.0) else f"{n:,.6g}"
    kind = f"{k} × {post.components.name}" if len({one.name for one in post.mixture.parts}) == 1 else f"{k} components"
    out = [f"Mixture of {kind} by variational Bayes, {rows} row{'s'[: rows != '1']}"]
    live = np.flatnonzero(count >= ROW)
    out.append(f"log evidence ≥ {post.log_evidence:,.2f} · {len(live)} of {k} members have rows")
    state = "converged" if post.converged else "NOT converged"
    out.append(f"{state} after {post.n_iter} pass{'es'[: 2 * (post.n_iter != 1)]} over the data")
    members = _members(post)
    if len(live):
        out.append("  mean ± standard deviation of the belief")
        out += table([members[j] for j in live], post.mixture.parts, live.tolist())
    if len(live) < k:
        out += _emptied(post, np.flatnonzero(count < ROW))
    out.append("alerts: none" if not post.alerts else "alerts:")
    for code, text in post.alerts:
        out.extend(textwrap.wrap(f"{code}: {text}", 100, initial_indent="  ! ", subsequent_indent="    "))
    return "\n".join(out)


def _emptied(post: Any, places: Any) -> list[str]:
    """The members that the belief did without, in one sentence."""
    which = ", ".join(map(str, places if len(places) <= 12 else [*places[:6], "…", *places[-5:]]))
    share, rows = float(post.weights[places].sum()), float(post.count[places].sum())
    amount = "no rows" if rows < 1e-6 else f"less than {ROW:g} rows each"
    together = f"expected weight {share:.2g}" + (" together" if len(places) > 1 else "")
    text = f"emptied: {which} ({amount}, {together})"
    return textwrap.wrap(text, WIDE, initial_indent="  ", subsequent_indent="    ")


def _members(post: Any) -> list[list[Entry]]:
    weights, spread = post.weights, post.std["weights"]
    found = []
    for j, one in enumerate(post.mixture.parts):
        count = Entry("rows", float(post.count[j]), 0.0, text=f"{post.count[j]:,.1f}")
        lead = [count, Entry("weight", float(weights[j]), float(spread[j]))]
        found.append([*lead, *_believed(post.mixture.beliefs, one, j)])
    return found


def _believed(belief: Any, one: Any, index: int | None, key: Any = None) -> list[Entry]:
    """The numbers that a belief speaks of; ``index`` is the member's place, None where it stands alone."""
    if hasattr(belief, "members"):  # members of different kinds, each with a belief of its own
        return under(key, _believed(belief.members[index], one, None))
    if hasattr(belief, "beliefs"):
        parts = belief.beliefs.items()
        return under(key, [e for name, part in parts for e in _believed(part, one.blocks[name], index, name)])
    entries: list[Entry] = []
    means, spreads = (_by_name(belief, answer) for answer in (belief.mean, belief.std))
    for name, mean in means.items():
        shape = np.shape(one.params[name])
        value, spread = (np.asarray(a if index is None else a[index]).reshape(shape) for a in (mean, spreads[name]))
        places = [(labelled(one, key, name, place), place) for place in np.ndindex(*shape)]
        entries += [Entry(label, float(value[place]), float(spread[place])) for label, place in places if label]
    return entries


def _by_name(belief: Any, answer: Any) -> dict[str, Any]:
    return answer if isinstance(answer, dict) else {belief.likelihood.belief_about: answer}
