"""Questions that any estimator of a joint distribution answers, through that distribution."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from suffice.types import Data, Seed


class Asking:
    """The verbs of ``distribution_``, by the names of the columns where the rows of the fit had names."""

    distribution_: Any

    @property
    def _joint(self) -> Any:
        """The learned distribution with the names of its columns."""
        check_is_fitted(self)
        model, names = self.distribution_, getattr(self, "feature_names_in_", None)
        if names is None or model.column_names is not None or len(names) != len(model.column_labels):
            return model
        return model.with_column_names(tuple(names))

    def given(self, mapping: object = None, /, **columns: Any) -> Any:
        """The distribution of the other columns where some are known; see :meth:`Distribution.given`."""
        return self._joint.given(mapping, **columns)

    def impute(
        self, X: Data, *, n: int | None = None, draw: bool = False, uncertainty: bool = False, random_state: Seed = None
    ) -> Any:
        """Fill the missing cells of rows from the cells that they have; see :meth:`Distribution.impute`."""
        return self._joint.impute(X, n=n, draw=draw, uncertainty=uncertainty, random_state=random_state)

    def surprisal(self, X: Data) -> Any:
        """How strange rows and cells are; see :meth:`Distribution.surprisal`."""
        return self._joint.surprisal(X)
