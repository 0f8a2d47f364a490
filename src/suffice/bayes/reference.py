"""Reference priors, ``prior="reference"``: improper densities whose posterior is proper once the data suffice.

===========================  ===========================================  =============================================
family                       density of the prior                         posterior is proper if
===========================  ===========================================  =============================================
Bernoulli, Binomial,         1/(p(1 − p)) (Haldane)                       both outcomes were seen
Geometric
Categorical, Multinomial     1/Π p_j                                      every level was seen
Poisson, Exponential         1/rate                                       there was an event, in a positive time
Normal                       dμ dσ/σ: the interval of the mean is         there are two different values
                             Student's
Normal with known std        dμ                                           there is a value
MultivariateNormal           dμ dΣ/|Σ|^((d+1)/2)                          there are more rows than columns, and they
                                                                          span them
===========================  ===========================================  =============================================

An improper prior has no constant, so the evidence is undefined: ``log_evidence`` is NaN. The mode is where the density
of the family's own parameters is greatest, (mean, std) of a Normal and (mean, cov) of a MultivariateNormal, as under
the same prior given as a function. The mean of a Normal of two rows has a Cauchy's density, and no expectation: it is
NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.bayes.posterior import Posterior
from suffice.core.family import Family
from suffice.errors import ParameterError, UnsupportedError
from suffice.statistics.sums import Statistics
from suffice.types import Alert


def reference_posterior(likelihood: Family, stats: Statistics) -> Posterior:
    """The posterior under the reference prior of a family, or the reason why it is improper."""
    if likelihood.blocks or not likelihood.conjugates or not likelihood.free:
        msg = (
            f"prior='reference' is stated for families with a conjugate prior, and {likelihood.name} is none of them "
            "or has nothing to learn. Take its columns one by one, or give a density."
        )
        raise UnsupportedError(msg)
    model = likelihood.for_statistics(stats)
    try:
        belief = model.stacked.reference_belief(stats)
    except ParameterError as error:
        why = str(error).rstrip(".")
        msg = (
            f"under prior='reference' the posterior of {likelihood.name} is improper with these data ({why}). Every "
            "outcome must have been seen, values must differ, and of several columns there must be more rows than "
            "columns. Add rows, or give a proper prior such as 'weak'."
        )
        raise UnsupportedError(msg) from error
    text = "the reference prior is improper: the posterior is proper, but the evidence is undefined."
    evidence: Any = float("nan") if model.lone else np.full(model.n_components, np.nan)
    return Posterior(model, belief.squeezed(model.lacking), evidence, (Alert("improper", text),))
