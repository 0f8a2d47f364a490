"""Priors and posteriors: conjugate ones in closed form, densities by quadrature, finitely many values by sums."""
