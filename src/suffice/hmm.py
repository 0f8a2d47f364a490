"""hmmlearn's models under its names: changing the import is the migration.

>>> from suffice import hmm
>>> hmm.PoissonHMM(2).n_components
2
"""

from suffice.estimators.markov_counts import CategoricalHMM, MultinomialHMM, PoissonHMM
from suffice.estimators.markov_gaussians import GMMHMM, GaussianHMM

__all__ = ["GMMHMM", "CategoricalHMM", "GaussianHMM", "MultinomialHMM", "PoissonHMM"]
