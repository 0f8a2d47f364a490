"""What a mixture can be asked: how sure its parameters are, its moments, probabilities and quantiles."""

from __future__ import annotations

from typing import Any

from suffice.core.errors import UnsupportedError


class MixtureAnswers:
    """Questions to a mixture, as a base class of it."""

    # ---- how sure ---------------------------------------------------------------------------------------------------
    def standard_errors(self, stats: Any) -> dict[Any, Any]:
        """Refuse: who made which row is in the rows, not in the statistics."""
        del stats
        msg = (
            "standard errors of a Mixture need the rows, which a fit keeps only while it is in memory: ask "
            "fit.standard_errors before the fit is saved or pickled, or fit again."
        )
        raise UnsupportedError(msg)

    def errors_from(self, stats: Any, data: Any) -> dict[Any, Any]:
        """Standard errors from the observed information of the rows; NaN where the rows do not tell."""
        if data is None:
            return self.standard_errors(stats)
        from suffice.combinators.information import mixture_errors

        return mixture_errors(self, *data)

    def bounds(self, errors: dict[Any, Any], reach: float) -> dict[Any, Any]:
        """Estimate ± reach × standard error of each parameter, inside its domain."""
        from suffice.combinators.information import mixture_bounds

        return mixture_bounds(self, errors, reach)

    def table(self, fit: Any) -> list[str]:
        """The members of a fit as lines of text: each entry with its standard error, where that is quickly found."""
        from suffice.combinators.mixture_table import lines

        return lines(self, fit)
