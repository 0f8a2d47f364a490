"""Probabilities of statements about parameters: P(θ ≤ t) and P(statement about θ), given the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from suffice.bayes.prior_function import in_order
from suffice.core.family import Family
from suffice.errors import ParameterError, SufficeError, UnsupportedError
from suffice.numerics.adaptive_quadrature import Nested
from suffice.types import Array, Seed

# Where the quantiles of a belief are looked at first, of one and of two parameters.
LEVELS = np.concatenate([[0, 1e-9, 1e-6, 1e-4, 1e-3], np.linspace(0.005, 0.995, 100), [0.999, 0.9999, 1 - 1e-6, 1]])
COARSE = np.concatenate([[0, 1e-4, 0.005], np.linspace(0.02, 0.98, 13), [0.995, 1 - 1e-4, 1]])
TOLERANCES = {1: (1e-12,), 2: (1e-8, 1e-9)}
ORDER = 16
DRAWS = 100_000  # where only sampling is possible


class Probability(float):
    """A probability, and how far it may be off: ``error``.

    ``error`` is that of the quadrature, or the standard error where the belief was sampled; then it is shown.
    """

    error: float

    def __new__(cls, value: float, error: float = 0.0) -> Self:
        """Keep the value within 0 and 1."""
        found = super().__new__(cls, min(max(float(value), 0.0), 1.0))
        found.error = float(error)
        return found

    def __repr__(self) -> str:
        """Show the number, and its standard error where it was sampled."""
        number = float.__repr__(self)
        return number if self.error < 1e-5 else f"{float(self):.5g} ± {self.error:.1g}"

    __str__ = __repr__

    def __reduce__(self) -> tuple[type[Probability], tuple[float, float]]:
        """Return what makes it again."""
        return Probability, (float(self), self.error)


def by_parameter(answer: Callable[[str, Any], Any], names: tuple[str, ...], t: object, named: dict[str, Any]) -> Any:
    """The answer about a value of one parameter, or about values by name."""
    given = {**t, **named} if isinstance(t, dict) else named
    if not given:
        if t is None or len(names) > 1:
            example = ", ".join(f"{name}=…" for name in names)
            msg = f"cdf needs a value of a parameter; the belief speaks of {', '.join(names)}: give cdf({example})."
            raise ParameterError(msg)
        return answer(names[0], _number(names[0], t))
    if t is not None and not isinstance(t, dict):
        msg = f"give cdf a value or values by name, not both; got {t!r:.40} and {', '.join(named)}."
        raise ParameterError(msg)
    for name in given:
        if name not in names:
            msg = f"this belief does not speak of {name!r}; it speaks of {', '.join(names)}."
            raise ParameterError(msg)
    found = {name: answer(name, _number(name, value)) for name, value in given.items()}
    return next(iter(found.values())) if len(found) == 1 else found


def _number(name: str, value: object) -> Array:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.asarray(np.nan)
    if np.isnan(array).any():
        msg = f"cdf takes numbers; got {name} = {value!r:.60}."
        raise ParameterError(msg)
    return array


def holds(predicate: object, names: tuple[str, ...], columns: list[Array]) -> Array:
    """Where a statement about the parameters holds, (n,), or an error that shows how to write it."""
    signature = f"({', '.join(names)})"
    remedy = "It gets arrays of the parameters and returns an array of True and False: write & for and, | for or."
    if not callable(predicate):
        msg = f"prob takes a function of {signature}, such as lambda p: p > 0.5; got {predicate!r:.60}."
        raise ParameterError(msg)
    try:
        found = np.asarray(in_order(predicate, names)(*columns))
    except SufficeError:
        raise
    except Exception as error:
        msg = f"the statement could not be called with arrays of {signature}: {error}. {remedy}"
        raise ParameterError(msg) from error
    count = len(columns[0])
    if found.dtype != bool or found.shape not in ((), (count,)):
        msg = f"the statement returned {found.dtype} of shape {found.shape} for {count} values of {signature}. {remedy}"
        raise ParameterError(msg)
    return np.broadcast_to(found, (count,))


def conjugate_probability(post: Any, predicate: object, random_state: Seed) -> Probability:
    """P(statement) under a conjugate belief: by quadrature over its quantiles, or by sampling where it is a vector."""
    belief, names = post.belief, post.names
    transform = getattr(belief, "from_uniform", None)
    if transform is None and not hasattr(belief, "marginal_cdf"):  # one number: its quantiles

        def transform(u: Array) -> list[Array]:
            return [np.asarray(belief.inverse(u[:, 0]))]

    if belief.batch or transform is None:
        return sampled_probability(post, predicate, names, random_state)
    edges = [LEVELS] if len(names) == 1 else [COARSE] * len(names)
    low, high = np.finfo(float).tiny, 1 - np.finfo(float).eps

    def log_f(u: Array) -> Array:
        with np.errstate(divide="ignore"):
            true = holds(predicate, names, transform(np.clip(u, low, high)))
            return np.asarray(np.log(true.astype(float)))

    nested = Nested(log_f, edges, 0.0, ORDER, TOLERANCES[len(names)])
    panels = nested.panels(np.zeros((1, 0)))
    return Probability(float(panels.masses.sum()), TOLERANCES[len(names)][0])


def sampled_probability(post: Any, predicate: object, names: tuple[str, ...], random_state: Any) -> Probability:
    """P(statement) by drawing parameters, with its standard error."""
    drawn = post.sample(DRAWS, 0 if random_state is None else random_state)
    columns = [drawn[name] for name in names] if isinstance(drawn, dict) else [drawn]
    share = float(holds(predicate, names, [np.asarray(one) for one in columns]).mean())
    return Probability(share, np.sqrt(max(share * (1 - share), 1 / DRAWS) / DRAWS))


def cumulative(belief: Family, name: str, t: Array) -> Any:
    """P(θ ≤ t) of a belief's parameter, element by element."""
    own = getattr(belief, "marginal_cdf", None)
    if own is not None:
        return own(name, t)
    try:
        return belief.cumulative(t)
    except UnsupportedError as error:
        msg = f"{belief.name} has no cumulative distribution of {name} in closed form; use prob(lambda …: …)."
        raise UnsupportedError(msg) from error
