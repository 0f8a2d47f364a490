"""The variational posterior of a mixture as a page of text: a line for each member that has rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.combinators.mixture_table import Entry, table, under
from suffice.core.portrait import Portrait, Statistic
from suffice.core.readings import count as amount
from suffice.core.readings import score
from suffice.core.summary import labelled, line_width
from suffice.core.summary import page as text_page

ROW = 0.5  # rows that a member must have to be shown


def portrait(post: Any) -> Portrait:
    """What there is to say of the members with rows; those without are one note."""
    n, k, count = float(post.count.sum()), len(post.count), post.count
    live = np.flatnonzero(count >= ROW)
    own: Portrait = post.mixture.portrait(post.column_names)
    state = "converged" if post.converged else "NOT converged"
    evidence = Statistic("log evidence", post.log_evidence, f"log evidence ≥ {score(post.log_evidence)}")
    shares = tuple(
        replace(own.members[j], share=float(post.weights[j]), rows=float(count[j]))
        for j in live
        if j < len(own.members)
    )
    rows = tuple(replace(row, cells=tuple(row.cells[j] for j in live)) for row in own.rows)
    return replace(
        own,
        title=f"{own.title} by variational Bayes, {amount(n, 'row')}",
        statistics=(evidence, Statistic("members", len(live), f"{len(live)} of {k} members have rows")),
        convergence=f"{state} after {amount(post.n_iter, 'pass')}",
        members=shares,
        rows=rows if len(live) else (),
        parameters=(),
        apart=tuple(own.apart[j] for j in live) if own.apart else (),
        correlations=own.correlations if len(own.correlations) < k else tuple(own.correlations[j] for j in live),
        measure=own.measure if len(live) > 1 else "",
        notes=_emptied(post, np.flatnonzero(count < ROW)) if len(live) < k else (),
        alerts=tuple(post.alerts),
        judged=True,
    )


def page(post: Any, width: int | None = None, *, errors: bool = False) -> str:
    """The portrait as text; with ``errors`` also the belief about every parameter of the members with rows."""
    wide = line_width(width)
    live = np.flatnonzero(post.count >= ROW)
    more: list[str] = []
    if errors and len(live):
        members = _members(post)
        more = ["parameters: mean ± standard deviation of the belief"]
        more += table([members[j] for j in live], post.mixture.parts, live.tolist(), wide)
    return text_page(portrait(post), wide, more)


def _emptied(post: Any, places: Any) -> tuple[str, ...]:
    """The members that the belief did without, in one sentence."""
    which = ", ".join(map(str, places if len(places) <= 12 else [*places[:6], "…", *places[-5:]]))
    share, rows = float(post.weights[places].sum()), float(post.count[places].sum())
    none = "no rows" if rows < 1e-6 else f"less than {ROW:g} rows each"
    together = f"expected weight {share:.2g}" + (" together" if len(places) > 1 else "")
    return (f"emptied: {which} ({none}, {together})",)


def _members(post: Any) -> list[list[Entry]]:
    weights, spread = post.weights, post.std["weights"]
    found = []
    for j, one in enumerate(post.mixture.parts):
        count = Entry("rows", float(post.count[j]), 0.0, text=f"{post.count[j]:,.1f}")
        lead = [count, Entry("weight", float(weights[j]), float(spread[j]))]
        found.append([*lead, *_believed(post.mixture.beliefs, one, j, post.column_names)])
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
