"""One file per family, its conjugate prior beside it."""

from suffice.distributions.bernoulli import Bernoulli as Bernoulli
from suffice.distributions.beta import Beta as Beta
from suffice.distributions.normal import Normal as Normal
from suffice.distributions.normal import NormalInverseGamma as NormalInverseGamma
from suffice.distributions.normal import NormalPrior as NormalPrior
