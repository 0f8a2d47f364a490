"""One file per family, its conjugate prior beside it."""

from suffice.distributions.bernoulli import Bernoulli as Bernoulli
from suffice.distributions.beta import Beta as Beta
from suffice.distributions.exponential import Exponential as Exponential
from suffice.distributions.gamma import Gamma as Gamma
from suffice.distributions.lognormal import LogNormal as LogNormal
from suffice.distributions.lomax import Lomax as Lomax
from suffice.distributions.normal import Normal as Normal
from suffice.distributions.normal import NormalInverseGamma as NormalInverseGamma
from suffice.distributions.normal import NormalPrior as NormalPrior
from suffice.distributions.uniform import Uniform as Uniform
