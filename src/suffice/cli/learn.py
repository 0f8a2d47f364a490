"""What `suffice fit` learns: a mixture or hidden Markov model, of one size or the best of several, or a classifier."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from suffice.cli.data import column, without_nan
from suffice.cli.progress import progress

if TYPE_CHECKING:
    from suffice.types import Array


@dataclass(frozen=True)
class Request:
    """What is asked for, in the library's own values."""

    data: Any
    overrides: dict[Any, Any]
    sizes: list[int]
    joint: bool = False
    structures: tuple[str, ...] | str | None = None
    prior: str | None = None
    weights: Any = None
    seed: int = 0
    starts: int = 1
    max_iter: int = 1000
    tol: float | None = None
    criterion: str = "bic"
    checkpoint: str | None = None
    resume: bool = False
    quiet: bool = False
    follows: bool = False  # whether rows follow each other
    sequence: Any = None
    order: Any = None


@dataclass(frozen=True)
class Learned:
    """A model, what it was chosen by, and whether the user stopped it on its way."""

    model: Any
    schema: Any
    selection: Any = None
    target: Any = None  # the class of each row
    rows: Any = None  # what it was learned from, where that is not the files as they are
    interrupted: bool = False
    resumable: bool = False  # whether a checkpoint knows where it was stopped

    @property
    def around(self) -> dict[str, Any]:
        """What a report also wants to know."""
        return {"schema": self.schema, "selection": self.selection, "target": self.target}


def mixture(asked: Request) -> Learned:
    """One mixture by `sf.fit`, or the best of several by `sf.select`."""
    import suffice as sf
    from suffice.selection.candidates import candidates

    schema = sf.infer(asked.data, asked.overrides, joint=asked.joint, weights=asked.weights)
    groups = candidates(schema, asked.sizes, asked.structures, None)
    return _one_or_best(asked, [one.mixture for group in groups for one in group], schema, asked.data, schema)


def chain(asked: Request) -> Learned:
    """One hidden Markov model by `sf.fit`, or the best of several numbers of states by `sf.select`."""
    import suffice as sf
    from suffice.cli.sequences import read
    from suffice.selection.chains import chain_candidates

    schema = sf.infer(asked.data, asked.overrides, joint=asked.joint)
    columns = [one.name for one in schema.findings if one.family is not None]
    rows = read(asked.data, columns, asked.sequence, asked.order)
    prototype = sf.HiddenMarkov(schema, asked.sizes[0])
    found = chain_candidates(prototype, asked.sizes, asked.structures, None)
    learned = _one_or_best(asked, [one.mixture for one in found], prototype, rows, schema)
    return replace(learned, rows=rows)


def _one_or_best(asked: Request, models: list[Any], prototype: Any, rows: Any, schema: Any) -> Learned:
    """The fit of the only model that is asked for, or the best of several sizes and structures of the prototype."""
    import suffice as sf

    shared: dict[str, Any] = {"weights": asked.weights, "prior": asked.prior, "random_state": asked.seed}
    if len(models) == 1:
        with progress(rows=len(asked.data), starts=asked.starts, quiet=asked.quiet) as reporter:
            found = sf.fit(
                models[0],
                rows,
                n_init=asked.starts,
                max_iter=asked.max_iter,
                tol=asked.tol,
                callback=reporter and reporter.passed,
                checkpoint=asked.checkpoint,
                resume=asked.resume,
                **shared,
            )
        stopped = any(alert.interrupted for alert in found.alerts)
        return Learned(found, schema, interrupted=stopped, resumable=stopped and asked.checkpoint is not None)
    kind = "state" if asked.follows else "component"
    with progress(rows=len(asked.data), candidates=len(models), quiet=asked.quiet, kind=kind) as reporter:
        selection = sf.select(
            prototype,
            rows,
            n_components=asked.sizes,
            structures=asked.structures,
            criterion=asked.criterion,
            callback=reporter and reporter.chosen,
            **shared,
        )
    return Learned(selection.best, schema, selection, interrupted=any(alert.interrupted for alert in selection.alerts))


def classifier(asked: Request, target: str) -> Learned:
    """A classifier of a column, from the others; rows whose class is missing take part where all fit into memory."""
    import suffice as sf
    from suffice.tables.frame import holes

    families = {name: one for name, one in asked.overrides.items() if name != target}
    model = sf.NaiveBayes(
        families,
        joint=asked.joint,
        prior=asked.prior,
        max_iter=asked.max_iter,
        tol=asked.tol,
        random_state=asked.seed,
    )
    classes = column(asked.data, target)
    _refuse_numbers(classes, target)
    if not holes(classes).any():
        model.fit(asked.data, target, sample_weight=asked.weights)
    else:
        weights = None if asked.weights is None else column(asked.data, asked.weights)
        others = asked.data.table(columns=[name for name in asked.data.names if name not in (target, asked.weights)])
        model.fit(without_nan(others), classes, sample_weight=weights)
    model.target_name_ = target
    return Learned(model, model.prototype_, target=classes)


def _refuse_numbers(classes: Array, target: Hashable) -> None:
    """Refuse a target of so many different numbers that it is an amount and no class."""
    import numpy as np

    from suffice.errors import DataError
    from suffice.estimators.targets import is_numeric_target
    from suffice.tables.frame import holes

    if classes.dtype.kind not in "iuf":
        return
    seen = classes[~holes(classes)]
    different = np.unique(seen)
    if is_numeric_target(different, len(seen)):
        msg = (
            f"--target {target}: it has {len(different):,} different numbers in {len(seen):,} rows, so it looks like a "
            "number and not like a class. Learn all columns without --target, and then: "
            f"suffice ask MODEL {target} --given …"
        )
        raise DataError(msg)
