"""Model files as the commands see them: a distribution, and the names of its columns and classes."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.data import hint, known
from suffice.engines.once import cached_property

if TYPE_CHECKING:
    from collections.abc import Hashable

    from suffice.em.result import Fit
    from suffice.estimators.naive_bayes import NaiveBayes

CLASS, MEMBER = "class", "component"
TRUE, FALSE = {"true", "yes", "1"}, {"false", "no", "0"}


@dataclass(frozen=True)
class Model:
    """What a model file holds."""

    path: str
    value: Any  # a Fit, an estimator or a distribution

    @cached_property
    def distribution(self) -> Any:
        """The learned distribution."""
        for name in ("distribution", "distribution_"):
            if hasattr(self.value, name):
                return getattr(self.value, name)
        return self.value

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The classes of a classifier, else nothing."""
        return tuple(getattr(self.distribution, "labels", ()))

    @cached_property
    def joint(self) -> Any:
        """What answers questions: of a classifier the class is one more column, by the name of its target.

        Of a hidden Markov model it is a row of which nothing is known, a mixture by the shares of its states.
        """
        if self.follows:
            return self.distribution.row_distribution
        if self.labels:
            return self.distribution.with_class_column(self.target)
        return self.value if hasattr(self.value, "given") else self.distribution

    @property
    def follows(self) -> bool:
        """Whether it is of rows that follow each other, by states that are not seen."""
        return bool(self.distribution.is_chain)

    @cached_property
    def target(self) -> str:
        """What the classes are called: as the column from which they were learned, where that is known."""
        return str(getattr(self.value, "target_name_", CLASS))

    @cached_property
    def names(self) -> tuple[Any, ...]:
        """The columns, in the order of the distribution; those of a classifier with the class at the end."""
        found = getattr(self.value, "names", None) or getattr(self.distribution, "column_names", None)
        columns = tuple(range(self.distribution.columns or 1)) if found is None else tuple(found)
        return (*columns, self.target) if self.labels else columns

    @cached_property
    def layout(self) -> tuple[tuple[Any, ...], ...]:
        """What the table of the fit was like: name, kind and unit of each column, in its order."""
        known = getattr(self.value, "layout", ())
        if known or not self.labels:
            return tuple(known)
        found = getattr(getattr(self.value, "prototype_", None), "findings", ())
        units = ((one.name, one.unit, one.family) for one in found)
        return tuple((name, "whole" if unit == 1 else "real", unit) for name, unit, family in units if family)

    def summarize(self) -> Any:
        """What there is to say about it, as values."""
        return self.value.summarize()

    @property
    def n_components(self) -> int:
        """How many components or classes there are; 0 for what is no mixture."""
        return int(self.distribution.n) if hasattr(self.distribution, "weights") else 0

    @property
    def who(self) -> str:
        """What those are called that make rows."""
        return CLASS if self.labels else MEMBER

    def levels(self, name: Hashable) -> tuple[Any, ...] | None:
        """The labels that a column can have; None for numbers."""
        if self.labels and name == self.target:
            return self.labels
        family, place = self._home(name)
        levels = getattr(family, "levels", None)
        if levels is not None:
            several = place is not None and len(levels) and isinstance(levels[0], tuple)
            return tuple(levels[place] if several else levels)
        return (False, True) if getattr(family, "labelled", False) else None

    def _home(self, name: Hashable) -> tuple[Any, int | None]:
        """The family of a column in the first component, and its place where the family describes several."""
        one = self.joint if self.follows else self.distribution
        while hasattr(one, "weights"):
            one = one.parts[0]
        for key, block in one.blocks.items():
            if key == name or (isinstance(key, tuple) and name in key):
                return block, key.index(name) if isinstance(key, tuple) else None
        return one, self.names.index(name)

    def parse(self, name: Hashable, text: str) -> Any:
        """A value of a column as its cells have it: numbers for numbers, a level for a label."""
        levels = self.levels(name)
        if levels is None:
            return _number(name, text)
        for level in levels:
            if str(level) == text or (isinstance(level, dt.date | dt.datetime) and level.isoformat() == text):
                return level
        if set(levels) <= {True, False} and text.lower() in TRUE | FALSE:
            return text.lower() in TRUE
        for level in levels:
            if _same_number(level, text):
                return level
        return known_level(name, text, levels)


def loaded(path: str) -> Model:
    """The model of a file."""
    import suffice as sf

    return Model(path, sf.load(path))


