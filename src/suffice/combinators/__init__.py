"""Distributions made of distributions."""

from suffice.combinators.mixture import Mixture as Mixture
from suffice.combinators.product import Product as Product
from suffice.combinators.product_posterior import ProductPosterior as ProductPosterior
from suffice.combinators.shares import StickBreaking as StickBreaking
from suffice.combinators.stack import Stack as Stack
