"""The steps of EM on a mixture by name: responsibilities that are given, one step, and rows with their components."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from suffice.core.family import Family
from suffice.core.responsibilities import Joint, normalize
from suffice.engines import local
from suffice.errors import DataError, ParameterError
from suffice.statistics.sums import Statistics
from suffice.statistics.weights import OneHot, Weights
from suffice.tables.streams import Source, read
from suffice.types import Array, Data, Rows

NONE = -1  # the code of a row whose component is not known


class MixtureSteps:
    """Steps of EM, as a base class of a mixture."""

    n: Any  # of the mixture itself, as all of these
    components: Any
    weights: Any
    log_weights: Any
    hard: Any
    ready: Any
    estimate: Any
    tag_family: Any
    read: Any
    materialize: Any
    for_data: Any
    scores: Any
    is_single: Any
    require_ready: Any
    check_family: Any

    def suffstats(self, x: Data, weights: Data = None) -> Joint:
        """Statistics of the rows: the E-step, or what given responsibilities make of it.

        Parameters
        ----------
        x
            Rows, as ``log_prob`` takes them.
        weights : array, optional
            None or (n,): a weight for each row, shared out by the responsibilities under these parameters. (n, k), or a
            :class:`OneHot` of k: the responsibilities Q themselves; ``estimate`` of the result is then the M-step for
            this Q, the mixing weights included, whatever the parameters are.

        Returns
        -------
        Joint
            ``log_likelihood`` of it is G(Q, θ) = Σ Q log p(x, component) + H(Q).

        Examples
        --------
        >>> mixture = sf.Mixture(sf.Normal(), 2)
        >>> mixture.estimate(mixture.suffstats([1.0, 3.0, 8.0], [[1, 0], [1, 0], [0.5, 0.5]])).weights.round(3)
        array([0.833, 0.167])
        """
        given = isinstance(weights, OneHot) or (not isinstance(weights, Weights) and np.ndim(weights) == 2)
        if not given:
            whole: Joint = Family.suffstats(self, x, weights)  # type: ignore[arg-type] # a mixture is one
            return whole
        rows = read(self, x)
        shares = Weights.of(weights, len(rows))
        if shares.n_components != self.n:
            msg = (
                f"responsibilities have a column for each of the {self.n} components; got {shares.n_components}. "
                "Weights of rows have shape (n,)."
            )
            raise DataError(msg)
        return self._given(rows, shares)

    def _given(self, rows: Rows, shares: Weights) -> Joint:
        model: Any = self.for_data(rows)
        components: Statistics = model.components.suffstats(rows, shares)
        dense = shares.dense()
        held = dense.sum(axis=1)
        log_likelihood = np.full(1, np.nan)
        if model.ready:
            log_likelihood = np.array([weighted_total(Family.log_prob(model, rows), held)])
        entropy = np.array([entropy_of(dense, held)])
        solid = np.array([Weights.of(held, len(rows)).solid])
        stats = Joint(dense.sum(axis=0), components, log_likelihood, entropy, solid=solid)
        found: Joint = self.tag_family(stats)
        return found

    def em_step(self, x: Array, weights: Array | None = None, prior: Any = None) -> Self:
        """One step of EM: responsibilities under these parameters, then the parameters that are best for them.

        Parameters
        ----------
        x
            Rows.
        weights : array (n,), optional
            A weight for each row; or (n, k) responsibilities, which leaves the M-step alone.
        prior
            As in :func:`suffice.fit`; the M-step is then the mode of the posterior.

        Returns
        -------
        Mixture
            The next parameters; log L is not lower under them.

        Examples
        --------
        >>> mixture = sf.Mixture([sf.Normal(0, 1), sf.Normal(6, 1)])
        >>> mixture.em_step([0.0, 1.0, 6.0, 7.0]).params["mean"].round(3)
        array([0.5, 6.5])
        """
        self.require_ready("make a step of EM")
        found: Self = self.estimate(self.suffstats(x, weights), prior)
        return found

    def log_prob(self, x: Data, component: object = None) -> Any:
        """Log density of each row, (n,); with ``component`` that of the row and its component together.

        Parameters
        ----------
        x
            Rows.
        component : int or array of int (n,), optional
            The component of all rows, or of each: log π_z + log p_z(x), whose sum over the rows is the complete-data
            log-likelihood. A code of −1 is a component that is not known, and the row has the density of the mixture.

        Returns
        -------
        numpy.ndarray or float

        Examples
        --------
        >>> mixture = sf.Mixture([sf.Normal(0, 1), sf.Normal(4, 1)])
        >>> mixture.log_prob([0.0, 4.0], component=[0, 1]).round(4)
        array([-1.6121, -1.6121])
        """
        if component is None:
            return Family.log_prob(self, x)  # type: ignore[arg-type] # a mixture is one
        self.require_ready("score rows")
        if isinstance(x, Source):
            msg = "log_prob(…, component=) takes rows in memory; read a part of the file, and ask about that."
            raise DataError(msg)
        x = self.materialize(x)
        rows = self.read(x)
        codes = component_codes(component, len(rows), self.n)

        def part(where: slice) -> Array:
            scores = self.scores(rows[where])
            own = codes[where]
            chosen = scores[np.arange(len(own)), own]
            if (own == NONE).any():
                chosen = np.where(own == NONE, normalize(scores).total, chosen)
            return np.asarray(chosen)

        found = local.fill(part, len(rows), self.n + 8)
        return float(found[0]) if self.is_single(x) else found

    def measured_log_likelihood(self, stats: Any, rows: Any = None, weights: Any = None) -> float:
        return float(stats.log_likelihood[0])

    def log_likelihood(self, stats: Any) -> Any:
        """G(Q, θ): the expected log-likelihood of rows and components, plus the entropy of who made them.

        Under the parameters that gathered the statistics it is Σ w log p(x); under others it is a lower bound of that.
        """
        self.check_family(stats)
        components = self.components.for_statistics(stats.components)
        with np.errstate(invalid="ignore"):  # a probability that rounds to 1 leaves −∞ of next to no rows
            made = components.likelihood_cells(stats.components).sum()
        return float(self._chosen(stats.count) + made + stats.entropy[0])

    def _chosen(self, count: Array) -> float:
        """Σ count log π: what it takes that these components made the rows; one that made none may be impossible."""
        some = count != 0
        return float((count[some] * self.log_weights[some]).sum())

    def likelihood_cells(self, stats: Statistics) -> Array:
        return np.array([[self.log_likelihood(stats)]])


def component_codes(component: object, length: int, n: int) -> Array:
    """The component of each row as numbers from 0, −1 where it is not known."""
    codes = np.asarray(component)
    if codes.dtype.kind not in "iu" or codes.shape not in ((), (length,)):
        msg = (
            f"component is a whole number, or one for each of the {length} rows; got {component!r:.60} of shape "
            f"{codes.shape}."
        )
        raise ParameterError(msg)
    wrong = (codes < NONE) | (codes >= n)
    if wrong.any():
        msg = f"components go from 0 to {n - 1} (−1: not known); got {np.atleast_1d(codes)[np.atleast_1d(wrong)][0]}."
        raise ParameterError(msg)
    return np.broadcast_to(codes.astype(np.intp), (length,))


def entropy_of(shares: Array, held: Array) -> float:
    """Σ_i w_i H(q_i) of responsibilities w_i q_ij, (n, k), whose sums are the weights w (n,) of the rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(shares > 0, np.log(shares / held[:, None]), 0.0)
    return float(-np.sum(shares * logs))


def weighted_total(values: Array, weights: Array) -> float:
    """Σ w v over the rows that count."""
    counted = weights > 0
    return float(weights[counted] @ np.asarray(values)[counted])
