"""Densities without parameters: histograms, kernels, nearest neighbours, and how wide a kernel should be."""
