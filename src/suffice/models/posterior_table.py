"""The variational posterior of a mixture as a page of text: a line for each component that has rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.bayes.posterior import Posterior
from suffice.core.family import Family
from suffice.display.summary import Fact, Summary
from suffice.display.text import labelled, line_width
from suffice.display.text import page as text_page
from suffice.display.values import count as amount
from suffice.display.values import score
from suffice.models.mixture_table import Entry, table, under
from suffice.types import Array

ROW = 0.5  # rows that a component must have to be shown


def summarize(post: Any) -> Summary:
    """What there is to say of the components with rows; those without are one note."""
    n, k, count = float(post.count.sum()), len(post.count), post.count
    live = np.flatnonzero(count >= ROW)
    own: Summary = post.mixture.summarize(post.column_names)
    state = "converged" if post.converged else "NOT converged"
    evidence = Fact("log evidence", post.log_evidence, f"log evidence ≥ {score(post.log_evidence)}")
    shares = tuple(
        replace(own.components[j], share=float(post.weights[j]), rows=float(count[j]))
        for j in live
        if j < len(own.components)
    )
    rows = tuple(replace(row, cells=tuple(row.cells[j] for j in live)) for row in own.rows)
    return replace(
        own,
        title=f"{own.title} by variational Bayes, {amount(n, 'row')}",
        statistics=(evidence, Fact("components", len(live), f"{len(live)} of {k} components have rows")),
        convergence=f"{state} after {amount(post.n_iter, 'pass')}",
        components=shares,
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
    """The summary as text; with ``errors`` also the belief about every parameter of the components with rows."""
    wide = line_width(width)
    live = np.flatnonzero(post.count >= ROW)
    more: list[str] = []
    if errors and len(live):
        components = _components(post)
        more = ["parameters: mean ± standard deviation of the belief"]
        more += table([components[j] for j in live], post.mixture.parts, live.tolist(), wide)
    return text_page(summarize(post), wide, more)


def _emptied(post: Any, places: Array) -> tuple[str, ...]:
    """The components that the belief did without, in one sentence."""
    which = ", ".join(map(str, places if len(places) <= 12 else [*places[:6], "…", *places[-5:]]))
    share, rows = float(post.weights[places].sum()), float(post.count[places].sum())
    none = "no rows" if rows < 1e-6 else f"less than {ROW:g} rows each"
    together = f"expected weight {share:.2g}" + (" together" if len(places) > 1 else "")
    return (f"emptied: {which} ({none}, {together})",)


def _components(post: Any) -> list[list[Entry]]:
    weights, spread = post.weights, post.std["weights"]
    found = []
    for j, one in enumerate(post.mixture.parts):
        count = Entry("rows", float(post.count[j]), 0.0, text=f"{post.count[j]:,.1f}")
        lead = [count, Entry("weight", float(weights[j]), float(spread[j]))]
        found.append([*lead, *_believed(post.mixture.beliefs, one, j, post.column_names)])
    return found


def _believed(belief: Posterior, one: Family, index: int | None, key: Any = None) -> list[Entry]:
    """The numbers that a belief speaks of; ``index`` is the component's place, None where it stands alone."""
    if hasattr(belief, "components"):  # components of different kinds, each with a belief of its own
        return under(key, _believed(belief.components[index], one, None))
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


def _by_name(belief: Posterior, answer: dict[Any, Any]) -> dict[str, Any]:
    return answer if isinstance(answer, dict) else {belief.likelihood.belief_about: answer}
