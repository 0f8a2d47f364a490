"""What a fit returns: a learned distribution and how far to trust it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.arguments import check_level
from suffice.display.estimates import Estimates
from suffice.display.rich_text import Page
from suffice.display.summary import Summary
from suffice.em.trace import Trace
from suffice.engines.once import cached_property
from suffice.errors import DataError, UnsupportedError
from suffice.queries.imputation import impute
from suffice.tables import frame_output
from suffice.tables.column_names import names_of_data
from suffice.tables.layout import restore
from suffice.tables.sketch import fingerprint
from suffice.tables.streams import read
from suffice.types import Alert, Data, Seed

# What a fit forwards to its distribution, for completion.
VERBS = frozenset(
    (
        *("cdf", "components", "entropy", "kl", "mean", "mode", "parts"),
        *("permuted", "predict_proba", "quantile", "std", "var", "weights"),
    )
)


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Page):
    """A learned distribution and how far to trust it.

    Attributes
    ----------
    distribution
        The estimate; its verbs (``log_prob``, ``cdf``, …) work on the fit as well. Questions about columns (``given``,
        ``marginal``, ``sample``, ``impute``, ``surprisal``, ``predict``, ``mutual_information``) go by name where the
        data had names, and so do their answers; to the distribution itself they go by place, unless it is a Product.
    log_likelihood, log_posterior
        Σ w log p(x) at the estimate, and the same plus the log prior: infinite where the density of the prior is, as
        that of Beta(0.5, 0.5) at 0. Of a hard mixture too: what its passes raise, and its ``trace`` has, is the
        classification likelihood, which is ``classification_log_likelihood``.
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
    missing
        Number of missing cells.
    prior, prior_name
        The prior, and the name by which it was asked for: ``"weak"`` stands for what ``prior`` then holds.
    names
        The names of the data's columns, in the order of the distribution's; None where the data had none.
    layout
        What the table of the fit was like: the name, kind and unit of each column, in the order of the table.
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
    names: tuple[Any, ...] | None = None
    starts: tuple[Trace, ...] = field(default=(), repr=False)
    layout: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)
    _data: Any = field(default=None, repr=False)  # rows and weights, for what needs another pass; not pickled
    _mark: int | None = field(default=None, repr=False)  # by which a change of the rows is seen
    _like: Any = field(default=None, repr=False)  # a frame without rows, of the kind that was fitted

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
        """Number of passes over the data; the one that measures log L after ``max_iter`` M-steps is not counted."""
        return self.trace.passes or len(self.trace.log_likelihood)

    @property
    def classification_log_likelihood(self) -> float:
        """Σ w log p(x, component) of a mixture, each row with its most probable component: what hard EM raises.

        It lies below ``log_likelihood`` by the log-probabilities of those components.

        Examples
        --------
        >>> fit = sf.fit(sf.Mixture(sf.Normal(), 2, hard=True), [1.0, 2.0, 3.0, 7.0, 8.0, 9.0], random_state=0)
        >>> bool(np.isclose(fit.classification_log_likelihood, fit.trace.log_likelihood[-1]))
        True
        """
        hidden = getattr(self.distribution, "certainty", None)
        if hidden is None:
            msg = f"{self.distribution.name} has no hidden components, so it has no classification likelihood."
            raise UnsupportedError(msg)
        if self._data is not None and self.intact:
            return self.log_likelihood + float(hidden(*self._data))
        if self.distribution.hard_assignment and len(self.trace.log_likelihood):
            return float(self.trace.log_likelihood[-1])
        msg = (
            "the classification likelihood needs the rows, which a fit keeps only while it is in memory and they are "
            "unchanged: sum the largest of log_prob(rows, component=j) over the components j instead."
        )
        raise DataError(msg)

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2p − 2 log L: lower is better."""
        return 2.0 * self.n_parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz's criterion, p log n − 2 log L: lower is better."""
        return self.n_parameters * float(np.log(self.n)) - 2.0 * self.log_likelihood

    @property
    def data(self) -> Any:
        """The rows and weights of the fit, as a pair; None where they are not at hand."""
        return self._data

    @property
    def intact(self) -> bool:
        """Whether the rows are still there, and those of the fit."""
        return self._data is not None and self._mark in (None, fingerprint(*self._data))

    @cached_property
    def standard_errors(self) -> dict[str, Any]:
        """Standard error of each parameter, from the observed information."""
        if self._data is not None and not self.intact:
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
        bounds: dict[str, tuple[Any, Any]] = self.distribution.confidence_bounds(
            self.standard_errors, float(ndtri((1 + level) / 2))
        )
        return bounds

    def estimates(self, level: float = 0.95) -> Estimates:
        """Every parameter with its standard error and interval, as rows that print as a table.

        Entries of covariances of very many columns are left out, and the print says so; ``params`` has them.
        Where standard errors cannot be had they are NaN, and the print says why: those of a mixture need the rows,
        which a fit that was loaded from a file has not, unless they were asked for before it was saved.

        Examples
        --------
        >>> sf.fit(sf.Normal(), [1.0, 2.0, 3.0]).estimates()
        column  parameter  estimate  std. error         95 %
        value   mean           2.00        0.47  1.08 … 2.92
        value   std            0.82        0.33  0.16 … 1.47
        """
        from scipy.special import ndtri

        check_level(level)
        reach = float(ndtri((1 + level) / 2))
        note = ""
        try:
            errors = self.standard_errors
        except UnsupportedError as error:
            errors, note = None, f"without standard errors: {error}"
        numbers = self.distribution.numbers(self.names, errors, reach)
        if len(numbers) < self.n_parameters:  # covariances of so many columns that nobody reads them
            left = f"{len(numbers):,} of {self.n_parameters:,} parameters are listed; fit.params has all."
            note = f"{left}\n{note}" if note else left
        return Estimates.of(numbers, level, note)

    # ---- questions, by name ---------------------------------------------------------------------------------------
    @cached_property
    def _named(self) -> Any:
        """The distribution with the names of the data's columns."""
        places = self.names is not None and self.distribution.column_names is None
        return self.distribution.with_column_names(self.names) if places else self.distribution

    def _for(self, x: Data) -> Any:
        """Who reads such rows: columns with the names of the fit go by name, in any order, others by place."""
        there = names_of_data(x)
        in_place = there is None or there == self.names or set(there).isdisjoint(self.names or ())
        return self.distribution if in_place else self._named

    def log_prob(self, x: Data, **options: Any) -> Any:
        """Log density of each row; of a mixture with ``component=`` that of the row and its component together."""
        return self._for(x).log_prob(x, **options)

    def suffstats(self, x: Data, weights: object = None) -> Any:
        """Statistics of rows with the same columns; see :meth:`Distribution.suffstats`."""
        reader = self._for(x)
        reader.check_columns(read(reader, x))
        return reader.suffstats(x, weights)

    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw rows that look like the data of the fit.

        Of a frame they are a frame of the same library, with its order and types of columns; of a mapping, or after the
        fit was loaded from a file, a dictionary of columns; of an array an array. Numbers are rounded to the unit of
        their column: 1 where it holds whole numbers, else the power of ten that all its values are multiples of.
        ``fit.distribution.sample`` draws without rounding.
        """
        drawn = self._named.sample(n, random_state)
        if not self.layout or not isinstance(drawn, dict):
            return drawn
        return frame_output.like(self._like, restore(self.layout, drawn, self._named))

    def given(self, mapping: object = None, /, **columns: Any) -> Any:
        """The distribution of the other columns where some are known; see :meth:`Distribution.given`."""
        return self._named.given(mapping, **columns)

    def marginal(self, *columns: Any) -> Any:
        """The distribution of some columns alone; see :meth:`Distribution.marginal`."""
        return self._named.marginal(*columns)

    def impute(
        self,
        data: Data,
        *,
        n: int | None = None,
        draw: bool = False,
        uncertainty: bool = False,
        random_state: Seed = None,
    ) -> Any:
        """Fill the missing cells of rows from the cells that they have; see :meth:`Distribution.impute`."""
        model = self._for(data)
        options: dict[str, Any] = {"n": n, "draw": draw, "uncertainty": uncertainty, "random_state": random_state}
        if not self.layout or model.column_names is None:
            return model.impute(data, **options)
        return impute(model, data, layout=self.layout, **options)

    def surprisal(self, data: Data) -> Any:
        """How strange rows and cells are; see :meth:`Distribution.surprisal`."""
        return self._for(data).surprisal(data)

    def predict(self, x: Data, *given: Any, **options: Any) -> Any:
        """The most probable component of each row; or with ``given`` a column, predicted from the others.

        ``predict(rows)`` asks a mixture who made each row. ``predict("species", given={"bill_length": 40.0})`` asks
        any joint model about a column, see :meth:`Distribution.predict`, and ``predict("component", given=…)`` a
        mixture who would make such a row.
        """
        names = self.names or ()
        named = isinstance(x, str) and len(names) > 1 and x in (*names, "component")
        about_column = given or "given" in options or named
        return (self._named if about_column else self._for(x)).predict(x, *given, **options)

    def mutual_information(self, a: Data, b: str) -> float:
        """What columns, or lists of them, tell of each other; see :meth:`Distribution.mutual_information`."""
        found: float = self._named.mutual_information(a, b)
        return found

    @cached_property
    def icl(self) -> float:
        """The BIC of rows together with their most probable components.

        Lower is better, and undecided components cost.
        """
        if not hasattr(type(self.distribution), "certainty"):
            msg = f"ICL is of hidden components, and {self.distribution.name} has none; ask bic or aic."
            raise UnsupportedError(msg)
        if not self.intact:
            msg = "ICL needs the rows of the fit, and they are gone or changed: ask fit.icl before, or fit again."
            raise DataError(msg)
        return self.bic - 2.0 * float(self.distribution.certainty(*self._data))

    def summarize(self) -> Summary:
        """What there is to say about the fit, as values: what its summary, its HTML and a report show."""
        from suffice.display.fit_summary import of_fit

        return of_fit(self)

    def summary(self, width: int | None = None, *, errors: bool = False) -> str:
        """The fit as a page of text.

        Parameters
        ----------
        width
            Letters of a line; None: those of the terminal where one is printed to, else 80.
        errors
            Show every parameter with its standard error, those of a mixture's components too.
        """
        from suffice.display.text import summarise

        return summarise(self, width, errors=errors)

    def _repr_html_(self) -> str:
        """Show the summary as tables in a notebook."""
        from suffice.display.html import of_summary

        return of_summary(self.summarize())

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the rows: a file of a fit is not a copy of the data."""
        return {**{name: value for name, value in self.__dict__.items() if name != "_named"}, "_data": None}

    def __getattr__(self, name: str) -> Any:
        """Forward the distribution's verbs."""
        if name.startswith("_") or "distribution" not in self.__dict__ or not hasattr(type(self.distribution), name):
            msg = f"Fit has no attribute {name!r}"
            raise AttributeError(msg)
        if name == "predict_proba":  # of rows, whose columns may have names
            return lambda x: self._for(x).predict_proba(x)
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
