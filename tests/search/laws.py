"""What must hold of every problem: each law raises `BrokenError` with what it saw."""

import os
import traceback
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.base import clone

import suffice as sf
from suffice.em.convergence import ObjectiveFellError
from suffice.io import dumps, loads

UNCERTAIN = {  # such estimates lie on a bound or a ridge: they depend on the last bits of the rows
    *("collapsed", "singular", "few rows", "boundary", "fell", "not converged", "symmetric", "empty", "spurious"),
    *("unidentified", "not identified", "constant"),
}


FITS: list[int] = []  # a seed for each fit that was made


class BrokenError(AssertionError):
    """A law does not hold."""


def require(holds, what):
    if not holds:
        raise BrokenError(what)


def learn(problem, rows=None, weights=None, labels=None):
    """The answer to a problem; ``rows`` instead of its own."""
    rows, weights = (problem.rows, problem.weights) if rows is None else (rows, weights)
    FITS.append(problem.seed)
    if problem.verb == "classify":
        return clone(problem.model).fit(rows, problem.labels if labels is None else labels, sample_weight=weights)
    if problem.verb == "cluster":
        return clone(problem.model).fit(rows, sample_weight=weights)
    if problem.verb == "posterior":
        return sf.posterior(problem.model, rows, prior="weak", weights=weights)
    if problem.verb == "select":
        return sf.select(problem.model, rows, n_components=[1, 2], random_state=0, max_iter=60)
    return sf.fit(problem.model, rows, weights=weights, random_state=0, max_iter=200, start=problem.start)


def take_rows(problem, index):
    return {k: v[index] for k, v in problem.rows.items()} if problem.names else problem.rows[index]


def certain(found):
    return found.converged and UNCERTAIN.isdisjoint(code for code, _ in found.alerts)


def same_height(one, other, what, tolerance=1e-6):
    if not (certain(one) and certain(other)):
        return
    gap = abs(one.log_likelihood - other.log_likelihood)
    require(
        gap <= tolerance * max(1.0, abs(one.log_likelihood)), f"{what}: {one.log_likelihood} {other.log_likelihood}"
    )


def flat(params):
    for value in params.values() if isinstance(params, dict) else params:
        if isinstance(value, (dict, list, tuple)):
            yield from flat(value)
        else:
            yield np.asarray(value)


def bits(found):
    """What was learned, without how long it took."""
    found = found.best if isinstance(found, sf.Selection) else found
    if not isinstance(found, sf.Fit):
        return dumps(getattr(found, "distribution_", found))
    return dumps(found.distribution), dumps(found.statistics), found.trace.log_likelihood.tobytes(), found.alerts


def count(problem):
    return len(problem.rows[problem.names[0]] if problem.names else problem.rows)


# ---- the laws --------------------------------------------------------------------------------------------------------
def the_same_again(problem, found):
    """A second fit is bitwise the first."""
    require(bits(learn(problem)) == bits(found), "a second fit differs")


def threads(problem, found):
    """One thread or two, the same bits."""
    with mock.patch.dict(os.environ, {"SUFFICE_THREADS": "1"}):
        require(bits(learn(problem)) == bits(found), "one thread gives another answer")


def saved_and_loaded(problem, found):
    """A file holds the same bits."""
    del problem
    data = dumps(found)
    require(dumps(loads(data)) == data, "what was read writes another file")


def no_nan(problem, found):
    """Parameters are numbers."""
    if problem.verb != "fit":
        return
    for value in flat(found.params):
        require(value.dtype.kind != "f" or not np.isnan(value).any(), f"a parameter is NaN: {found.params!r:.200}")


def scores_add_up(problem, found):
    """Σ w log p(x) is the log-likelihood."""
    if problem.verb != "fit" or found.distribution.hard_assignment:
        return
    scores = np.asarray(found.log_prob(problem.rows))
    held = np.ones(len(scores)) if problem.weights is None else problem.weights
    total = float((held[held > 0] * scores[held > 0]).sum())
    size = max(1.0, float(np.abs(held * np.where(np.isfinite(scores), scores, 0)).sum()))
    tolerance = 1e-8
    if not certain(found):  # a singular covariance has half of its digits, and a term of about 1 for each column
        tolerance, size = 1e-4, size + float(held.sum()) * (found.distribution.columns or 1)
    equal = total == found.log_likelihood or abs(total - found.log_likelihood) <= tolerance * size
    require(equal, f"Σ log_prob {total}, log L {found.log_likelihood}")


def never_falls(problem, found):
    """EM never falls."""
    if problem.verb != "fit" or found.distribution.hard_assignment:
        return
    heights = np.asarray(found.trace.log_likelihood)
    falls = -np.diff(heights)
    require((falls <= 1e-8 * np.abs(heights).max(initial=1.0)).all(), f"log L falls by {falls.max(initial=0):g}")


def order(problem, found):
    """The order of the rows does not matter."""
    if problem.verb != "fit":
        return
    turn = np.random.default_rng(problem.seed).permutation(count(problem))
    weights = None if problem.weights is None else problem.weights[turn]
    same_height(found, learn(problem, take_rows(problem, turn), weights), "another order of the rows")


def repetition(problem, found):
    """A weight of 2 is the row twice."""
    if problem.verb != "fit" or problem.weights is None or not (problem.weights == np.floor(problem.weights)).all():
        return
    index = np.repeat(np.arange(len(problem.weights)), problem.weights.astype(int))
    same_height(found, learn(problem, take_rows(problem, index), None), "rows repeated as often as they weigh")


