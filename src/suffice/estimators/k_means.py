"""K-means, in the place of scikit-learn's."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from suffice.em.init.k_means import Centres, RowSpace, Seeding
from suffice.em.loop import EMResult
from suffice.em.order import by_place
from suffice.em.restarts import best_of_restarts
from suffice.em.trace import Pass
from suffice.estimators.base import warn_of_interruption
from suffice.estimators.to_sklearn import ToScikitLearn
from suffice.estimators.validation import (
    AT_LEAST_ONE,
    AT_LEAST_ZERO,
    RANDOM_STATE,
    checked,
    generator,
    one_of,
    row_weights,
    validate_data,
)
from suffice.estimators.verbose import say
from suffice.statistics.weights import Weights
from suffice.tables.sparse import Sparse
from suffice.types import Array, Data, Rows, Seed

NONE = 1e-24  # of the columns' mean variance: squared moves of less are rounding


class KMeans(ToScikitLearn, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Rows by the nearest of k centres, each the mean of its rows.

    Takes the arguments of ``sklearn.cluster.KMeans`` and shows its attributes: to change over, change the import. A
    weight of 2 is exactly the row twice, and neither the order of the rows nor their repetition changes the answer.
    Sparse matrices are never made dense.

    Parameters
    ----------
    n_clusters : int
        How many centres.
    init : str, array or callable
        "k-means++" (the best of several after a few passes), "random", an array (k, d), or a function of (X,
        n_clusters, random_state). The names draw from a sketch of the rows; where that is a part of them only, the
        first passes go over it alone.
    n_init : int or "auto"
        Number of runs, of which the best stands; "auto" is 1 with "k-means++" or an array, else 10.
    max_iter : int
        Most passes of a run.
    tol : float
        The run ends when the squared moves of all centres sum to less than this part of the columns' mean variance.
    verbose : int
        Whether to print the inertia of each pass.
    random_state : int, Generator or RandomState, optional
        None, a seed, a Generator, or a RandomState.
    copy_x, algorithm : bool, str
        Without effect: rows are never written to, and both algorithms give the answer of the one search.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_
        The centres (k, d), the centre of each row, Σ w ‖x − c‖², and the number of passes.

    References
    ----------
    Lloyd, S. P. (1982). Least squares quantization in PCM. IEEE Transactions on Information Theory 28, 129-137.
    Arthur, D. and Vassilvitskii, S. (2007). k-means++: the advantages of careful seeding. Proceedings of the ACM-SIAM
    Symposium on Discrete Algorithms, 1027-1035.

    Examples
    --------
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = sf.KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [AT_LEAST_ONE],
        "init": [one_of("k-means++", "random"), callable, "array-like"],
        "n_init": [one_of("auto"), AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [AT_LEAST_ZERO],
        "verbose": ["verbose"],
        "random_state": RANDOM_STATE,
        "copy_x": ["boolean"],
        "algorithm": [one_of("lloyd", "elkan")],
    }

    _sklearn_class = ("sklearn.cluster", "KMeans")
    _sklearn_attributes = ("cluster_centers_", "labels_", "inertia_", "n_iter_")

    def _sklearn_private(self) -> dict[str, Any]:
        return {"_n_threads": 1, "_n_features_out": len(self.cluster_centers_)}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Data = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Seed = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
    ) -> None:
        """Keep the options."""
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm

    def _rows(self, X: Data, *, reset: bool = False) -> tuple[Any, Any]:
        """Rows, dense or sparse, and the type of their numbers."""
        rows = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], order="C", accept_sparse="csr")
        if not issparse(rows):
            return np.asarray(rows), rows.dtype
        if not rows.has_canonical_format:  # a cell in two parts
            rows = rows.copy()
            rows.sum_duplicates()
        return Sparse.of(rows), rows.dtype

    def _runs(self) -> int:
        """How many runs were asked for."""
        given = not (isinstance(self.init, str) or callable(self.init))
        if self.n_init == "auto":
            return 1 if given or self.init == "k-means++" else 10
        if given and self.n_init != 1:
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=4,
            )
            return 1
        return int(self.n_init)

    def _given(self, rows: Rows, rng: np.random.Generator) -> Array:
        """The first centres (k, d) that the caller gives."""
        k = self.n_clusters
        state = np.random.RandomState(rng.integers(np.iinfo(np.int32).max)) if callable(self.init) else None
        given = self.init
        if callable(self.init):
            given = self.init(rows.matrix if isinstance(rows, Sparse) else rows, k, random_state=state)
        places = np.array(given.toarray() if issparse(given) else given, dtype=np.float64)
        for axis, what in enumerate((f"number of clusters {k}", f"number of features of the data {rows.shape[1]}")):
            if places.ndim != 2 or places.shape[axis] != (k, rows.shape[1])[axis]:
                msg = f"The shape of the initial centers {places.shape} does not match the {what}."
                raise ValueError(msg)
        if not np.isfinite(places).all():
            centre, column = np.argwhere(~np.isfinite(places))[0].tolist()
            what = f"The initial centers contain {places[centre, column]}"
            msg = f"{what}: centre {centre} has it in column {column}. Give finite numbers."
            raise ValueError(msg)
        return places

    def _best_run(
        self, rows: Rows, weights: Weights, rng: np.random.Generator, rest: float, seeding: Seeding | None
    ) -> EMResult:
        """The best run of all starts; interrupted, of those that there are, with a warning."""

        def run(_: tuple[EMResult, ...]) -> EMResult:
            if seeding is None:
                first = Centres(self._given(rows, rng), rest)
            else:
                first = replace(seeding.draw(rng, apart=self.init == "k-means++"), rest=rest)
            if self.verbose:
                say("Initialization complete")
            path = first.run_em(rows, weights, self.max_iter, _print_pass if self.verbose else None)
            if self.verbose and path.converged:
                why = _reason(path, strict=self.tol <= NONE)
                say(f"Converged at iteration {path.trace.passes - 1}: {why}.")
            return path

        restarts = best_of_restarts(run, self._runs(), lambda one: one.objective)
        if restarts.interrupted:
            warn_of_interruption(self, len(restarts.runs), restarts.asked, 5)
        return restarts.best

    @checked
    def fit(self, X: Data, y: Data = None, sample_weight: Data = None) -> Self:
        """Find the centres of rows (n, d); weight 2 is the row twice."""
        del y
        rows, kind = self._rows(X, reset=True)
        if len(rows) < self.n_clusters:
            msg = f"n_samples={len(rows)} should be >= n_clusters={self.n_clusters}."
            raise ValueError(msg)
        if self.algorithm == "elkan" and self.n_clusters == 1:
            text = "algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead."
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        weights, rng = row_weights(sample_weight, rows), generator(self.random_state)
        rest = max(self.tol, NONE) * Centres.spread(rows, weights)
        drawn = isinstance(self.init, str)
        space = RowSpace.of(rows) if drawn and not isinstance(rows, Sparse) and rows.shape[1] > len(rows) else None
        points = rows if space is None else space.coordinates
        seeding = Seeding(rows, weights, self.n_clusters, points) if drawn else None
        best = self._best_run(points, weights, rng, rest, seeding)
        places = best.distribution.estimate(best.statistics).places
        places = places if space is None else space.back(places)
        if drawn:  # centres that were drawn have no order of their own
            weight = best.statistics.weight
            order = by_place(places, weight)
            places = places[order[np.argsort(weight[order] == 0, kind="stable")]]  # those without rows are the last
        self.cluster_centers_, self.n_iter_ = places.astype(kind, copy=False), best.trace.passes
        found = self._learned()  # in the precision of the rows, as `predict` will see them
        self.labels_ = found.predict(rows)
        self.inertia_ = -found.measured_log_likelihood(found.suffstats(rows, weights))
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def fit_predict(self, X: Data, y: Data = None, sample_weight: Data = None) -> Array:
        """Find the centres of rows, and tell which is nearest to each, (n,)."""
        return np.asarray(self.fit(X, y, sample_weight=sample_weight).labels_)

    def fit_transform(self, X: Data, y: Data = None, sample_weight: Data = None) -> Any:
        """Find the centres of rows, and measure the distance of each to all of them, (n, k)."""
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    def _learned(self) -> Centres:
        check_is_fitted(self)
        return Centres(np.asarray(self.cluster_centers_, dtype=np.float64))

    def predict(self, X: Data) -> Array:
        """The nearest centre of each row, (n,)."""
        centres = self._learned()
        return centres.predict(self._rows(X)[0])

    def transform(self, X: Data) -> Any:
        """Distances (n, k) of rows to the centres."""
        centres = self._learned()
        rows, kind = self._rows(X)
        return centres.distances(rows).astype(kind, copy=False)

    def score(self, X: Data, y: Data = None, sample_weight: Data = None) -> float:
        """−Σ w ‖x − c‖² of rows to their nearest centres."""
        del y
        centres = self._learned()
        rows = self._rows(X)[0]
        return centres.measured_log_likelihood(centres.suffstats(rows, row_weights(sample_weight, rows)))

    def __sklearn_tags__(self) -> Any:
        """Tell that sparse rows are welcome and that single precision stays."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _print_pass(one: Pass) -> None:
    say(f"Iteration {one.number - 1}, inertia {-one.objective}.")


def _reason(path: EMResult, *, strict: bool) -> str:
    centres = path.distribution
    moved = float(np.sum((centres.estimate(path.statistics).places - centres.places) ** 2))
    return "strict convergence" if strict or not moved else f"center shift {moved} within tolerance {centres.rest}"
