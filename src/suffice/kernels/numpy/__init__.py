"""The definitions of the kernels, in NumPy."""
