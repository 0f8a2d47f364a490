"""Weak priors of what a hurdle makes of values that are not zero, as `weak_priors` states them.

A Normal, or the logarithm of a LogNormal: a NormalInverseGamma, as of a Normal alone. A Gamma: one row about its
shape, and nothing about its mean. Of one row with the gap g = log E x − E log x, the likelihood of the shape a at the
best rate is a^a e^(−a) e^(−a·g)/Γ(a), and that is √a·e^(−g·a) but for a factor near 1: the density Gamma(3/2, g). A
Poisson without zeros: half an event, as of a Poisson. A NegativeBinomial without zeros: one row about its size, as of
a NegativeBinomial.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.distributions.gamma import Gamma, estimate_with_shape_prior, weak_prior_of_shape
from suffice.distributions.weak_priors import EVENTS, ROWS
from suffice.numerics.newton import newton
from suffice.types import Array


def weak_prior_of_others(base: Any, stats: Any, part: float) -> Any:
    """The weak prior of a base from its statistics; None where some of its parameters are fixed or tied."""
    if base.fixed or base.tied:
        return None
    match base.name:
        case "Normal":
            return base.weak_prior(stats, part)
        case "LogNormal":
            return base.logarithm.weak_prior(stats, part)
        case "Gamma":
            return weak_prior_of_shape(stats, part)
        case "ZeroTruncatedNegativeBinomial":
            return Gamma(1 + ROWS / 2, ROWS / 2 / base.stacked.size_of_data(stats, part))
        case _:
            return Gamma(1 + EVENTS, EVENTS * np.maximum(stats.weight, 1.0) / (stats.total + EVENTS))


def estimate_others(base: Any, stats: Any, prior: Any) -> Any:
    """The base (a stack) at the mode of its posterior."""
    match base.name:
        case "Normal":
            return base.estimate(stats, prior).stacked
        case "LogNormal":
            normal = base.logarithm.estimate(replace(stats, family=""), prior).stacked
            return replace(base, mu=normal.mean, sigma=normal.std)
        case "Gamma":
            return estimate_with_shape_prior(base, stats, prior.stacked)
        case "ZeroTruncatedNegativeBinomial":
            return base.maximise(stats, prior.stacked)
        case _:
            return _truncated_poisson(base, stats, prior.stacked)


def log_prior_of_others(base: Any, prior: Any) -> Array:
    """Log density of the prior at the parameters of the base (a stack), cell by cell."""
    match base.name:
        case "Normal":
            return np.asarray(base.log_prior(prior))
        case "LogNormal":
            return np.asarray(base.logarithm.log_prior(prior))
        case "Gamma":
            return np.asarray(prior.stacked.log_cell(np.asarray(base.shape)))
        case "ZeroTruncatedNegativeBinomial":
            return np.asarray(prior.stacked.log_cell(np.asarray(base.size)))
        case _:
            return np.asarray(prior.stacked.log_cell(np.asarray(base.rate)))


def _truncated_poisson(base: Any, stats: Any, prior: Any) -> Any:
    n, total = stats.weight, stats.total
    rows = n + ROWS
    power, rate = np.asarray(prior.shape) - 1, np.asarray(prior.rate)

    def evaluate(theta: Array) -> tuple[Array, Array, Array]:
        x = theta[..., 0]
        none = np.exp(-x) / -np.expm1(-x)
        value = (total + power) * np.log(x) - (n + rate) * x - n * np.log(-np.expm1(-x))
        slope = (total + power) / x - (n + rate) - n * none
        bend = -(total + power) / x**2 + n * none * (1 + none)
        return value / rows, (slope / rows)[..., None], (bend / rows)[..., None, None]

    begin = np.maximum((total - n + power) / (n + rate), 1e-3)
    found = newton(evaluate, np.broadcast_to(begin, n.shape)[..., None].copy(), rows, ("rate",))[..., 0]
    return replace(base, rate=found)
