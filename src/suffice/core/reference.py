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

An improper prior has no constant, so the evidence is undefined: ``log_evidence`` is NaN.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from suffice.core.errors import ParameterError, UnsupportedError
from suffice.core.posterior import Posterior

NOTHING = SimpleNamespace(a=0.0, b=0.0, alpha=0.0, shape=0.0, rate=0.0)  # the limit of conjugate priors of no rows


def reference_posterior(likelihood: Any, stats: Any) -> Posterior:
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
    evidence: Any = float("nan") if model.lone else np.full(model.members, np.nan)
    return Posterior(model, belief.squeezed(model.lacking), evidence, (("improper", text),))
