"""scikit-learn's KernelDensity, with bandwidths that know the scale of the data."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn import neighbors
from sklearn.utils.validation import check_is_fitted

from suffice.densities.bandwidth import METHODS
from suffice.densities.kernel import KDE
from suffice.errors import ParameterError
from suffice.estimators.validation import options_of, row_weights, validate_data
from suffice.types import Array, Data

KERNELS = {name: name for name in ("gaussian", "tophat", "epanechnikov", "cosine")} | {"linear": "triangular"}
DISTANCES = {"euclidean", "l2", "minkowski", "p", "manhattan", "l1", "cityblock", "chebyshev", "infinity"}
RULES = ("scott", "silverman")  # which have scikit-learn's meaning: of columns with standard deviation 1


class KernelDensity(neighbors.KernelDensity):
    """Kernel density, as scikit-learn has it, with bandwidths chosen from the data.

    Parameters
    ----------
    bandwidth : float or str, default=1.0
        A number, scikit-learn's ``"scott"`` or ``"silverman"``, which take each column to have a standard deviation of
        1, or a method on the scale of the data: ``"sj"``, ``"sj-dpi"``, ``"isj"``, ``"likelihood"``,
        ``"least-squares"``, ``"nrd0"`` (Silverman's rule) or ``"nrd"`` (Scott's); of several columns, one bandwidth
        for each of them, in a product of kernels.
    algorithm, kernel, metric, atol, rtol, breadth_first, leaf_size, metric_params : str, float, bool, int or dict
        As in scikit-learn. One column is summed to rounding whatever ``atol`` and ``rtol``.

    Attributes
    ----------
    bandwidth_ : float or array (d,)
        The bandwidth.
    distribution_ : KDE
        The density as a distribution, of one column or with a method on the scale of the data.
    tree_ : KDTree or BallTree
        The rows.
    n_features_in_, feature_names_in_
        The columns.

    Examples
    --------
    >>> sf.KernelDensity(bandwidth="nrd0").fit([[1.0], [2.0], [4.0], [8.0]]).score_samples([[3.0]]).round(3)
    array([-2.039])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **neighbors.KernelDensity._parameter_constraints,  # noqa: SLF001
        "bandwidth": [
            *neighbors.KernelDensity._parameter_constraints["bandwidth"][:1],  # noqa: SLF001
            options_of(*RULES, *METHODS),
        ],
    }

    bandwidth_: float | Array

    def fit(self, X: Data, y: Data = None, sample_weight: Data = None) -> Self:
        """Keep the rows, and choose the bandwidth."""
        self.__dict__.pop("distribution_", None)
        super().fit(X, y, sample_weight)
        rows = np.asarray(self.tree_.data)
        chosen = isinstance(self.bandwidth, str) and self.bandwidth not in RULES
        plain = self.metric in DISTANCES and self.metric_params is None and self.kernel in KERNELS
        if chosen and not plain:
            msg = (
                f"KernelDensity: bandwidth={self.bandwidth!r} is chosen column by column, for the kernels "
                f"{', '.join(KERNELS)}; got kernel={self.kernel!r} and metric={self.metric!r}. Give a number."
            )
            raise ParameterError(msg)
        if chosen or (plain and rows.shape[1] == 1):
            width = self.bandwidth if chosen else self.bandwidth_
            prototype = KDE(width, KERNELS[self.kernel])
            stats = prototype.suffstats(rows, row_weights(sample_weight, rows))
            self.distribution_ = prototype.estimate(stats)
            self.bandwidth_ = self.distribution_.widths if chosen else self.bandwidth_
        return self

    def score_samples(self, X: Data) -> Array:
        """Log density of each row, (n,)."""
        check_is_fitted(self)
        if not hasattr(self, "distribution_"):
            return np.asarray(super().score_samples(X))
        rows = validate_data(self, X, order="C", dtype=np.float64, reset=False)
        return np.asarray(self.distribution_.log_prob(rows))
