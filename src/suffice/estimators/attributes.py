"""Fitted attributes: they show the distribution, and the distribution follows them where a caller sets them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from suffice.models.mixture import Mixture
from suffice.types import Array, Data, Rows

BY_HAND = "_by_hand"  # names of the attributes that a caller set
SHOWN = "_shown"  # copies of the attributes as they were shown; None while they are being set


class FittedAttributes:
    """An estimator around ``distribution_``, which follows the attributes named in ``_settable``.

    scikit-learn computes from its fitted attributes, so its users set and change them, also in place and without a
    fit. Here they are copies of what the distribution says. Whoever asks for ``distribution_`` gets one that agrees
    with them: those that differ from what was shown last are read again, and the others shown anew.

    A subclass sets attributes in ``_show``, and says in ``_rebuild`` which distribution they describe.

    Examples
    --------
    >>> mixture = sf.GaussianMixture(2)
    >>> mixture.weights_, mixture.means_ = np.array([0.5, 0.5]), np.array([[0.0], [9.0]])
    >>> mixture.covariances_ = np.ones((2, 1, 1))
    >>> mixture.predict([[1.0], [8.0]])
    array([0, 1])
    """

    _settable: ClassVar[tuple[str, ...]] = ()  # what `distribution_` follows
    _together: ClassVar[tuple[str, ...]] = ()  # of these, what stays as it is where another of them is set
    _as_rows: ClassVar[tuple[str, ...]] = ()  # attributes in the precision of the rows of the fit

    def _show(self) -> None:
        """Set the attributes that follow from ``distribution_``."""

    def _rebuild(self, changed: frozenset[str]) -> Any:
        """The distribution that the attributes describe, of which some have changed."""
        raise NotImplementedError

    @property
    def distribution_(self) -> Any:
        """What was learned, as a value; it follows the attributes that a caller sets."""
        held = self.__dict__
        if held.get(SHOWN, ()) is None:
            return held["distribution_"]
        shown = held.get(SHOWN) or {}
        changed = frozenset(name for name in self._settable if name in held and not _same(held[name], shown.get(name)))
        if changed:
            names = changed.union(name for name in self._together if name in held)
            rebuilt, given = self._rebuild(changed), {name: held[name] for name in names}
            self.distribution_ = rebuilt
            self._display()
            held.update(given)  # as they were set
            held[SHOWN].update({name: _copy(value) for name, value in given.items()})
            held[BY_HAND] = names
        elif "distribution_" not in held:
            wanted = f", and neither {' nor '.join(self._settable)} is set" if self._settable else ""
            msg = f"This {type(self).__name__} instance is not fitted yet: it has no distribution_{wanted}."
            raise AttributeError(msg)
        return held["distribution_"]

    @distribution_.setter
    def distribution_(self, value: Mixture | None) -> None:
        held = self.__dict__
        for name in (*self._settable, SHOWN, BY_HAND):
            held.pop(name, None)
        held["distribution_"] = value

    def _display(self) -> None:
        """Show what was learned in the attributes, and remember how."""
        held = self.__dict__
        held[SHOWN] = None
        try:
            self._show()
            if self._dtype == np.float32:
                for name in self._as_rows:
                    if name in held:
                        held[name] = _cast(held[name], np.float32)
        finally:
            held[SHOWN] = {name: _copy(held[name]) for name in self._settable if name in held}
            if not held[SHOWN]:
                del held[SHOWN]

    # ---- precision --------------------------------------------------------------------------------------------------
    @property
    def _dtype(self) -> Any:
        """The precision of the rows of the fit; everything is computed in double precision."""
        return np.dtype(self.__dict__.get("_precision", "float64"))

    def _remember_precision(self, rows: Rows) -> None:
        """Keep the precision of the rows of a fit, where it is single."""
        self.__dict__.pop("_precision", None)
        if getattr(rows, "dtype", None) == np.float32:
            self._precision = "float32"

    def _in_precision(self, found: Array, X: Data) -> Array:
        """An answer in the precision of the rows of the fit and of those that are asked about."""
        single = self._dtype == np.float32 and is_single(X)
        return np.asarray(found, dtype=np.float32 if single else None)


def is_single(X: Data) -> bool:
    """Whether rows are of single precision, as an array, a sparse matrix or a table."""
    kind = getattr(X, "dtype", None)
    if kind is not None:
        return bool(kind == np.float32)
    kinds = [str(one).lower() for one in getattr(X, "dtypes", ())]
    return bool(kinds) and set(kinds) == {"float32"}


def _same(one: Any, other: Any) -> bool:
    """Whether an attribute is what was shown."""
    if isinstance(other, (list, tuple)):
        alike = isinstance(one, (list, tuple)) and len(one) == len(other)
        return alike and all(_same(own, theirs) for own, theirs in zip(one, other, strict=True))
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return other is not None and not isinstance(one, np.ndarray) and bool(np.array_equal(one, other))
    return np.array_equal(one, other) or np.array_equal(one, other, equal_nan=True)


def _copy(value: object) -> Any:
    return type(value)(map(_copy, value)) if isinstance(value, (list, tuple)) else np.array(value)


def _cast(value: object, kind: type[Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(one, kind) for one in value)
    found = np.asarray(value, dtype=kind)
    return found if found.ndim else found[()]
