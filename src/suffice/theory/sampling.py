"""The sampling distribution of an estimate: its mean, bias and spread over many samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.display.table import table_lines
from suffice.em.result import Fit
from suffice.errors import ParameterError
from suffice.theory.models import as_distribution, check_single, check_whole
from suffice.theory.repeats import by_sample, joined, learned, single
from suffice.types import Seed

AT_ONCE = 1 << 22  # rows that are drawn at once
Fact = str | Callable[[Any], Any]


@dataclass(frozen=True, eq=False, repr=False)
class Sampling:
    """What the estimate did over many samples.

    Attributes
    ----------
    truth
        The true parameters, or the true value of the statistic.
    mean, bias, std
        The mean of the estimates, that minus the truth, and their standard deviation, in the layout of ``truth``.
    error
        The standard error of ``mean`` and ``bias``: std/√repeats.
    draws
        Every estimate, the samples first: (repeats, …).
    """

    distribution: Any
    size: int
    repeats: int
    truth: Any
    draws: Any = field(repr=False)

    @property
    def mean(self) -> Any:
        """The mean of the estimates."""
        return _each(self.draws, lambda one: one.mean(axis=0))

    @property
    def bias(self) -> Any:
        """The mean of the estimates minus the truth."""
        return _pair(self.mean, self.truth)

    @property
    def std(self) -> Any:
        """The standard deviation of the estimates."""
        return _each(self.draws, lambda one: one.std(axis=0))

    @property
    def error(self) -> Any:
        """The standard error of the mean and of the bias."""
        return _each(self.draws, lambda one: one.std(axis=0) / np.sqrt(len(one)))

    def __repr__(self) -> str:
        """Show a table of the estimates."""
        head = ("", "truth", "mean", "bias", "± s.e.", "std")
        columns = (self.truth, self.mean, self.bias, self.error, self.std)
        rows = [(name, *values) for name, *values in _lines("", *columns)]
        cells = [head, *((name, *(f"{value:.5g}" for value in values)) for name, *values in rows)]
        table = table_lines(cells, range(len(head)))
        return "\n".join([f"{self.distribution!r}: {self.repeats:,} samples of {self.size:,} rows", *table])


def sampling(
    distribution: Family | Fit,
    size: int,
    repeats: int = 2000,
    random_state: Seed = None,
    *,
    statistic: Fact | None = None,
) -> Sampling:
    """Draw many samples of one size, fit each, and report mean, bias and spread of the estimates.

    Parameters
    ----------
    distribution : Distribution or Fit
        The truth. Its free parameters are learned again from every sample; of a mixture EM begins at the truth, and
        components are brought into its order.
    size, repeats : int
        Rows per sample, and samples. Families with exact statistics are fitted in stacks, many samples at once.
    random_state : int or Generator, optional
        The seed.
    statistic : str or callable, optional
        What to report instead of the parameters: an attribute such as ``"var"``, or a function of the fitted
        distribution that returns a number or an array.

    Returns
    -------
    Sampling

    Examples
    --------
    The variance by maximum likelihood is too small by a factor (m − 1)/m:

    >>> found = sf.theory.sampling(sf.Normal(0, 2), 5, 20_000, random_state=0, statistic="var")
    >>> bool(abs(found.mean - 4 / 5 * 4) < 4 * found.error)
    True
    """
    truth = as_distribution(distribution, "sampling")
    check_single(truth, "sampling")
    check_whole("size", size)
    check_whole("repeats", repeats)
    rng = np.random.default_rng(random_state)
    true = _true(truth, statistic)
    parts: list[Any] = []
    step = max(AT_ONCE // size, 1)
    for begin in range(0, repeats, step):
        count = min(step, repeats - begin)
        sample = truth.sample(size * count, rng)
        parts += [_estimates(model, n, true, statistic) for model, n in learned(truth, sample, size, count)]
    return Sampling(truth, int(size), int(repeats), true, joined(parts))


def _true(truth: Family, statistic: Fact | None) -> Any:
    if statistic is None:
        return truth.params
    if isinstance(statistic, str):
        if not hasattr(truth, statistic) or callable(getattr(truth, statistic)):
            msg = f"{truth.name} has no attribute {statistic!r}; give a parameter, 'mean', 'var', 'std', or a function."
            raise ParameterError(msg)
        return getattr(truth, statistic)
    return statistic(truth)


def _estimates(model: Family, count: int, true: object, statistic: Fact | None) -> Any:
    """What a stack of fits says, with the samples first."""
    if statistic is None:
        return by_sample(model.params, true, count)
    if isinstance(statistic, str):
        return by_sample(getattr(model, statistic), true, count)
    return joined([by_sample(statistic(one), true, 1) for one in single(model, count)])


def _each(value: object, f: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _each(one, f) for key, one in value.items()}
    found = f(value)
    return float(found) if np.ndim(found) == 0 else found


def _pair(mean: Any, true: object) -> Any:
    if isinstance(true, dict):
        return {key: _pair(mean[key], one) for key, one in true.items()}
    away = np.asarray(mean) - np.asarray(true, dtype=float)
    return float(away) if np.ndim(away) == 0 else away


def _lines(name: str, *columns: Any) -> list[tuple[Any, ...]]:
    """One line for each number: its name and its entry in every column."""
    first = columns[0]
    if isinstance(first, dict):
        return [
            line
            for key in first
            for line in _lines(f"{name}{': ' if name else ''}{key}", *(one[key] for one in columns))
        ]
    arrays = [np.asarray(one, dtype=float) for one in columns]
    return [
        (name + (f"[{', '.join(map(str, place))}]" if place else ""), *(float(one[place]) for one in arrays))
        for place in np.ndindex(arrays[0].shape)
    ]
