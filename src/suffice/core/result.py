"""What a fit returns: a learned distribution and how far to trust it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from suffice.core.distribution import Alert
from suffice.core.em import Trace
from suffice.core.errors import DataError, UnsupportedError
from suffice.core.parameters import check_level
from suffice.core.portrait import Portrait
from suffice.core.rich_text import Page
from suffice.core.sketch import fingerprint

# What a fit forwards to its distribution, for completion.
VERBS = frozenset(
    (
        *("cdf", "components", "entropy", "given", "impute", "kl", "log_prob", "marginal", "mean", "mode", "parts"),
        *("permuted", "predict", "predict_proba", "quantile", "sample", "std", "surprisal", "var", "weights"),
    )
)


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Page):
    """A learned distribution and how far to trust it.

    Attributes
    ----------
    distribution
        The estimate; its verbs (``log_prob``, ``sample``, ``cdf``, …) work on the fit as well.
    log_likelihood, log_posterior
        Σ w log p(x) at the estimate, and the same plus the log prior: infinite where the density of the prior is, as
        that of Beta(0.5, 0.5) at 0.
    n
        Σ w: the number of rows that the weights stand for.
    statistics
        All that the estimate kept of the data; statistics of two fits add.
    trace, converged, n_iter
        What each pass saw.
    starts
        The traces of all starts (``n_init``), the one that was kept among them.
    alerts
        ``(code, text)`` pairs: what a reader must know before trusting the fit.
    prior, prior_name
        The prior, and the name by which it was asked for: ``"weak"`` stands for what ``prior`` then holds.
    """

    distribution: Any
    log_likelihood: float
    n: float
    statistics: Any = field(repr=False)
    trace: Trace = field(repr=False)
    converged: bool = True
    alerts: tuple[Alert, ...] = ()
    prior: Any = None
    log_posterior: float = float("nan")
    missing: int = 0
    prior_name: str = ""
    starts: tuple[Trace, ...] = field(default=(), repr=False)
    _data: Any = field(default=None, repr=False)  # rows and weights, for what needs another pass; not pickled
    _mark: int | None = field(default=None, repr=False)  # by which a change of the rows is seen

    @property
    def params(self) -> dict[str, Any]:
        """The parameters by name."""
        return copy(self.distribution.params)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return int(self.distribution.n_parameters)

    @property
    def n_iter(self) -> int:
        """Number of passes over the data."""
        return self.trace.passes or len(self.trace.log_likelihood)

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2p − 2 log L: lower is better."""
        return 2.0 * self.n_parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, p log n − 2 log L: lower is better."""
        return self.n_parameters * float(np.log(self.n)) - 2.0 * self.log_likelihood

    @property
    def _intact(self) -> bool:
        """Whether the rows are still there, and those of the fit."""
        return self._data is not None and self._mark in (None, fingerprint(*self._data))

    @cached_property
    def standard_errors(self) -> dict[str, Any]:
        """Standard error of each parameter, from the observed information."""
        if self._data is not None and not self._intact:
            msg = (
                "the data were changed after the fit, and its standard errors need them as they were: ask for "
                "fit.standard_errors before, or fit a copy of the data."
            )
            raise DataError(msg)
        errors: dict[str, Any] = self.distribution.errors_from(self.statistics, self._data)
        return errors

    def interval(self, level: float = 0.95) -> dict[str, tuple[Any, Any]]:
        """Estimate ± quantile × standard error of each parameter, kept inside its domain."""
        from scipy.special import ndtri

        check_level(level)
        bounds: dict[str, tuple[Any, Any]] = self.distribution.bounds(
            self.standard_errors, float(ndtri((1 + level) / 2))
        )
        return bounds

    def log_prob(self, x: Any) -> Any:
        """Log density of each row."""
        return self.distribution.log_prob(x)

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Draw rows."""
        return self.distribution.sample(n, random_state)

    @cached_property
    def icl(self) -> float:
        """The BIC of rows together with their most probable members: lower is better, and undecided members cost."""
        if not hasattr(type(self.distribution), "certainty"):
            msg = f"ICL is of hidden members, and {self.distribution.name} has none; ask bic or aic."
            raise UnsupportedError(msg)
        if not self._intact:
            msg = "ICL needs the rows of the fit, and they are gone or changed: ask fit.icl before, or fit again."
            raise DataError(msg)
        return self.bic - 2.0 * float(self.distribution.certainty(*self._data))

    def portrait(self) -> Portrait:
        """What there is to say about the fit, as values: what its summary, its HTML and a report show."""
        from suffice.core.fit_portrait import of_fit

        return of_fit(self)

    def summary(self, width: int | None = None, *, errors: bool = False) -> str:
        """The fit as a page of text.

        Parameters
        ----------
        width
            Letters of a line; None: those of the terminal where one is printed to, else 80.
        errors
            Show the parameters of a mixture's members too, each with its standard error.
        """
        from suffice.core.summary import summarise

        return summarise(self, width, errors=errors)

    def _repr_html_(self) -> str:
        """Show the summary as tables in a notebook."""
        from suffice.core.html import of_portrait

        return of_portrait(self.portrait())

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the rows: a file of a fit is not a copy of the data."""
        return {**self.__dict__, "_data": None}

    def __getattr__(self, name: str) -> Any:
        """Forward the distribution's verbs."""
        if name.startswith("_") or "distribution" not in self.__dict__ or not hasattr(type(self.distribution), name):
            msg = f"Fit has no attribute {name!r}"
            raise AttributeError(msg)
        return getattr(self.distribution, name)

    def __dir__(self) -> list[str]:
        """Name the distribution's verbs too."""
        verbs = {name for name in dir(type(self.distribution)) if name in VERBS}
        return sorted({*super().__dir__(), *verbs})

    def __str__(self) -> str:
        """Show the summary."""
        return self.summary()

    def __eq__(self, other: object) -> bool:
        """Equal when the same distribution was learned from the same statistics on the same path."""
        if not isinstance(other, Fit):
            return NotImplemented
        mine, theirs = ((fit.distribution, fit.statistics, fit.n, fit.alerts) for fit in (self, other))
        path = np.array_equal(self.trace.log_likelihood, other.trace.log_likelihood, equal_nan=True)
        return bool(mine == theirs and path)

    def __hash__(self) -> int:
        """Hash of the distribution and its statistics."""
        return hash((self.distribution, self.statistics))

    def __repr__(self) -> str:
        """Show the fit on one line."""
        codes = ", ".join(code for code, _ in self.alerts)
        alerts = f", alerts: {codes}" if codes else ""
        return f"Fit({self.distribution!r}, log_likelihood={self.log_likelihood:.6g}, n={self.n:g}{alerts})"
