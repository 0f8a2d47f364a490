"""Choosing the number of states of a hidden Markov model: a fit of each size, and of each covariance structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.em.fit import fit
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.hidden_markov import HiddenMarkov
from suffice.selection.candidates import Candidate, _structures, _whole, _with_structure
from suffice.selection.trials import Found
from suffice.statistics.weights import Weights
from suffice.tables.streams import read
from suffice.types import Alert, Array, Data, Seed


def chain_candidates(prototype: Any, n_components: Any, structures: Any, families: Any) -> list[Candidate]:
    """Models of every size and structure that are asked for."""
    emissions = prototype.emissions
    if families is not None:
        msg = "families= is for mixtures; select the emissions of a HiddenMarkov one by one, and compare their BIC."
        raise UnsupportedError(msg)
    if n_components is None:
        sizes = [prototype.n]
    elif emissions.lone or len({type(one) for one in prototype.parts}) == 1:
        sizes = _whole(n_components, None)
    else:
        msg = "a HiddenMarkov of unlike emissions knows how many states it has; leave n_components out."
        raise ParameterError(msg)
    one = emissions if emissions.lone else prototype.parts[0]
    names = _structures(structures) or ("",)
    if names != ("",) and not _with_structure(one, names[0])[1]:
        msg = f"structures are of MultivariateNormal, and the emission is {one!r:.60}; leave structures out."
        raise ParameterError(msg)
    start = "stationary" if prototype.from_stationary else "free"
    found = []
    for size in sizes:
        for name in names:
            emission = _with_structure(one, name)[0] if name else one
            same = size == prototype.n and not name
            model = prototype if same else HiddenMarkov(emission, size, start)
            found.append(Candidate(model, f"{emission.name} states", name))
    return found


def search_chains(
    asked: list[Candidate],
    data: Data,
    weights: Data,
    prior: Any,
    random_state: Seed,
    folds: Any,
    report: Callable[[list[Found]], Any] | None,
) -> tuple[list[Found], tuple[Alert, ...]]:
    """A fit of each candidate, all from one seed; interrupted, those that there are."""
    seed = int(np.random.default_rng(random_state).integers(1 << 32))
    seed = int(random_state) if isinstance(random_state, (int, np.integer)) else seed
    found: list[Found] = []
    try:
        for candidate in asked:
            learned = fit(candidate.mixture, data, weights=weights, prior=prior, random_state=seed)
            rows, held = learned.data
            score = held_out(candidate.mixture, rows, held, prior, seed, folds) if folds is not None else float("nan")
            found.append(Found(candidate, learned, learned.distribution.certainty(rows, held), score))
            if report is not None:
                report(found[-1:])
    except KeyboardInterrupt:
        if not found:
            raise
        text = f"interrupted after {len(found)} of {len(asked)} candidates."
        return found, (Alert("interrupted", text, interrupted=True),)
    return found, ()


def held_out(model: Any, data: Any, weights: Weights, prior: Any, seed: int, folds: Any) -> float:
    """The mean log-likelihood of rows of sequences that were held out."""
    rows = read(model, data)
    if len(rows) < 2:
        msg = "held-out sequences need at least two of them: give sf.sequences([…]), or choose by 'bic'."
        raise ParameterError(msg)
    order = np.random.default_rng(seed).permutation(len(rows))
    if isinstance(folds, float):
        parts = [order[: max(round(folds * len(rows)), 1)]]
    else:
        parts = np.array_split(order, min(int(folds), len(rows)))
    w = weights.dense()[:, 0]
    total, count = 0.0, 0.0
    for part in parts:
        rest: Array = np.setdiff1d(order, part)
        learned = fit(model, rows[rest], weights=w[rest], prior=prior, random_state=seed).distribution
        total += float(w[part] @ learned.log_prob(rows[part]))
        count += float(w[part] @ rows.lengths[part])
    return total / count
