"""Choosing a mixture: the number of components, the covariance structure and the family."""
