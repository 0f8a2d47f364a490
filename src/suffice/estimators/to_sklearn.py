"""A fitted estimator as scikit-learn's own class, for what asks for that: ONNX, skops, isinstance."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

COLUMNS = ("n_features_in_", "feature_names_in_")


class ToScikitLearn:
    """An estimator in the place of one of scikit-learn's, which it can be made into."""

    _sklearn_class: ClassVar[tuple[str, str]]  # module and class
    _sklearn_attributes: ClassVar[tuple[str, ...]]

    def to_sklearn(self) -> Any:
        """The fitted estimator of scikit-learn that gives the same answers.

        It has scikit-learn's options and fitted attributes, and none of what is beyond them: missing cells, categories
        that were never seen, priors. Its answers are these to rounding.

        Returns
        -------
        sklearn.base.BaseEstimator
            scikit-learn's class of the same name, with copies of the options and attributes.

        Examples
        --------
        >>> model = sf.GaussianNB().fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
        >>> type(model.to_sklearn()).__module__, model.to_sklearn().predict([[0.5]])
        ('sklearn.naive_bayes', array([0]))
        """
        check_is_fitted(self)
        getattr(self, "distribution_", None)  # follows attributes that were set
        kind = getattr(import_module(self._sklearn_class[0]), self._sklearn_class[1])
        known, options = kind().get_params(deep=False), self._sklearn_options()
        made = kind(**{name: copy.deepcopy(value) for name, value in options.items() if name in known})
        for name in (*COLUMNS, *self._sklearn_attributes):
            if hasattr(self, name):
                setattr(made, name, copy.deepcopy(getattr(self, name)))
        for name, value in self._sklearn_private().items():
            setattr(made, name, value)
        return made

    def _sklearn_options(self) -> dict[str, Any]:
        """Options in scikit-learn's words; it takes no Generator."""
        options: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]  # of BaseEstimator
        state = options.get("random_state")
        return {**options, "random_state": None} if isinstance(state, np.random.Generator) else options

    def _sklearn_private(self) -> dict[str, Any]:
        """Attributes that scikit-learn's class has and ours shows otherwise."""
        return {}
