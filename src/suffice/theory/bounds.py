"""Bounds that hold for any distribution, and the risk of a model with its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.core.distribution import Distribution
from suffice.em.result import Fit
from suffice.errors import DataError, ParameterError
from suffice.statistics.weights import Weights
from suffice.tables.rows import numbers
from suffice.theory.models import as_distribution
from suffice.types import Array, Data


# ---- bounds ---------------------------------------------------------------------------------------------------------
def _probability(name: str, value: float) -> float:
    if not 0 < value < 1:
        msg = f"{name} is a probability strictly between 0 and 1; got {value!r}."
        raise ParameterError(msg)
    return float(value)


def _shares(x: Data) -> Array:
    """Numbers from 0 to 1, the missing ones left out."""
    values = numbers(x, "this bound").astype(float).ravel()
    values = np.asarray(values[~np.isnan(values)])
    if not len(values):
        msg = "a mean needs at least one value."
        raise DataError(msg)
    wrong = (values < 0) | (values > 1)
    if wrong.any():
        at = int(np.argmax(wrong))
        msg = f"Hoeffding's bound is for numbers from 0 to 1, but value {at} is {values[at]:g}. Rescale them first."
        raise DataError(msg)
    return np.asarray(values)


def hoeffding_interval(x: Data, delta: float = 0.05) -> tuple[float, float]:
    """An interval that holds the expected value with probability at least 1 − ``delta``, whatever the distribution.

    The mean ± √(log(2/δ)/(2m)) for m independent numbers from 0 to 1; the interval is not cut to [0, 1], so that its
    half-width stays what the bound says. Missing numbers are left out; there are no weights, because a weighted row is
    not an independent one.

    Parameters
    ----------
    x : array (m,)
        Numbers from 0 to 1.
    delta : float
        The probability with which the interval may miss the expected value.

    Returns
    -------
    tuple of float
        Its ends, (low, high).

    Examples
    --------
    >>> low, high = sf.theory.hoeffding_interval([1, 0, 1, 1] * 25, delta=0.05)
    >>> round(low, 3), round(high, 3)
    (0.614, 0.886)
    """
    values = _shares(x)
    half = float(np.sqrt(np.log(2 / _probability("delta", delta)) / (2 * len(values))))
    mean = float(values.mean())
    return mean - half, mean + half


def hoeffding_sample_size(width: float, delta: float = 0.05) -> int:
    """The least number of rows whose Hoeffding interval has a half-width of at most ``width``.

    Parameters
    ----------
    width : float
        The half-width, above 0.
    delta : float
        The probability with which the interval may miss the expected value.

    Returns
    -------
    int

    Examples
    --------
    >>> sf.theory.hoeffding_sample_size(0.1, delta=0.05)
    185
    """
    if not width > 0:
        msg = f"width is the half-width of the interval, a number above 0; got {width!r}."
        raise ParameterError(msg)
    needed = np.log(2 / _probability("delta", delta)) / 2
    size = max(int(np.ceil(needed / width**2)), 1)
    while size > 1 and np.sqrt(needed / (size - 1)) <= width:  # rounding may have asked for one too many,
        size -= 1
    while np.sqrt(needed / size) > width:  # or for one too few
        size += 1
    return size


@dataclass(frozen=True)
class RegularisedBernoulli:
    """The estimate with two pseudo-examples, one of each kind, and what Hoeffding promises about it.

    With probability at least 1 − ``delta``: |estimate − p| ≤ ``error`` and D(p‖estimate) ≤ ``divergence``.

    Attributes
    ----------
    estimate : float
        (1 + Σx)/(m + 2).
    error, divergence : float
        The two bounds.
    n : int
        Number of rows m.
    delta : float
        The probability with which the bounds may fail.
    """

    estimate: float
    error: float
    divergence: float
    n: int
    delta: float

    def risk(self, p: float) -> float:
        """The bound on the true risk when the truth is ``p``: its entropy + ``divergence``."""
        return _binary_entropy(p) + self.divergence


def regularised_bernoulli(x: Data, delta: float = 0.05) -> RegularisedBernoulli:
    """The estimate (1 + Σx)/(m + 2) of a probability, never 0 or 1, with its bounds.

    The error is at most ε = (1 + √(m·log(2/δ)/2))/(m + 2), and D(p‖p̂) at most ε²/(p̂(1 − p̂)).

    Parameters
    ----------
    x : array (m,)
        Zeros and ones.
    delta : float
        The probability with which the bounds may fail.

    Returns
    -------
    RegularisedBernoulli

    Examples
    --------
    >>> sf.theory.regularised_bernoulli([0, 0, 0]).estimate
    0.2
    """
    values = _shares(x)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        msg = f"a Bernoulli takes 0 and 1, but value {int(np.argmax(wrong))} is {values[wrong][0]:g}."
        raise DataError(msg)
    m = len(values)
    estimate = (1 + float(values.sum())) / (m + 2)
    error = (1 + float(np.sqrt(m * np.log(2 / _probability("delta", delta)) / 2))) / (m + 2)
    return RegularisedBernoulli(estimate, error, error**2 / (estimate * (1 - estimate)), m, float(delta))


def probability_all_zeros(p: float, m: int) -> float:
    """(1 − p)^m: how often m rows of a Bernoulli(p) are all 0, so that maximum likelihood calls a 1 impossible.

    Parameters
    ----------
    p : float
        The probability of a 1.
    m : int
        Number of rows.

    Returns
    -------
    float

    Examples
    --------
    >>> round(sf.theory.probability_all_zeros(0.01, 34), 4)
    0.7106
    """
    if not 0 <= p <= 1:
        msg = f"p is a number from 0 to 1; got {p!r}."
        raise ParameterError(msg)
    if not m >= 0:
        msg = f"m is a number of rows, at least 0; got {m!r}."
        raise ParameterError(msg)
    with np.errstate(divide="ignore"):
        return float(np.exp(m * np.log1p(-p))) if m else 1.0


def _binary_entropy(p: float) -> float:
    from scipy.special import entr

    return float(entr(p) + entr(1 - p))


# ---- the log-loss view ----------------------------------------------------------------------------------------------
def entropy(distribution: Distribution | Fit) -> Any:
    """−E log p(X) in nats: the least risk that any model of this distribution can have.

    Parameters
    ----------
    distribution : Distribution or Fit
        What X is distributed as.

    Returns
    -------
    float
        Of a stack, an array with one for each; where it was sampled, with its ``error``.

    Examples
    --------
    >>> round(sf.theory.entropy(sf.Bernoulli(0.5)), 4)
    0.6931
    """
    return as_distribution(distribution, "entropy").entropy()


def kl(p: Distribution | Fit, q: Distribution | Fit) -> Any:
    """D(p‖q) in nats: the excess risk of the model ``q`` where ``p`` is the truth.

    Parameters
    ----------
    p, q : Distribution or Fit
        The truth, and the model.

    Returns
    -------
    float
        At least 0, and 0 only where both are the same distribution.

    Examples
    --------
    >>> sf.theory.kl(sf.Normal(0, 1), sf.Normal(0.5, 1))
    0.125
    """
    return as_distribution(p, "kl").kl(as_distribution(q, "kl"))


class Risk(float):
    """A risk in nats per row, with its parts: risk = ``divergence`` + ``entropy``.

    Attributes
    ----------
    divergence : float
        D(truth‖model), the excess over the least risk; NaN for an empirical risk.
    entropy : float
        H(truth), the least risk; NaN for an empirical risk.
    """

    divergence: float
    entropy: float

    def __new__(cls, value: float, divergence: float = float("nan"), entropy: float = float("nan")) -> Self:
        """Make a number that remembers its parts."""
        made = super().__new__(cls, value)
        made.divergence, made.entropy = divergence, entropy
        return made


def risk(model: Distribution | Fit, truth: Distribution | Fit, weights: Data = None) -> Risk:
    """The log-loss of a model: −mean log p over rows, or its expectation under a true distribution P.

    The true risk is D(P‖model) + H(P); the answer is a number with both parts as attributes.

    Parameters
    ----------
    model : Distribution or Fit
        The model.
    truth : Distribution, Fit or rows
        The true distribution, or rows for the empirical risk.
    weights : array (n,), optional
        A weight for each row.

    Returns
    -------
    Risk

    Examples
    --------
    >>> loss = sf.theory.risk(sf.Normal(0.5, 1), sf.Normal(0, 1))
    >>> round(loss.divergence, 6), round(loss - loss.entropy, 6)
    (0.125, 0.125)
    """
    learned, true = as_distribution(model, "risk"), getattr(truth, "distribution", truth)
    if isinstance(true, Distribution):
        excess, least = float(true.kl(learned)), float(true.entropy())
        return Risk(excess + least, excess, least)
    rows = learned.read(truth)
    if not len(rows):
        msg = "an empirical risk needs at least one row."
        raise DataError(msg)
    checked = Weights.of(weights, len(rows))
    if checked.n_components > 1:
        msg = f"an empirical risk takes one weight for each row; got one for each of {checked.n_components} components."
        raise DataError(msg)
    loss = -np.asarray(learned.log_prob(rows))
    if checked.values is None:
        return Risk(float(loss.mean()))
    counted = checked.values > 0
    return Risk(float(checked.values[counted] @ loss[counted]) / checked.total)
