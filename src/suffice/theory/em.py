"""The bound that EM raises, for any responsibilities, and the two parts of what a step gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.responsibilities import normalize
from suffice.em.result import Fit
from suffice.errors import DataError, ParameterError
from suffice.models.mixture import Mixture
from suffice.models.mixture_answers import Gain
from suffice.models.mixture_em_step import weighted_total
from suffice.statistics.weights import OneHot, Weights
from suffice.theory.models import as_distribution
from suffice.types import Array, Data

SUMS = 1e-8  # how far the responsibilities of a row may be from adding up to 1


@dataclass(frozen=True)
class EMBound:
    """G(Q, θ) with its two terms, and how far it lies below log L(θ).

    Attributes
    ----------
    value : float
        G(Q, θ) = ``expected`` + ``entropy``.
    expected : float
        Σ Q log p(x, component): the expected complete-data log-likelihood.
    entropy : float
        H(Q), the entropy of the responsibilities.
    gap : float
        log L(θ) − G(Q, θ) = D(Q‖P_θ[component | x]), at least 0, and 0 only where Q is the posterior.
    log_likelihood : float
        log L(θ).
    """

    value: float
    expected: float
    entropy: float
    gap: float
    log_likelihood: float


def em_bound(mixture: Mixture | Fit, x: Data, Q: Data = None, *, weights: Data = None) -> EMBound:
    """The bound of EM for any responsibilities: G(Q, θ) = Σ Q log p(x, component) + H(Q) ≤ log L(θ).

    Parameters
    ----------
    mixture : Mixture or Fit
        The parameters θ.
    x : array, frame, columns by name, or files
        Rows.
    Q : array (n, k) or OneHot, optional
        The probabilities that each component made each row: each row adds up to 1. By default the posterior, where
        the bound touches log L.
    weights : array (n,), optional
        A weight for each row.

    Returns
    -------
    EMBound

    Examples
    --------
    >>> mixture = sf.Mixture([sf.Normal(0, 1), sf.Normal(4, 1)])
    >>> bound = sf.theory.em_bound(mixture, [0.0, 1.0, 5.0], np.full((3, 2), 0.5))
    >>> bool(np.isclose(bound.value + bound.gap, bound.log_likelihood)), round(bound.entropy, 4)
    (True, 2.0794)
    """
    model = _mixture(mixture, "em_bound")
    rows = model.read(model.materialize(x))
    held = Weights.of(weights, len(rows)).dense()[:, 0]
    scores = np.asarray(model.scores(rows))
    posterior = normalize(scores)
    responsibilities = posterior.parts if Q is None else _responsibilities(Q, len(rows), model.n)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(responsibilities > 0, np.log(responsibilities), 0.0)
        expected = np.where(responsibilities > 0, responsibilities * scores, 0.0).sum(axis=1)
        entropy = -(responsibilities * logs).sum(axis=1)
        apart = np.where(
            responsibilities > 0, responsibilities * (logs - (scores - posterior.total[:, None])), 0.0
        ).sum(axis=1)
    first, second = weighted_total(expected, held), weighted_total(entropy, held)
    gap = weighted_total(np.maximum(apart, 0.0), held)
    return EMBound(first + second, first, second, gap, weighted_total(posterior.total, held))


def em_gain(old: Distribution | Fit, new: Distribution | Fit, x: Data, *, weights: Data = None) -> Gain:
    """What new parameters gain over old ones, in the two parts that EM knows.

    log L(θ′) − log L(θ) = [Q(θ′, θ) − Q(θ, θ)] + D(P_θ[component | x] ‖ P_θ′[component | x]), between any two
    parameters. An M-step makes the first part as large as it can be, and the second is never negative.

    Parameters
    ----------
    old, new : Mixture or Fit
        Two mixtures with as many components, in the same order.
    x : array, frame, columns by name, or files
        Rows.
    weights : array (n,), optional
        A weight for each row.

    Returns
    -------
    Gain
        ``expected``, ``divergence``, and ``total``, their sum.

    Examples
    --------
    >>> x, old = [0.0, 1.0, 5.0], sf.Mixture([sf.Normal(0, 1), sf.Normal(4, 1)])
    >>> gain = sf.theory.em_gain(old, old.em_step(x), x)
    >>> bool(np.isclose(gain.total, gain.expected + gain.divergence)), gain.expected > 0, gain.divergence > 0
    (True, True, True)
    """
    first, second = _mixture(old, "em_gain"), _mixture(new, "em_gain")
    found: Gain = first.gain(x, second, weights)
    return found


def _mixture(model: Distribution | Fit, who: str) -> Any:
    found = as_distribution(model, who)
    if not found.is_mixture:
        msg = f"{who} takes a mixture, or a fit of one; got {found.name}, which has no components that are hidden."
        raise ParameterError(msg)
    found.require_ready("have a bound")
    return found


def _responsibilities(given: object, n: int, k: int) -> Array:
    responsibilities = Weights.of(given, n).dense() if isinstance(given, OneHot) else np.asarray(given, dtype=float)
    if responsibilities.shape != (n, k):
        got = responsibilities.shape
        msg = f"Q has a row for each of the {n} rows and a column for each of the {k} components; got {got}."
        raise DataError(msg)
    if not (responsibilities >= 0).all():
        msg = "Q holds probabilities, numbers of at least 0."
        raise DataError(msg)
    sums = responsibilities.sum(axis=1)
    wrong = ~(np.abs(sums - 1) <= SUMS)
    if wrong.any():
        at = int(np.argmax(wrong))
        msg = f"each row of Q adds up to 1, but row {at} adds up to {sums[at]:g}; weights of rows go to weights=."
        raise DataError(msg)
    return responsibilities
