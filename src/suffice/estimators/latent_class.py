"""Latent classes: columns of labels that are independent within a class which is never seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.distributions.categorical import Categorical
from suffice.errors import DataError
from suffice.estimators.fitted import FitShell
from suffice.estimators.rows import is_mapping
from suffice.estimators.validation import validate_data
from suffice.models.mixture import Mixture
from suffice.types import Data


class LatentClass(FitShell):
    """Rows of labels from several hidden classes, learned by EM: naive Bayes whose class is never seen.

    Data are strings of equal length (one symbol per column), an array (n, d) of whole numbers or of any labels, or a
    DataFrame of categories. None and NaN are missing cells. Every distinct value of a column is a level of it; for
    ``partial_fit`` the first rows say which there are, or ``MixtureModel(Categorical(levels=…))`` declares them.

    Parameters
    ----------
    n_components : int
        How many classes.
    prior : distribution, dict or "weak", optional
        ``sf.Dirichlet([2.0])`` adds one pseudo-row of every level, ``{"weights": …, "components": …}`` says it for
        both, ``"weak"`` is one pseudo-row that the levels share, and one that the classes share.
    start, tol, max_iter, n_init, random_state, warm_start, verbose, verbose_interval : as of MixtureModel
        As in :class:`MixtureModel`.

    Attributes
    ----------
    weights_
        The probability of each class, (k,).
    levels_, probabilities_
        For each column its levels, and their probabilities in each class, (levels, k).
    fit_, distribution_, statistics_, n_seen_, converged_, n_iter_, lower_bound_, lower_bounds_, alerts_
        As in :class:`MixtureModel`.

    References
    ----------
    Goodman, L. A. (1974). Exploratory latent structure analysis using both identifiable and unidentifiable models.
    Biometrika 61, 215-231.

    Examples
    --------
    >>> words = ["0000", "0001", "0000", "1111", "1101", "1111"]
    >>> sf.LatentClass(2, random_state=0).fit(words).predict_proba(["0010", "1011"]).max(axis=1).round(3)
    array([1., 1.])
    """

    def _validate(self, X: Data, *, reset: bool, least: int) -> Any:
        if is_mapping(X):
            names = ", ".join(map(repr, list(X)[:4])) or "nothing"
            msg = (
                f"LatentClass takes strings, an array or a DataFrame; got a mapping of {names}. Make a DataFrame of it."
            )
            raise DataError(msg)
        X = _symbols(X)
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        given = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) and _has_text(X) else X
        return validate_data(
            self, given, reset=reset, dtype=None, ensure_min_samples=least, ensure_all_finite="allow-nan"
        )

    def _reader(self, X: Data) -> Any:
        return Mixture(Categorical(), self.n_components)

    def _rows(self, X: Data, *, reset: bool = False, least: int = 1) -> Any:
        try:
            return super()._rows(X, reset=reset, least=least)
        except DataError as error:
            if isinstance(error.__cause__, TypeError):  # a cell that cannot be a label
                msg = f"the input argument must be of strings, numbers or other labels: {error}"
                raise TypeError(msg) from error
            raise

    def _show(self) -> None:
        super()._show()
        components = self.distribution_.components
        self.levels_ = list(components.named)
        self.probabilities_ = [
            np.array(components.probs[:, column, : len(levels)].T) for column, levels in enumerate(components.named)
        ]

    def __sklearn_tags__(self) -> Any:
        """Tell that columns hold labels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _symbols(X: Data) -> Any:
    """Strings of equal length as rows of symbols; anything else as it is."""
    if hasattr(X, "columns") or not (isinstance(X, (list, tuple, np.ndarray)) or hasattr(X, "to_numpy")):
        return X
    strings = list(X)
    if not strings or not all(isinstance(one, str) for one in strings):
        return X
    lengths = np.array([len(one) for one in strings])
    if not lengths.any():
        msg = f"LatentClass takes strings of one length, one symbol per column; all {len(strings)} strings are empty."
        raise DataError(msg)
    if (lengths != lengths[0]).any():
        row = int(np.argmax(lengths != lengths[0]))
        msg = (
            f"LatentClass takes strings of one length, one symbol per column; row 0 has {lengths[0]} symbols, row "
            f"{row} has {lengths[row]}. Pad them, or give rows of labels."
        )
        raise DataError(msg)
    return np.array([list(one) for one in strings], dtype=object)


def _has_text(X: Data) -> bool:
    """Whether a list of rows holds text or holes, which NumPy would make text of."""
    return any(cell is None or isinstance(cell, str) for row in X for cell in (row if np.ndim(row) else [row]))
