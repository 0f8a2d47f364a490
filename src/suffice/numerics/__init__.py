"""Numerical methods that know nothing of distributions: Newton, derivatives, quadrature, special functions."""
