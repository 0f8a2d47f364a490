"""What estimates are worth: bounds, risks, likelihoods as functions, scores, sampling distributions, and EM's bound.

Public as ``sf.theory``.
"""

from suffice.theory.bounds import (
    RegularisedBernoulli,
    Risk,
    entropy,
    hoeffding_interval,
    hoeffding_sample_size,
    kl,
    probability_all_zeros,
    regularised_bernoulli,
    risk,
)
from suffice.theory.consistency import Consistency, consistency
from suffice.theory.em import EMBound, em_bound, em_gain
from suffice.theory.likelihood import likelihood, likelihood_interval, profile
from suffice.theory.sampling import Sampling, sampling
from suffice.theory.score import score

__all__ = [
    "Consistency",
    "EMBound",
    "RegularisedBernoulli",
    "Risk",
    "Sampling",
    "consistency",
    "em_bound",
    "em_gain",
    "entropy",
    "hoeffding_interval",
    "hoeffding_sample_size",
    "kl",
    "likelihood",
    "likelihood_interval",
    "probability_all_zeros",
    "profile",
    "regularised_bernoulli",
    "risk",
    "sampling",
    "score",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
