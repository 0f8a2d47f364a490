"""A user's prior function: called with arrays, checked at every answer, and paired with a likelihood."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from suffice.bayes.coordinates import LogDensity, Space
from suffice.bayes.integral import ImproperError
from suffice.core.family import Family
from suffice.core.likelihood import Score
from suffice.errors import ParameterError, SufficeError
from suffice.types import Array


def in_order(prior: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """The user's density as a function of the parameters by position.

    Where its arguments are named like the parameters it is given them by name, whatever their order.
    """
    try:
        arguments = inspect.signature(prior).parameters.values()
    except (TypeError, ValueError):  # written in C: nothing is known of its arguments
        return prior
    given = tuple(one.name for one in arguments if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD)
    if set(given) == set(names) and given != names:

        @wraps(prior)
        def ordered(*values: Any) -> Any:
            return prior(**dict(zip(names, values, strict=True)))

        return ordered
    for place, name in enumerate(given):
        if name in names and names.index(name) != place:
            msg = (
                f"the prior takes ({', '.join(given)}), but the parameters come by position as ({', '.join(names)}). "
                "Put its arguments in that order, or give all of them those names."
            )
            raise ParameterError(msg)
    return prior


def of_function(prior: Callable[..., Any], space: Space, *, capped: bool = False) -> LogDensity:
    """The log of a user's density, with every answer checked; ``capped``: what overflows is the largest float."""
    names = tuple(axis.name for axis in space.axes)

    def log_density(theta: Array) -> Array:
        columns = [np.ascontiguousarray(theta[:, i]) for i in range(theta.shape[1])]
        with np.errstate(all="ignore"):
            values = called(prior, columns, names)
        if capped:
            values = np.where(np.isposinf(values), np.finfo(float).max, values)
        wrong = np.isnan(values) | (values < 0) | np.isposinf(values)
        if wrong.any():
            at = int(np.argmax(wrong))
            if np.isposinf(values[at]):
                _refuse_overflow(prior, space, theta[at])
            place = ", ".join(f"{name} = {theta[at, i]:.6g}" for i, name in enumerate(names))
            rule = "a density is a finite number of at least 0"
            remedy = "Mend it there, for instance with np.where."
            if values[at] < 0:
                remedy = "If it returns the logarithm of a density, return np.exp of that."
            msg = f"the prior is {values[at]:g} at {place}, but {rule}. {remedy}"
            raise ParameterError(msg)
        with np.errstate(divide="ignore"):
            return np.log(values)

    return log_density


def _refuse_overflow(prior: Callable[..., Any], space: Space, theta: Array) -> None:
    """Refuse a density that is infinite at ``theta`` and stays so up to the end of an axis: its integral is."""
    at = space.coordinates(theta)
    for j, axis in enumerate(space.axes):
        for side, end in enumerate(axis.limits):
            point = space.values(np.where(np.arange(space.size) == j, end, at)[None])
            with np.errstate(all="ignore"):
                value = called(prior, list(point.T), tuple(one.name for one in space.axes))[0]
            if np.isposinf(value):
                raise ImproperError.towards(axis, side)


def refuse_overflow(prior: Callable[..., Any], theta: Array, names: tuple[str, ...]) -> None:
    """Refuse a density that overflows at one of the points (N, p), which have the mass of likelihood × prior."""
    with np.errstate(all="ignore"):
        infinite = np.isposinf(called(prior, list(theta.T), names))
    if infinite.any():
        at = zip(names, theta[int(np.argmax(infinite))], strict=True)
        place = ", ".join(f"{name} = {value:.6g}" for name, value in at)
        msg = (
            f"the prior overflows at {place}, where likelihood × prior has its mass. Divide it by a constant, or give "
            "one that grows less fast."
        )
        raise ParameterError(msg)


def called(prior: Callable[..., Any], columns: list[Array], names: tuple[str, ...]) -> Array:
    """What the function answers for columns of parameters, or an error that shows how to write it for arrays."""
    signature = f"({', '.join(names)})"
    remedy = "It gets arrays and returns an array of that length: write np.where for if, np.exp for math.exp."
    try:
        values = np.asarray(prior(*columns), dtype=float)
    except SufficeError:
        raise
    except Exception as error:
        msg = f"the prior could not be called with arrays of {signature}: {error}. {remedy}"
        raise ParameterError(msg) from error
    count = len(columns[0])
    if values.shape == (count,):
        return values
    if values.ndim == 0:  # a constant is the one density that may forget the shape of its argument
        halves = [np.asarray(prior(*(c[:1] for c in columns))), np.asarray(prior(*(c[-1:] for c in columns)))]
        if all(half.ndim == 0 and half == values for half in halves):
            return np.full(count, float(values))
    msg = f"the prior returned an array of shape {values.shape} for {count} values of {signature}. {remedy}"
    raise ParameterError(msg)


def of_candidates(model: Family, score: Score) -> LogDensity:
    """The log-likelihood as a function of the free parameters."""

    def log_likelihood(theta: Array) -> Array:
        try:
            stack = at_points(model, theta)
        except ParameterError as error:
            msg = f"the prior is positive where the parameters do not go together. {error} Let it be 0 there: np.where."
            raise ParameterError(msg) from error
        return score(stack)

    return log_likelihood


def at_points(model: Family, theta: Array) -> Any:
    """The likelihood as a stack, one component for each row of parameters."""
    return replace(model.stack(len(theta)), **{name: theta[:, i, None] for i, name in enumerate(model.free)})
