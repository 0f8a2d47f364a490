"""Mixtures of anything, as an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from suffice.core.distribution import Distribution
from suffice.distributions.multivariate_normal import MultivariateNormal
from suffice.distributions.normal import Normal
from suffice.estimators.fitted import FitShell
from suffice.estimators.prototypes import by_name, takes_labels
from suffice.estimators.rows import columns_of, is_mapping, refuse_files
from suffice.estimators.validation import rules_of, validate_data
from suffice.models.mixture import Mixture
from suffice.schema.infer import infer
from suffice.tables.frame import Frame, is_frame
from suffice.tables.rows import cells, listed
from suffice.types import Data, Prior, Seed


class MixtureModel(FitShell):
    """Rows from several components of any kind, learned by EM.

    Parameters
    ----------
    prototype : Distribution
        What a component is: any distribution, as ``sf.Product({"age": sf.Normal(), "city": sf.Categorical()})``, which
        takes the columns of a DataFrame by name; or a list with one for each component. None is
        ``MultivariateNormal()``, or ``Normal()`` for a single column; of a table with columns that are not numbers,
        what :func:`suffice.infer` says.
    n_components : int
        How many components; a list of prototypes says it itself.
    prior : distribution, dict or "weak", optional
        ``{"weights": Dirichlet(…), "components": prior of a component}``, either of them, or ``"weak"``.
    start : distribution, str or array, optional
        None (the best of several short runs on a sketch of the rows), ``"k-means++"``, ``"random"``, labels (n,),
        responsibilities (n, k), or a mixture with its parameters.
    tol : float, optional
        The run ends when the log-likelihood changes twice by less than this part of it.
    max_iter, n_init : int
        Most passes of a run, and number of runs, of which the best stands.
    random_state : int, Generator or RandomState, optional
        None, a seed, a Generator, or a RandomState.
    warm_start : bool
        Whether ``fit`` goes on from the last fit.
    verbose, verbose_interval : int
        1 prints every so many passes, 2 with their lower bound.

    Attributes
    ----------
    fit_
        The `Fit`: ``print(model.fit_)`` shows the components and alerts, ``model.fit_.estimates()`` every parameter
        with its standard error.
    distribution_, weights_, statistics_, n_seen_
        The mixture as a value, its weights, the statistics of the last pass, and the weight of the rows behind them.
    converged_, n_iter_, lower_bound_, lower_bounds_
        How the run went: the log-likelihood per row that its passes saw, with a prior the log posterior per row.
    alerts_
        ``(code, text)`` pairs: what to know before trusting it, those of ``fit_``.

    Examples
    --------
    >>> X = np.array([[1.0], [1.1], [0.9], [5.0], [5.2], [4.8]])
    >>> sf.MixtureModel(sf.Normal(), n_components=2, random_state=0).fit(X).predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **rules_of(FitShell),
        "prototype": [Distribution, list, tuple, None],
    }

    def __init__(
        self,
        prototype: Distribution | Sequence[Distribution] | None = None,
        n_components: int = 2,
        *,
        prior: Prior = None,
        start: object = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_init: int = 1,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        """Keep the options."""
        super().__init__(
            n_components,
            prior=prior,
            start=start,
            tol=tol,
            max_iter=max_iter,
            n_init=n_init,
            random_state=random_state,
            warm_start=warm_start,
            verbose=verbose,
            verbose_interval=verbose_interval,
        )
        self.prototype = prototype

    _of_model = ("prototype", "n_components", "prior")

    @property
    def _labels(self) -> bool:
        return self.prototype is not None and takes_labels(self.prototype)

    def _validate(self, X: Data, *, reset: bool, least: int) -> Any:
        instead = "sf.fit(sf.Mixture(prototype, k), scan) reads files part by part."
        refuse_files(type(self).__name__, "fit" if reset else "predict", X, instead)
        if is_mapping(X) or by_name(self.prototype) or self._infer(X, reset=reset):
            named = columns_of(self, X, reset=reset)
            if named is not None:
                return named
        if self._labels:
            return validate_data(
                self, X, reset=reset, dtype=None, ensure_min_samples=least, ensure_all_finite="allow-nan"
            )
        return super()._validate(X, reset=reset, least=least)

    def _infer(self, X: Data, *, reset: bool) -> bool:
        """Whether families are chosen by the columns: of a table that has others than numbers."""
        if self.prototype is not None or not is_frame(X):
            return False
        if not reset:
            return self.distribution_.column_names is not None
        opened = listed(X)
        return any(cells(opened[name], type(self).__name__).dtype.kind not in "iuf" for name in opened)

    def _learn(self, X: Data, sample_weight: Data) -> Any:
        try:
            return super()._learn(X, sample_weight)
        finally:
            self.__dict__.pop("_chosen", None)

    def _learn_more(self, X: Data, sample_weight: Data) -> None:
        try:
            super()._learn_more(X, sample_weight)
        finally:
            self.__dict__.pop("_chosen", None)

    def _reader(self, X: Data) -> Any:
        if isinstance(self.prototype, (list, tuple)):
            return Mixture(self.prototype)
        prototype = self.prototype
        if prototype is None and (is_mapping(X) or isinstance(X, Frame)):  # rows that come next are read by it
            self._chosen = prototype = infer(X)
        elif prototype is None and hasattr(self, "_chosen"):
            prototype = self._chosen
        elif prototype is None:
            prototype = Normal() if np.shape(X)[1] == 1 else MultivariateNormal()
        return Mixture(prototype, self.n_components)

    def __sklearn_tags__(self) -> Any:
        """Tell whether columns may hold labels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self._labels
        return tags
