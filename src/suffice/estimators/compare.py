"""A generative classifier, logistic regression and a linear support vector machine, on the same rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from suffice.arguments import generator
from suffice.errors import ParameterError
from suffice.estimators.compared_models import READ, Generative, Linear, discriminative, generative_of
from suffice.estimators.comparison import Boundary, Comparison, Curve, Lead, Reliability, Surface, standard_error
from suffice.estimators.splits import Rows, sizes_of
from suffice.tables.frame import is_frame, names
from suffice.tables.frame_output import like
from suffice.types import Alert, Array, Data, Seed

BINS = 10  # of a probability
DRAWN = 2000  # rows that a picture can hold
GRID = 121  # points of a surface along each axis
ROOM = 0.03  # around the rows, in parts of their range


def compare(
    X: Data,
    y: Data,
    generative: object = None,
    *,
    sizes: Iterable[int] | None = None,
    repeats: int = 20,
    test_size: float = 0.3,
    C: float = 1.0,
    missing: str = "error",
    sample_weight: Data = None,
    random_state: Seed = None,
) -> Comparison:
    """Compare a generative classifier with discriminative classifiers on the same splits of the rows.

    Logistic regression has the greatest conditional likelihood of y given x (no penalty), the linear support vector
    machine the least squared hinge loss with penalty ‖w‖²/2C; both see standardised columns, and their w and b are told
    in the units of the columns. Each split keeps the shares of the classes, holds out ``test_size`` of the rows, and
    lets every model learn from the same first rows of the others, a few and then more.

    Parameters
    ----------
    X : array or frame
        Rows (n, d): an array, a frame, or columns by name. A column of text is one column of zeros and ones for each
        level but the first; a ``generative`` that the caller gives has a frame as it is.
    y : array
        The class of each row.
    generative : estimator, or dict of them, optional
        A classifier, as ``sf.GaussianNB()``; or the distribution of the rows of a class, for
        :class:`BayesClassifier`. None is ``sf.MultivariateNormal(structure="tied")``: Gaussian classes that share one
        covariance, the linear discriminant.
    sizes : sequence of int, optional
        Numbers of training rows; None: eight, from 2(d + 1) or what the classes need up to all.
    repeats : int
        Number of splits. Standard errors are those of means over splits of these rows.
    test_size : int or float
        The share of rows that is held out of each split.
    C : float
        Of the support vector machine: the smaller, the more w is shrunk.
    missing : str
        ``"error"`` refuses rows with a missing cell, ``"drop"`` leaves them out.
    sample_weight : array, optional
        One number of at least 0 per row, for learning and for scores.
    random_state : int, Generator or RandomState, optional
        Seed or Generator.

    Returns
    -------
    A :class:`~suffice.estimators.comparison.Comparison`: ``table``, ``curves``, ``crossover``, ``boundaries``,
    ``calibration``. Interrupted by Ctrl-C it holds the splits that were done, with an alert.

    References
    ----------
    Ng, A. Y. and Jordan, M. I. (2002). On discriminative vs. generative classifiers: a comparison of logistic
    regression and naive Bayes. Advances in Neural Information Processing Systems 14, 841-848.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = sf.compare(rows + 2 * np.repeat([[0], [1]], 100, axis=0), np.repeat(["a", "b"], 100), repeats=3)
    >>> [row["model"] for row in found.table]
    ['generative', 'logistic', 'svm']
    """
    _check_options(repeats, test_size, C, missing)
    rng = generator(random_state)
    model = generative_of(generative, int(rng.integers(2**31)), frame=is_frame(X))
    data = Rows.of(X, y, sample_weight, raw=model.raw, drop=missing == "drop")
    models = (model, *discriminative(C))
    held = max(round(test_size * len(data.codes)), 1)
    steps = sizes_of(sizes, data, len(data.codes) - held)
    tallies = [_Tally(model, len(data.codes), len(steps)) for model in models]
    with threadpool_limits(1, user_api="blas"):  # many small fits: threads would cost more, and change bits
        alerts = _splits(repeats, data, rng, held, steps, tallies)
        some = rng.permutation(len(data.codes))[:READ]
        boundaries, surfaces = _boundaries(tallies, data, some)
    first, *others = tallies
    drawn = some[:DRAWN]
    return Comparison(
        models={one.name: one.words for one in models},
        classes=tuple(data.classes.tolist()),
        columns=data.names,
        rows=len(data.codes),
        held_out=held,
        curves={one.model.name: one.curve(steps) for one in tallies},
        leads={one.model.name: _lead(steps, first, one, data) for one in others},
        boundaries=boundaries,
        calibration={one.model.name: one.reliability() for one in tallies if one.model.probable},
        alerts=(*alerts, *(alert for one in tallies for alert in one.alerts(steps))),
        plane=(data.matrix[drawn], data.codes[drawn]) if data.matrix.shape[1] == 2 else None,
        surfaces=surfaces,
    )


def _check_options(repeats: int, test_size: float, C: float, missing: str) -> None:
    if isinstance(repeats, bool) or not isinstance(repeats, (int, np.integer)) or repeats < 1:
        msg = f"compare: repeats is a number of splits of at least 1; got {repeats!r:.60}."
        raise ParameterError(msg)
    if not (isinstance(test_size, (float, np.floating)) and 0 < test_size < 1):
        msg = f"compare: test_size is a share of the rows between 0 and 1, as 0.3; got {test_size!r:.60}."
        raise ParameterError(msg)
    if isinstance(C, bool) or not isinstance(C, (int, float, np.number)) or not 0 < C < np.inf:
        msg = f"compare: C is a finite number above 0; got {C!r:.60}."
        raise ParameterError(msg)
    if missing not in ("error", "drop"):
        msg = f"compare: missing is 'error' or 'drop'; got {missing!r:.60}."
        raise ParameterError(msg)


# ---- learning and scoring -------------------------------------------------------------------------------------------
@dataclass(eq=False)
class _Tally:
    """What one model scored so far, and what there is to say of its fits."""

    model: Generative | Linear
    rows: int
    steps: int
    errors: list[Array] = field(default_factory=list)  # of each split, (sizes,)
    losses: list[Array] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    fits: int = 0
    perfect: set[int] = field(default_factory=set)  # sizes at which training rows were told apart without an error

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.bins = np.zeros((3, BINS))
        self.wrong = np.zeros((self.steps, self.rows))  # how often each row was given a wrong class
        self.tested = np.zeros(self.rows)

    def learn(self, data: Rows, some: Array) -> Any:
        """The model of some rows; what it warns of is kept."""
        weights = None if data.weights is None else data.weights[some]
        codes = data.codes[some]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learned = self.model.learn(data.rows(some, raw=self.model.raw), data.classes[codes], codes, weights)
        self.fits += 1
        self.remarks += [str(caught[0].message)] if caught else []
        return learned

    def score(self, data: Rows, order: Array, held: int, steps: Array) -> tuple[Array, Array, Array]:
        """Of each size, which rows of the last were given a wrong class and their −log p; at last, bins of p."""
        test = order[-held:]
        truth, weight = data.codes[test], data.weigh(test)
        wrong, loss = np.zeros((len(steps), held), bool), np.full((len(steps), held), np.nan)
        for place, size in enumerate(steps):
            train = order[:size]
            learned = self.learn(data, train)
            found = self.model.scores(learned, data.rows(test, raw=self.model.raw), data.classes)
            wrong[place] = found.argmax(axis=1) != truth
            if self.model.probable:
                loss[place] = -found[np.arange(held), truth]
            if self.model.unbounded:
                fitted = self.model.scores(learned, data.rows(train, raw=self.model.raw), data.classes)
                self.perfect |= {int(size)} if (fitted.argmax(axis=1) == data.codes[train]).all() else set()
        return wrong, loss, _bin(np.exp(found), truth, weight) if self.model.probable else np.zeros((3, BINS))

    def curve(self, steps: Array) -> Curve:
        """Errors and log-losses of the splits so far."""
        return Curve(steps, np.array(self.errors), np.array(self.losses))

    def reliability(self) -> Reliability:
        """Predicted probabilities and observed frequencies."""
        weight, predicted, observed = self.bins
        with np.errstate(invalid="ignore"):
            return Reliability(weight, predicted / weight, observed / weight)

    def alerts(self, steps: Array) -> list[Alert]:
        """What to know of the fits."""
        found: list[Alert] = []
        if self.perfect:
            more = steps[steps > max(self.perfect)]
            text = (
                f"{self.model.name} told the training rows apart without an error, in some split of up to "
                f"{max(self.perfect):,} rows: the conditional likelihood then has no maximum, and w grows until the "
                f"optimiser stops. Trust its log-loss from {f'{more[0]:,}' if len(more) else 'more'} rows on."
            )
            found.append(Alert("separable", text))
        if self.remarks:
            first = self.remarks[0].splitlines()[0]
            text = f"{self.model.name}: {len(self.remarks)} of {self.fits} fits warned, the first of them: {first}"
            found.append(Alert("warned", text))
        return found


def _splits(
    repeats: int, data: Rows, rng: np.random.Generator, held: int, steps: Array, tallies: list[_Tally]
) -> list[Alert]:
    """Score every model on all splits; on Ctrl-C those that were done count, and an alert says so."""
    try:
        for _ in range(repeats):
            _split(data, data.order(rng), held, steps, tallies)
    except KeyboardInterrupt:
        done = len(tallies[0].errors)
        if not done:
            raise
        text = f"stopped by the keyboard: {done} of {repeats} splits are here."
        return [Alert("interrupted", text, interrupted=True)]
    return []


def _boundaries(
    tallies: list[_Tally], data: Rows, some: Array
) -> tuple[dict[str, Boundary | None], dict[str, Surface]]:
    """The boundary of each model as learned from all rows; where it is not linear, its surface over two columns."""
    boundaries: dict[str, Boundary | None] = {}
    surfaces: dict[str, Surface] = {}
    for one in tallies:
        learned = one.learn(data, np.arange(len(data.codes)))
        boundaries[one.model.name] = _boundary(one, learned, data, some)
        surface = _surface(one, learned, data, some[:DRAWN]) if boundaries[one.model.name] is None else None
        if surface is not None:
            surfaces[one.model.name] = surface
    return boundaries, surfaces


def _split(data: Rows, order: Array, held: int, steps: Array, tallies: list[_Tally]) -> None:
    """Let every model learn from the first rows of an order, a few and then more, and score the last."""
    test = order[-held:]
    weight = data.weigh(test)
    found = [one.score(data, order, held, steps) for one in tallies]
    for one, (wrong, loss, bins) in zip(tallies, found, strict=True):  # all of a split, or nothing
        one.errors.append(wrong @ weight / weight.sum())
        one.losses.append(loss @ weight / weight.sum())
        one.wrong[:, test] += wrong
        one.tested[test] += 1
        one.bins += bins


def _bin(proba: Array, truth: Array, weight: Array) -> Array:
    """Weight, weighted probability and weighted truth of each bin of probability, (3, bins)."""
    if proba.shape[1] == 2:
        p, right = proba[:, 1], truth == 1
    else:
        p, right = proba.max(axis=1), proba.argmax(axis=1) == truth
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    return np.array([np.bincount(place, weight * part, BINS) for part in (1.0, p, right)])


def _lead(steps: Array, generative: _Tally, other: _Tally, data: Rows) -> Lead:
    """The difference of two errors, with the larger of two standard errors: over splits, and over rows.

    The same rows are held out again and again, so that splits alone would make a chance of these rows look certain.
    """
    gain = np.array(generative.errors) - np.array(other.errors)
    seen = np.flatnonzero(other.tested)
    weight = data.weigh(seen)
    row = (generative.wrong - other.wrong)[:, seen] / other.tested[seen]
    away = row - (row @ weight / weight.sum())[:, None]
    over_rows = np.sqrt(away**2 @ weight**2) / weight.sum()
    return Lead(steps, gain.mean(axis=0), np.fmax(standard_error(gain), over_rows))


def _boundary(tally: _Tally, learned: object, data: Rows, some: Array) -> Boundary | None:
    """The boundary that a model learned from all rows, by some of them."""
    return tally.model.boundary(learned, data.rows(some, raw=tally.model.raw), data.matrix[some], data.classes)


def _surface(tally: _Tally, learned: object, data: Rows, drawn: Array) -> Surface | None:
    """The log-odds of two classes over two columns of numbers; None of others."""
    frame = names(data.given) if tally.model.raw else None
    if data.matrix.shape[1] != 2 or len(data.classes) != 2 or (frame is not None and len(frame) != 2):
        return None
    low, high = data.matrix[drawn].min(axis=0), data.matrix[drawn].max(axis=0)
    room = ROOM * np.where(high > low, high - low, 1.0)
    x, y = np.linspace(low - room, high + room, GRID).T
    mesh = np.stack([one.ravel() for one in np.meshgrid(x, y)], axis=1)
    rows = mesh if frame is None else like(data.given, dict(zip(frame, mesh.T, strict=True)))
    scores = tally.model.scores(learned, rows, data.classes)
    with np.errstate(invalid="ignore"):
        return Surface(x, y, (scores[:, 1] - scores[:, 0]).reshape(GRID, GRID))
