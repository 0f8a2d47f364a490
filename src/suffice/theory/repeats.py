"""The estimates of many samples of one size: all at once where statistics are exact, else one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.parameters import LABEL
from suffice.em.loop import run_em
from suffice.em.order import align
from suffice.em.training import TrainingData
from suffice.models.mixture_components import alone
from suffice.statistics.weights import OneHot, Weights
from suffice.types import Array, Data

COLUMNS = 4096  # samples of one number that stand side by side
AT_ONCE = 64  # samples in one stack: gathering a one-hot takes rows × components steps, so a stack of all is quadratic


def learned(truth: Family, sample: Data, size: int, repeats: int) -> Iterator[tuple[Any, int]]:
    """Fit ``truth`` to each stretch of ``size`` rows; yields stacks, and how many samples each stands for.

    Of a mixture EM begins at the truth, and components are brought into its order.
    """
    rows, free = truth.read(sample), untied(truth)
    if truth.exact and takes_columns(free):
        for begin in range(0, repeats, COLUMNS):
            count = min(COLUMNS, repeats - begin)
            part = np.asarray(rows)[begin * size : (begin + count) * size].reshape(count, size).T
            wide = free.widened(count)
            yield wide.estimate(wide.suffstats(np.ascontiguousarray(part))), count
        return
    if truth.exact and not couples(free):
        for begin in range(0, repeats, AT_ONCE):
            count = min(AT_ONCE, repeats - begin)
            part = rows[begin * size : (begin + count) * size]
            codes = OneHot(np.repeat(np.arange(count), size), count) if count > 1 else None
            yield free.estimate(free.suffstats(part, codes)), count
        return
    for index in range(repeats):
        part = rows[index * size : (index + 1) * size]
        if truth.exact:
            yield truth.estimate(truth.suffstats(part)), 1
            continue
        whole = Weights.of(None, size)
        rng, latent = np.random.default_rng(index), truth.is_latent and not truth.blocks
        # Of many maxima, the one next to the truth is meant.
        start = truth.initialize(part, whole, rng, truth, None)[0] if latent else truth.start(part, whole, rng)
        found = run_em(start, TrainingData.read(start, part, whole), max_iter=500, tol=1e-10).distribution
        yield (found.permuted(align(truth, found)) if latent else found), 1


def takes_columns(model: Family) -> bool:
    """Whether samples can stand side by side as independent columns: a family of one number."""
    return not (model.blocks or model.batch or model.row_vector or model.support.core or model.support == LABEL)


def single(model: Family, count: int) -> list[Any]:
    """The fits of several samples one by one, with numbers where they describe a single column."""
    if count == 1:
        return [model.squeezed(1) if takes_one_column(model) else model]
    if not model.lone:
        return [alone(one) for one in model.unstacked]
    return [model.reshaped(lambda value, i=i: value[i]) for i in range(count)]


def takes_one_column(model: Family) -> bool:
    """Whether a fit of one sample still has the axis of its column."""
    return not model.blocks and not model.row_vector and model.batch == (1,)


def untied(model: Any) -> Any:
    """The same single distribution without ties between components, which it has none to share with."""
    if model.blocks:
        return model.rebuilt(map(untied, model.blocks.values()))
    return replace(model, tied=frozenset()) if model.tied else model


def couples(model: Family) -> bool:
    """Whether components of a stack would be estimated together, as under a pooled covariance."""
    if model.blocks:
        return any(map(couples, model.blocks.values()))
    return "E" in getattr(getattr(model, "form", None), "letters", "")


def by_sample(value: Any, true: Any, count: int) -> Any:
    """Parameters of a stack with the samples first, in the layout of the true ones."""
    if isinstance(true, dict):
        return {key: by_sample(value[key], one, count) for key, one in true.items()}
    return np.reshape(np.asarray(value, dtype=float), (count, *np.shape(true)))


def joined(parts: list[Any]) -> Any:
    """Put the samples of several stacks one after the other."""
    if isinstance(parts[0], dict):
        return {key: joined([part[key] for part in parts]) for key in parts[0]}
    return np.concatenate(parts)


def flat(value: object, lead: int = 0) -> Array:
    """Parameters, or those of blocks, as one vector; behind ``lead`` axes."""
    if isinstance(value, dict):
        return np.concatenate([flat(part, lead) for part in value.values()], axis=lead)
    array = np.asarray(value, dtype=float)
    return array.reshape((*array.shape[:lead], -1))


def free_parameters(model: Family, params: object) -> Any:
    """The parameters that fitting may change, in the layout of ``params``."""
    if not isinstance(params, dict):
        return params
    return {name: params[name] for name in model.free}
