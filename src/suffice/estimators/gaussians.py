"""Covariances in the shapes that scikit-learn shows, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from suffice.distributions.covariance_structures import MODELS
from suffice.distributions.normal import Normal
from suffice.estimators.attributes import FittedAttributes
from suffice.estimators.to_sklearn import ToScikitLearn
from suffice.models.mixture import Mixture
from suffice.statistics.weights import Weights
from suffice.types import Array, Data


class Shape(NamedTuple):
    """How one kind of covariance is shown: from matrices (k, d, d), and to them, given as many identities."""

    display_name: Callable[[Array], Array]
    square: Callable[[Array, Array], Array]


SHAPES = {
    "full": Shape(lambda a: a, lambda a, eyes: np.broadcast_to(a, eyes.shape)),
    "tied": Shape(lambda a: a[0], lambda a, eyes: np.broadcast_to(a, eyes.shape)),
    "diag": Shape(lambda a: np.einsum("kii->ki", a), lambda a, eyes: a[:, :, None] * eyes),
    "spherical": Shape(lambda a: a[:, 0, 0], lambda a, eyes: a[:, None, None] * eyes),
}
STRUCTURE_NAMES = tuple(name for names in MODELS.values() for name in names.split())
INDEPENDENT = {"diag", "spherical", *(name for name in STRUCTURE_NAMES if name[2] == "I")}


def shape_of(covariance_type: str) -> Shape:
    """The shape of a kind; a structure by its three letters is shown as full matrices."""
    return SHAPES.get(covariance_type, SHAPES["full"])


def show(estimator: Any, mixture: Mixture, covariance_type: str) -> None:
    """Set the attributes that follow from a mixture of Gaussians."""
    shape, components = shape_of(covariance_type), mixture.components
    estimator.weights_, estimator.means_ = np.array(mixture.weights), np.array(components.mean)
    if covariance_type in ("diag", "spherical"):  # without matrices: columns may be many
        var = components.var if covariance_type == "diag" else components.var[:, 0]
        estimator.covariances_, estimator.precisions_cholesky_ = np.array(var), 1 / np.sqrt(var)
        estimator.precisions_ = estimator.precisions_cholesky_**2
        return
    roots = np.swapaxes(components.whitening[0], 1, 2)
    estimator.covariances_ = np.array(shape.display_name(np.asarray(components.cov)))
    estimator.precisions_cholesky_ = np.array(shape.display_name(roots))
    estimator.precisions_ = np.array(shape.display_name(roots @ np.swapaxes(roots, 1, 2)))


PROGRESS = ("converged_", "n_iter_", "lower_bound_", "lower_bounds_")
GAUSSIAN = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")


class GaussianAttributes(ToScikitLearn, FittedAttributes):
    """The parameters of a mixture of Gaussians, as scikit-learn shows them.

    Of several that say the same, the one that changed is read: the Cholesky factors of the precisions, else the
    covariances, else the precisions.
    """

    _settable: ClassVar[tuple[str, ...]] = GAUSSIAN
    _as_rows: ClassVar[tuple[str, ...]] = GAUSSIAN
    _sklearn_attributes: ClassVar[tuple[str, ...]] = (*GAUSSIAN, *PROGRESS)
    covariance_type: str
    n_components: int
    _read_for_answer: Any

    def _sklearn_options(self) -> dict[str, Any]:
        options = super()._sklearn_options()
        return options if self.covariance_type in SHAPES else {**options, "covariance_type": "full"}

    def _estimate_log_prob(self, X: Data) -> Array:
        """Log density of each row under each component, (n, k), under the name that public code uses."""
        mixture, rows = self._read_for_answer(X)
        return np.asarray(mixture.scores(mixture.read(rows)) - mixture.log_weights)

    def _set_parameters(self, changed: frozenset[str]) -> tuple[Array, Array, Array]:
        """Weights (k,), means (k, d) and covariances (k, d, d) that the attributes describe."""
        held = self.__dict__
        spread = ("precisions_cholesky_", "covariances_", "precisions_")
        chosen = next((one for one in (*(name for name in spread if name in changed), *spread) if one in held), "")
        missing = [name for name, here in (("weights_", "weights_" in held), ("means_", "means_" in held)) if not here]
        if missing or not chosen:
            wanted = ", ".join([*missing, *(() if chosen else ("covariances_ or precisions_cholesky_",))])
            msg = f"{type(self).__name__} is not fitted, and for parameters set by hand it lacks {wanted}."
            raise AttributeError(msg)
        mean = np.array(held["means_"], dtype=np.float64)
        if mean.ndim != 2:
            msg = f"means_ has a row for each component and a column for each feature; got the shape {mean.shape}."
            raise ValueError(msg)
        (k, d), given = mean.shape, held[chosen]
        if chosen == "precisions_cholesky_":
            roots = _roots(given, self.covariance_type, k, d)
            given, chosen = shape_of(self.covariance_type).display_name(roots @ np.swapaxes(roots, 1, 2)), "precisions_"
        invert = chosen == "precisions_"
        cov = (covariances_of if invert else _covariances)(given, self.covariance_type, k, d)
        return check_weights(held["weights_"], k), mean, cov


def _roots(given: object, covariance_type: str, k: int, d: int) -> Array:
    """Square roots (k, d, d) of precisions, from the shape that they are shown in."""
    shape, eyes = shape_of(covariance_type), np.broadcast_to(np.eye(d), (k, d, d))
    found = _of_shape(given, shape.display_name(eyes).shape, "precisions_cholesky_")
    return np.asarray(shape.square(found, eyes))


def _covariances(given: object, covariance_type: str, k: int, d: int) -> Array:
    return matrices_of(given, covariance_type, (k,), d, "covariance")


def check_weights(weights: Data, k: int) -> Array:
    """Weights (k,) that a caller gave to begin with."""
    found = _of_shape(weights, (k,), "weights")
    if not ((found >= 0) & (found <= 1)).all():
        msg = (
            "The parameter 'weights' should be in the range [0, 1], "
            f"but got max value {found.max():.5f}, min value {found.min():.5f}"
        )
        raise ValueError(msg)
    if abs(found.sum() - 1.0) > 1e-6:
        msg = f"The parameter 'weights' should be normalized, but got sum(weights) = {found.sum():.5f}"
        raise ValueError(msg)
    return np.asarray(found / found.sum())


def check_means(means: Data, k: int, d: int) -> Array:
    """Means (k, d) that a caller gave to begin with."""
    return _of_shape(means, (k, d), "means")


def covariances_of(precisions: Data, covariance_type: str, k: int, d: int) -> Array:
    """Covariances (k, d, d) from the precisions that a caller gave to begin with."""
    inverse = np.linalg.inv(matrices_of(precisions, covariance_type, (k,), d, "precision"))
    return np.asarray(0.5 * (inverse + np.swapaxes(inverse, 1, 2)))


def matrices_of(given: object, covariance_type: str, components: tuple[int, ...], d: int, name: str) -> Array:
    """Matrices (k, d, d) from what a caller gave in the shape that they are shown in.

    Of ``components`` (k,) or of one.
    """
    shape, eyes = shape_of(covariance_type), np.broadcast_to(np.eye(d), (*(components or (1,)), d, d))
    wanted = shape.display_name(eyes).shape
    wanted = wanted if components or covariance_type == "tied" else wanted[1:]
    found = _of_shape(given, wanted, f"{covariance_type} {name}")
    square = shape.square(found if components or covariance_type == "tied" else found[None], eyes)
    even = np.allclose(square, np.swapaxes(square, 1, 2))
    if not even or not (np.linalg.eigvalsh(square) > 0).all():
        rule = "positive" if covariance_type in INDEPENDENT else "symmetric, positive-definite"
        msg = f"'{covariance_type} {name}' should be {rule}"
        raise ValueError(msg)
    return np.asarray(square)


def _of_shape(given: object, shape: tuple[int, ...], name: str) -> Array:
    found = np.array(given, dtype=np.float64)
    if found.shape != shape:
        msg = f"The parameter '{name}' should have the shape of {shape}, but got {found.shape}"
        raise ValueError(msg)
    return found


def at_means(rows: Array, weights: Weights) -> Array:
    """Rows with the mean of a column in its missing cells, for distances; complete rows are returned as they are."""
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    mean = Normal().widened(rows.shape[1]).suffstats(rows, weights).mean
    return np.where(missing, mean, rows)