def merging(problem, found):
    """The statistics of two halves add up to those of all."""
    if problem.verb != "fit" or not found.distribution.exact or not found.statistics.exact:
        return
    n = count(problem)
    parts = []
    for index in (np.arange(n) < n // 2, np.arange(n) >= n // 2):
        held = None if problem.weights is None else problem.weights[index]
        if held is not None and not held.sum() > 0:
            return
        parts.append(found.distribution.suffstats(take_rows(problem, index), held))
    merged = found.distribution.log_likelihood(parts[0] + parts[1])
    gap = abs(merged - found.log_likelihood)
    finite = np.isfinite(found.log_likelihood)
    tolerance = 1e-6 if certain(found) else 1e-3
    require(not finite or gap <= tolerance * max(1.0, abs(merged)), f"merged {merged}, whole {found.log_likelihood}")


def frames(problem, found):
    """The same table from pandas, polars, Arrow or a mapping."""
    if not problem.names or problem.verb != "fit":
        return
    plain = {k: [None if pd.isna(one) else one for one in v.tolist()] for k, v in problem.rows.items()}
    kinds = {"pandas": pd.DataFrame(plain), "polars": pl.DataFrame(plain), "arrow": pa.table(plain)}
    expected = found.params
    for name, frame in kinds.items():
        other = learn(problem, frame, problem.weights)
        require(repr(other.params) == repr(expected), f"{name} gives other parameters")


def order_of_classes(problem, found):
    """A classifier does not depend on the order of its rows, and takes a weight of 2 for a row twice."""
    if problem.verb != "classify" or not settled(found):
        return
    turn = np.random.default_rng(problem.seed).permutation(count(problem))
    weights = None if problem.weights is None else problem.weights[turn]
    turned = learn(problem, take_rows(problem, turn), weights, problem.labels[turn])
    same_probabilities(problem, found, turned, "another order of the rows")
    if weights is not None and (problem.weights == np.floor(problem.weights)).all():
        index = np.repeat(np.arange(len(weights)), problem.weights.astype(int))
        repeated = learn(problem, take_rows(problem, index), None, problem.labels[index])
        same_probabilities(problem, found, repeated, "rows repeated as often as they weigh")


def settled(found):
    return found.converged_ and UNCERTAIN.isdisjoint(code for code, _ in found.alerts_)


def same_probabilities(problem, found, other, what):
    if not settled(other):
        return
    one, two = (np.asarray(model.predict_proba(problem.rows)) for model in (found, other))
    gap = np.abs(one - two).max()
    require(gap <= 1e-6, f"{what}: probabilities differ by {gap:g}")


def probabilities(problem, found):
    """Bayes' rule: probabilities of classes add to 1, and the most probable is predicted."""
    if problem.verb not in {"classify", "cluster"} or not hasattr(found, "predict_proba"):
        return
    shares = np.asarray(found.predict_proba(problem.rows))
    require((np.abs(shares.sum(axis=1) - 1) < 1e-9).all(), f"probabilities add to {shares.sum(axis=1)}")
    predicted = found.predict(problem.rows)
    names = getattr(found, "classes_", np.arange(shares.shape[1]))
    place = np.array([list(names).index(one) for one in predicted])
    require((shares[np.arange(len(shares)), place] >= shares.max(axis=1) - 1e-9).all(), "a less probable class")


def evidence_in_parts(problem, found):
    """p(all rows) = p(some) p(others | some): what is believed after some rows is the prior of the others."""
    if problem.verb != "posterior":
        return
    require(np.isfinite(found.log_evidence), f"log evidence {found.log_evidence}")
    require(found.predictive().sample(2, 0) is not None, "no row drawn")
    prior, total = getattr(found, "prior", None), 0.0
    if prior is None:
        return
    some = np.arange(count(problem)) % 2 == 0
    for index in (some, ~some):
        held = None if problem.weights is None else problem.weights[index]
        FITS.append(problem.seed)
        prior = sf.posterior(found.likelihood, take_rows(problem, index), prior=prior, weights=held)
        total += prior.log_evidence
    gap = abs(total - found.log_evidence)
    require(gap <= 1e-6 * max(1.0, abs(total)), f"log evidence in two parts {total}, at once {found.log_evidence}")


def display_name(problem, found):
    """It can be printed, and its estimates listed."""
    require(len(str(found)) > 0, "nothing is shown")
    if problem.verb == "fit":
        require(len(found.summary(errors=True)) > 0, "no summary")
        require(found.estimates() is not None, "no estimates")


ALWAYS = [saved_and_loaded, no_nan, scores_add_up, never_falls, probabilities, evidence_in_parts]
SOMETIMES = [the_same_again, threads, order, repetition, merging, frames, display_name]  # by turns: they take longer
OF_CLASSES = [the_same_again, threads, order_of_classes, display_name]


def in_scikit_learns_words(error):
    """Whether an estimator, or scikit-learn's validation, refuses rows: those are ValueErrors, as its users expect."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    raised = Path(last.filename)
    if not (last.line or "").startswith("raise "):  # NumPy's own functions have no line of Python
        return False
    return raised.parent.name == "estimators" or raised.parts[-2:] == ("utils", "validation.py")


def check(problem):
    """The name of the law that the problem breaks and what was seen; None where all hold or suffice refuses it."""
    law = "no raw exception"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            found = learn(problem)
            laws = OF_CLASSES if problem.verb == "classify" else SOMETIMES
            turns = [laws[(problem.seed + step) % len(laws)] for step in range(2)]
            for one in (*ALWAYS, *turns):
                law = one.__name__
                one(problem, found)
    except ObjectiveFellError as fall:
        return "never_falls", str(fall)
    except sf.SufficeError as refusal:
        return None if law == "no raw exception" else (law, f"{type(refusal).__name__}: {refusal}")
    except ValueError as error:
        return None if law == "no raw exception" and in_scikit_learns_words(error) else (law, f"ValueError: {error}")
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
        return law, f"{type(error).__name__}: {error}"
    return None
