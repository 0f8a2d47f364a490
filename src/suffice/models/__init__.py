"""Distributions made of distributions."""

from suffice.models.hidden_markov import HiddenMarkov as HiddenMarkov
from suffice.models.markov_chain import MarkovChain as MarkovChain
from suffice.models.mixture import Mixture as Mixture
from suffice.models.product import Product as Product
from suffice.models.product_posterior import ProductPosterior as ProductPosterior
from suffice.models.stack import Stack as Stack
from suffice.models.weight_posterior import StickBreaking as StickBreaking