def saved(value: Fit | NaiveBayes, path: str) -> None:
    """Write a model; how long its passes took is left out, so that the same rows give the same bytes."""
    import numpy as np

    import suffice as sf
    from suffice.cli.terminal import note

    if hasattr(value, "trace"):
        timeless = [replace(one, seconds=np.zeros(0)) for one in (value.trace, *value.starts)]
        value = replace(value, trace=timeless[0], starts=tuple(timeless[1:]))
    sf.save(value, path)
    note(f"model saved to {path}")


def known_level(name: Hashable, text: str, levels: tuple[Any, ...]) -> Any:
    """Refuse a level that a column does not have."""
    from suffice.display.names import display_name

    msg = f"column {display_name(name)!r} has no level {display_name(text)!r}; {hint(text, levels, 20)}"
    raise click.UsageError(msg)


def pairs(given: tuple[str, ...], names: tuple[Any, ...]) -> dict[Any, str]:
    """``COLUMN=VALUE`` words by column."""
    found = {}
    for word in given:
        name, equals, text = word.partition("=")
        if not equals:
            msg = f"--given takes COLUMN=VALUE, such as bill_length_mm=40.5; got {word!r}."
            raise click.UsageError(msg)
        found[known(name, names, "--given")] = text
    return found


def _number(name: Hashable, text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        pass
    msg = f"column {str(name)!r} holds numbers; {text!r} is none."
    raise click.UsageError(msg)


def _same_number(level: str, text: str) -> bool:
    try:
        return float(text) == float(level)
    except (TypeError, ValueError):
        return False


# ---- questions -------------------------------------------------------------------------------------------------------
def whose(model: Model, word: str) -> Any:
    """The column that is asked for; None for the component itself."""
    if model.labels and word == CLASS and CLASS not in model.names:
        return model.target
    hidden = [MEMBER] if model.n_components and not model.labels and MEMBER not in model.names else []
    found = known(word, (*model.names, *hidden), "ask")
    return None if hidden and found == MEMBER else found


def cells(model: Model, given: tuple[str, ...]) -> dict[Any, Any]:
    """The cells that ``COLUMN=VALUE`` words give."""
    return {name: model.parse(name, text) for name, text in pairs(given, model.names).items()}


def conditioned(model: Model, known_cells: dict[Any, Any]) -> Any:
    """The model given some cells."""
    return model.joint.given(known_cells) if known_cells else model.joint


def row_of(model: Model, known_cells: dict[Any, Any]) -> dict[Any, Any]:
    """One row with some cells, and holes in the others."""
    return {name: [known_cells.get(name, None if model.levels(name) else float("nan"))] for name in model.names}


def evidence(model: Model, file: str, row: int, label: str | None, against: str | None) -> Any:
    """Why a row of a file is given to a class, or to a component."""
    from suffice.cli.data import row_at
    from suffice.models.class_explanation import explain
    from suffice.models.classifier import Classes
    from suffice.tables.column_names import with_all_columns

    need_components(model)
    own = model.distribution
    classes = own if model.labels else Classes(own.components, weights=own.weights, labels=tuple(range(own.n)))
    frame = row_at(file, row)
    first, second = (None if one is None else _label(one, classes.labels) for one in (label, against))
    cells = frame.to_pylist()[0]

    def name(column: Hashable) -> Any:
        return model.names[column] if isinstance(column, int) else column

    return explain(
        classes,
        classes.read(with_all_columns(classes, frame)),
        first,
        second,
        name,
        lambda column: cells.get(name(column)),
    )


def need_states(model: Model) -> None:
    """Refuse a question about states of what has none."""
    if not model.follows:
        from suffice.errors import UnsupportedError

        msg = (
            f"{model.path} is {model.distribution.name}, which has no states: learn a hidden Markov model by "
            "suffice fit FILE --sequence COLUMN --order COLUMN --states 1:5."
        )
        raise UnsupportedError(msg)


def need_components(model: Model) -> None:
    """Refuse a question about components of what has none."""
    if model.follows:
        from suffice.errors import UnsupportedError

        msg = f"{model.path} is a hidden Markov model, whose rows follow each other: suffice decode tells their states."
        raise UnsupportedError(msg)
    if not model.n_components:
        from suffice.errors import UnsupportedError

        msg = f"{model.path} is {model.distribution.name}, which has neither components nor classes: fit a mixture."
        raise UnsupportedError(msg)


def _label(text: str, labels: tuple[Any, ...]) -> Any:
    for one in labels:
        if str(one) == text:
            return one
    return known_level("class", text, labels)
