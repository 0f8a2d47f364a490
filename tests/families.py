"""The families that tests run over, by what the registry says of them: a new family is in these tables by itself."""

import numpy as np

from suffice.core.conjugate import Conjugate
from suffice.core.exponential_family import ExponentialFamily
from suffice.core.parameters import LABEL
from suffice.distributions import load

FAMILIES = dict(sorted(load().items()))


def named(holds):
    """The names of the families of which ``holds`` is true."""
    return {name for name, kind in FAMILIES.items() if holds(kind)}


def known(value):
    """The parameters of a value that are given, never learned: numbers of trials, levels."""
    fields = {name: getattr(value, name) for name, spec in value.specs().items() if not spec.learned}
    return fields | ({"levels": value.levels} if value.support is LABEL else {})


def prototype(name):
    """A family to be fitted, with no more than what is never learned."""
    return FAMILIES[name](**known(FAMILIES[name].example(np.random.default_rng(0))))


def is_angle(kind):
    """Whether a parameter, and so a value, is an angle."""
    return any(spec.period for spec in kind.specs().values())


VECTORS = named(lambda kind: kind.row_vector or kind.support.core)
HURDLES = named(lambda kind: kind.__name__.startswith("Hurdle"))
ITERATIVE = named(lambda kind: not kind.example(np.random.default_rng(0)).exact)
EXPONENTIAL = named(lambda kind: issubclass(kind, ExponentialFamily))
CONJUGATE = named(lambda kind: kind.conjugates)
WEAK = named(lambda kind: kind.weak_prior is not Conjugate.weak_prior)  # prior="weak" has a meaning
# Amounts of any size: the estimate follows a change of units. Of any sign, too: it follows a shift.
SCALE = named(lambda kind: not kind.discrete and not kind.atoms and not is_angle(kind) and kind.support.high == np.inf)
LOCATION = {name for name in SCALE if FAMILIES[name].support.low == -np.inf}
