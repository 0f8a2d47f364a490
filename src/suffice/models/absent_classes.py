"""What classes say where they have nothing to say: cells that none can have made, and columns that one never saw."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from suffice.core.responsibilities import BLOCK_CELLS
from suffice.display.values import count
from suffice.em.alerts import columns_by_label
from suffice.em.alerts import unseen as without_cells
from suffice.errors import SufficeError, SufficeWarning
from suffice.models.mixture import Mixture
from suffice.statistics.sums import Parts, pooled
from suffice.tables.sketch import take_rows
from suffice.types import Alert, Array, Rows


def scores_of_the_rest(classes: Mixture, rows: Rows, lost: Array) -> Array:
    """Scores (m, k) of the rows ``lost``, of probability 0 under every class, without the columns that make them so.

    A column that some class may have made rules out the others, as it does everywhere.
    """
    out = np.tile(classes.log_weights, (len(lost), 1))
    eligible = classes.weights > 0
    step = max(BLOCK_CELLS // max(classes.n * int(np.prod(np.shape(rows)[1:])), 1), 1)
    first: dict[Any, int] = {}
    for begin in range(0, len(lost), step):
        part = slice(begin, begin + step)
        for columns, scores in classes.components.log_prob_by_column(take_rows(rows, lost[part])):
            never = np.isneginf(scores[:, eligible]).all(axis=1)
            if never.any():
                first.setdefault(columns, int(lost[part][np.argmax(never)]))
            out[part] += np.where(never[:, None], 0.0, scores)
    for columns, row in first.items():
        text = (
            f"row {row}, column {', '.join(map(repr, columns))}: the value has probability 0 under every class. It is "
            "left out, like a missing cell. Correct it, or choose a family that can have it."
        )
        warnings.warn(text, SufficeWarning, stacklevel=4)
    return out


def completed(stack: Any, stats: Any, count: Array, belief: Any, rows: Any = None, alone: Any = None) -> Any:
    """The components with the parameters of all rows together where one never saw a column.

    Components without any row keep what a prior says of them. ``alone(block, belief, rows)`` is the fit of all rows of
    a family whose statistics do not tell it; where there is none, components stay as they are.
    """
    if isinstance(stats, Parts) and stack.blocks:
        if stats.of_components or len(stack.blocks) != len(stats.parts):
            return stack
        views = [None] * len(stats.parts) if rows is None else rows.parts
        beliefs = stack.priors(belief)
        paired = zip(stack.blocks.items(), stats.parts, views, strict=True)
        blocks = [completed(one, part, count, beliefs.get(key), view, alone) for (key, one), part, view in paired]
        same = all(new is old for new, old in zip(blocks, stack.blocks.values(), strict=True))
        return stack if same else stack.rebuilt(blocks)
    blank = np.asarray(stats.weight) == 0
    blank = blank & blank.any(axis=0) & ~blank.all(axis=0)
    if belief is not None:
        blank &= (count > 0).reshape(-1, *(1,) * (blank.ndim - 1))
    if not blank.any():
        return stack
    one, common = stack.unstacked[0], None if getattr(belief, "n_components", 1) > 1 else belief
    try:
        whole = one.estimate(pooled(stats), common) if stats.exact else alone(one, common, rows)
        return whole.stack(len(blank)).choose(blank, stack)
    except SufficeError:  # rows that tell nothing of the family
        return stack


def unseen(classes: Any, stats: Any) -> Iterator[Alert]:
    """An alert for each class and column of which it has no cell, though it has rows; and for columns without any."""
    weight = np.asarray(classes.components.seen_cells(stats.components)).reshape(classes.n, -1)
    nobody = np.flatnonzero(~weight.any(axis=0))
    if len(nobody) and weight.any():
        yield without_cells(classes.components, nobody)
    for index, column in np.argwhere((weight == 0) & (stats.count > 0)[:, None] & weight.any(axis=0)).tolist():
        text = (
            f"class {classes.label_of(index)} ({count(stats.count[index], 'row')}) has no cell of ",
            columns_by_label(classes.components, [column]),
            (
                ": there it is described as all rows together are. Leave the column out, or tell by a column of its "
                "own whether the cell is missing."
            ),
        )
        yield Alert("unseen", text, component=index)
