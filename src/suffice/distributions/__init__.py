"""One file per family, its conjugate prior beside it."""

from suffice.core.distribution import Distribution
from suffice.core.document import document
from suffice.distributions.bernoulli import Bernoulli as Bernoulli
from suffice.distributions.beta import Beta as Beta
from suffice.distributions.beta_binomial import BetaBinomial as BetaBinomial
from suffice.distributions.beta_geometric import BetaGeometric as BetaGeometric
from suffice.distributions.binomial import Binomial as Binomial
from suffice.distributions.categorical import Categorical as Categorical
from suffice.distributions.dirichlet import Dirichlet as Dirichlet
from suffice.distributions.dirichlet_multinomial import DirichletMultinomial as DirichletMultinomial
from suffice.distributions.exponential import Exponential as Exponential
from suffice.distributions.gamma import Gamma as Gamma
from suffice.distributions.geometric import Geometric as Geometric
from suffice.distributions.laplace import Laplace as Laplace
from suffice.distributions.lognormal import LogNormal as LogNormal
from suffice.distributions.lomax import Lomax as Lomax
from suffice.distributions.multinomial import Multinomial as Multinomial
from suffice.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from suffice.distributions.multivariate_student_t import MultivariateStudentT as MultivariateStudentT
from suffice.distributions.negative_binomial import NegativeBinomial as NegativeBinomial
from suffice.distributions.normal import Normal as Normal
from suffice.distributions.normal import NormalInverseGamma as NormalInverseGamma
from suffice.distributions.normal import NormalPrior as NormalPrior
from suffice.distributions.normal_inverse_wishart import NormalInverseWishart as NormalInverseWishart
from suffice.distributions.poisson import Poisson as Poisson
from suffice.distributions.student_t import StudentT as StudentT
from suffice.distributions.uniform import Uniform as Uniform
from suffice.distributions.user_family import ExponentialFamily as ExponentialFamily
from suffice.distributions.von_mises import VonMises as VonMises
from suffice.distributions.weibull import Weibull as Weibull

for _family in [value for value in globals().values() if isinstance(value, type) and issubclass(value, Distribution)]:
    document(_family)
