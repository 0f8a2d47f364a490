"""Beliefs as portraits: the expected parameters, how sure they are, and the evidence."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from suffice.core.fit_portrait import LEVEL, LONG, column_names, under_column
from suffice.core.html import of_portrait
from suffice.core.names import with_names
from suffice.core.portrait import Head, Parameter, Portrait, Row, Statistic
from suffice.core.readings import Reading, measured, score
from suffice.core.rich_text import Page
from suffice.core.shown import shown
from suffice.core.summary import page

HEADS = ("mean", "std", "95 % interval")


class Belief(Page):
    """A base of posteriors: it shows what is believed of each parameter.

    ``column_names`` are those of the data's columns, where they have some and the likelihood has none.
    """

    column_names: tuple[Any, ...] | None
    alerts: Any

    def with_column_names(self, names: tuple[Any, ...]) -> Any:
        """The same belief, which calls the columns by these names."""
        found = copy(self)  # with all that was computed of it
        if "alerts" in vars(self):
            vars(found)["alerts"] = tuple((code, with_names(text, names)) for code, text in self.alerts)
        vars(found)["column_names"] = names
        return found

    def portrait(self: Any) -> Portrait:
        """What there is to say about the belief, as values."""
        return of_belief(self, self.likelihood.name)

    def summary(self: Any, width: int | None = None) -> str:
        """The belief as a page of text, in lines of a width."""
        return page(self.portrait(), width)

    def _repr_html_(self: Any) -> str:
        """Show the belief as a table in a notebook."""
        return of_portrait(self.portrait())

    def __str__(self) -> str:
        """Show the summary."""
        return self.summary()


def of_belief(post: Any, of: str) -> Portrait:
    """The portrait of a belief about one family."""
    belief = getattr(post, "belief", None)
    numbers = believed(post, post.column_names)
    text = repr(belief)
    kind = "Belief" if belief is None else text if len(text) <= LONG else type(belief).__name__
    return assembled(f"{kind} about {_about(numbers)} of {of}", post, numbers, of)


def assembled(title: str, post: Any, numbers: tuple[Parameter, ...], family: str) -> Portrait:
    """Title, evidence and parameters as a portrait."""
    columns = tuple(dict.fromkeys(one.column for one in numbers))
    rows = tuple(
        Row(column, (Reading(tuple(_piece(one) for one in numbers if one.column == column)),), family)
        for column in columns
    )
    evidence = float(np.sum(post.log_evidence))
    told = "undefined" if np.isnan(evidence) else score(evidence)
    return Portrait(
        title,
        statistics=(Statistic("log evidence", evidence, f"log evidence {told}"),),
        members=(Head(""),),
        rows=rows,
        parameters=numbers,
        heads=HEADS,
        alerts=tuple(post.alerts),
    )


def _about(numbers: tuple[Parameter, ...]) -> str:
    names = list(dict.fromkeys(one.label.partition("[")[0] for one in numbers))
    return " and ".join(names) or "nothing"


def _piece(one: Parameter) -> str:
    own = shown(one.column)  # of a vector, whose numbers say of which columns they are: the row says it, too
    label = "var" if one.label == f"cov[{own}, {own}]" else one.label.removesuffix(f"[{own}]")
    return f"{shown(label, LEVEL)} {measured(one.value, one.error)}"


def believed(post: Any, names: Any = None) -> tuple[Parameter, ...]:
    """Mean, standard deviation and central interval of every number that a belief speaks of."""
    likelihood = post.likelihood
    columns = column_names(likelihood, names)
    means, spreads, ends = (_by_name(post, answer) for answer in (post.mean, post.std, post.interval()))
    found = []
    for name, mean in means.items():
        value = np.asarray(mean, dtype=float)
        spread = np.broadcast_to(np.asarray(spreads[name], dtype=float), value.shape)
        both = ends.get(name, (np.nan, np.nan))  # that of a covariance is told as that of each std
        low, high = (np.broadcast_to(np.asarray(end, dtype=float), value.shape) for end in both)
        for place in np.ndindex(*value.shape):
            column, label = under_column(likelihood, columns, name, place)
            if label:
                at = (float(value[place]), float(spread[place]), float(low[place]), float(high[place]))
                found.append(Parameter(column, label, *at))
    return tuple(found)


def _by_name(post: Any, answer: Any) -> dict[str, Any]:
    if isinstance(answer, dict):
        return answer
    names: tuple[str, ...] = getattr(post, "names", ())
    return {names[0] if len(names) == 1 else post.likelihood.belief_about: answer}
