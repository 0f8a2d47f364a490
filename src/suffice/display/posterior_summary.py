"""Beliefs as summaries: the expected parameters, how sure they are, and the evidence."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from typing import Any

import numpy as np

from suffice.display.fit_summary import LEVEL, LONG, column_names, under_column
from suffice.display.html import of_summary
from suffice.display.names import display_name
from suffice.display.rich_text import Page
from suffice.display.summary import Fact, Head, Parameter, Row, Summary
from suffice.display.text import page
from suffice.display.values import ColumnSummary, measured, score
from suffice.types import Alert

HEADS = ("mean", "std", "95 % interval")


class Belief(Page):
    """A base of posteriors: it shows what is believed of each parameter.

    ``column_names`` are those of the data's columns, where they have some and the likelihood has none.
    """

    column_names: tuple[Any, ...] | None

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """What to know before trusting the answers."""
        raise NotImplementedError

    def with_column_names(self, names: tuple[Any, ...]) -> Any:
        """The same belief, which calls the columns by these names."""
        found = copy(self)  # with all that was computed of it
        if "alerts" in vars(self):
            vars(found)["alerts"] = tuple(alert.with_names(names) for alert in self.alerts)
        vars(found)["column_names"] = names
        return found

    def summarize(self: Any) -> Summary:
        """What there is to say about the belief, as values."""
        return of_posterior(self, self.likelihood.name)

    def summary(self: Any, width: int | None = None) -> str:
        """The belief as a page of text, in lines of a width."""
        return page(self.summarize(), width)

    def _repr_html_(self: Any) -> str:
        """Show the belief as a table in a notebook."""
        return of_summary(self.summarize())

    def __str__(self) -> str:
        """Show the summary."""
        return self.summary()


def of_posterior(post: Any, of: str) -> Summary:
    """The summary of a belief about one family."""
    belief = getattr(post, "belief", None)
    numbers = believed(post, post.column_names)
    text = repr(belief)
    kind = "Belief" if belief is None else text if len(text) <= LONG else type(belief).__name__
    return assembled(f"{kind} about {_about(numbers)} of {of}", post, numbers, of)


def assembled(title: str, post: Any, numbers: tuple[Parameter, ...], family: str) -> Summary:
    """Title, evidence and parameters as a summary."""
    columns = tuple(dict.fromkeys(one.column for one in numbers))
    rows = tuple(
        Row(column, (ColumnSummary(tuple(_piece(one) for one in numbers if one.column == column)),), family)
        for column in columns
    )
    evidence = float(np.sum(post.log_evidence))
    text = "undefined" if np.isnan(evidence) else score(evidence)
    return Summary(
        title,
        statistics=(Fact("log evidence", evidence, f"log evidence {text}"),),
        components=(Head(""),),
        rows=rows,
        parameters=numbers,
        heads=HEADS,
        alerts=tuple(post.alerts),
    )


def _about(numbers: tuple[Parameter, ...]) -> str:
    names = list(dict.fromkeys(one.label.partition("[")[0] for one in numbers))
    return " and ".join(names) or "nothing"


def _piece(one: Parameter) -> str:
    own = display_name(one.column)  # of a vector, whose numbers say of which columns they are: the row says it, too
    label = "var" if one.label == f"cov[{own}, {own}]" else one.label.removesuffix(f"[{own}]")
    return f"{display_name(label, LEVEL)} {measured(one.value, one.error)}"


def believed(post: Any, names: tuple[Hashable, ...] | None = None) -> tuple[Parameter, ...]:
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
