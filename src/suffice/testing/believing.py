"""Laws of belief, for every conjugate pair: Bayes' rule, evidence, predictives, modes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.bayes.posterior import Posterior, at
from suffice.errors import ParameterError, UnsupportedError
from suffice.testing.law import DoesNotApply, close, law, require, rows_of


def pairs(dist: Any, rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
    """Each (likelihood, prior) that the family pairs itself with, what the prior does not speak of fixed."""
    if not getattr(dist, "conjugates", ()):
        raise DoesNotApply(f"{dist.name} has no conjugate prior")
    found, why = 0, ""
    for kind in dist.conjugates:
        prior = typical_prior(kind, dist, rng)
        others = [name for name in dist.free if name != dist.belief_about]
        for likelihood in (dist, dist.fix(*others) if others else dist):
            try:
                likelihood.posterior(likelihood.suffstats(rows_of(dist, rng, 3)), prior)
            except UnsupportedError as refusal:
                why = str(refusal)
                continue
            found += 1
            yield likelihood, prior
            break
    if not found:
        raise DoesNotApply(why)


def typical_prior(kind: type[Any], dist: Any, rng: np.random.Generator) -> Any:
    """A typical prior that fits the parameters of ``dist``: as wide where it speaks of vectors."""
    batch = dist.batch
    values: dict[str, Any] = {}
    width = np.shape(getattr(dist, dist.belief_about, 0.0))[-1:] or (1,)
    for name, spec in kind.specs().items():
        values[name] = spec.draw(rng, batch, width[0]) if spec.domain.core else spec.draw(rng, batch)
    prior = kind(**values)
    low = getattr(prior, "df", None)
    if low is not None and kind.__name__ == "NormalInverseWishart":
        prior = replace(prior, df=np.asarray(low) + width[0] + 1)
    return prior


def components_evidence(posterior: Posterior) -> Any:
    """The log evidence as an array: one number per component."""
    return np.asarray(posterior.log_evidence, dtype=float)


def points_of(posterior: Posterior, rng: np.random.Generator, n: int = 4) -> list[Any]:
    """Parameters drawn from the belief, in the form that its log_prob takes."""
    drawn = posterior.belief.sample(n, rng)
    if isinstance(drawn, dict):
        return [{name: np.asarray(value)[i] for name, value in drawn.items()} for i in range(n)]
    return [np.asarray(drawn)[i] for i in range(n)]


def density(belief: Any, point: Any) -> Any:
    """Log density of a belief at a point, component by component (columns added)."""
    cells = np.asarray(belief.stacked.log_cell(lifted(belief, point)), dtype=float)
    return cells.sum(axis=-1)


def lifted(belief: Any, point: object) -> Any:
    """A parameter in the layout of the stacked belief."""
    lead = (1,) * belief.lacking

    def lift(value: Any) -> Any:
        return np.asarray(value).reshape(lead + np.shape(value))

    return {name: lift(value) for name, value in point.items()} if isinstance(point, dict) else lift(point)


def likelihood_at(likelihood: Any, point: Any, stats: object) -> Any:
    """Log likelihood of the statistics at a parameter, component by component."""
    return np.atleast_1d(at(likelihood.for_statistics(stats), point).log_likelihood(stats))


@law("Bayes' rule", "update, the evidence, log_cell of the prior")
def bayes_rule(dist: object, rng: np.random.Generator) -> None:
    """Log posterior density = log likelihood + log prior − log evidence, at any parameter."""
    for likelihood, prior in pairs(dist, rng):
        x = rows_of(dist, rng, 12)
        stats = likelihood.suffstats(x, rng.uniform(0.2, 2.0, len(x)))
        posterior = likelihood.posterior(stats, prior)
        for point in points_of(posterior, rng):
            joint = likelihood_at(likelihood, point, stats) + density(prior, point)
            expected = joint - np.atleast_1d(components_evidence(posterior))
            close(density(posterior.belief, point), expected, 1e-8, f"{type(prior).__name__} at {point}")


@law("posterior after posterior = posterior of all", "update, a posterior accepted as a prior")
def posterior_after_posterior(dist: object, rng: np.random.Generator) -> None:
    """Updating in two steps is updating once; the evidences of the steps add; no rows change nothing."""
    for likelihood, prior in pairs(dist, rng):
        x = rows_of(dist, rng, 20)
        first = likelihood.posterior(likelihood.suffstats(x[:8]), prior)
        second = likelihood.posterior(likelihood.suffstats(x[8:]), first)
        whole = likelihood.posterior(likelihood.suffstats(x), prior)
        for name in whole.belief.specs():
            close(getattr(second.belief, name), getattr(whole.belief, name), 1e-10, f"{name} in two steps")
        steps = components_evidence(first) + components_evidence(second)
        close(steps, components_evidence(whole), 1e-9, "log evidence in two steps")
        nothing = likelihood.posterior(likelihood.suffstats(x[:0]), prior)
        close(nothing.log_evidence, np.zeros_like(components_evidence(nothing)), 1e-10, "log evidence of no rows")
        for name in nothing.belief.specs():
            close(
                np.broadcast_to(getattr(prior, name), np.shape(getattr(nothing.belief, name))),
                getattr(nothing.belief, name),
                1e-14,
                f"{name} after no rows",
            )


@law("predictive = ratio of evidences", "predict_with, the evidence")
def predictive_is_ratio(dist: object, rng: np.random.Generator) -> None:
    """p(new row | rows) from the predictive equals evidence(rows and it) / evidence(rows)."""
    for likelihood, prior in pairs(dist, rng):
        x = rows_of(dist, rng, 14)
        before = likelihood.posterior(likelihood.suffstats(x[:9]), prior)
        predictive = before.predictive()
        for row in range(9, 14):
            after = likelihood.posterior(likelihood.suffstats(np.concatenate([x[:9], x[row : row + 1]])), prior)
            ratio = components_evidence(after) - components_evidence(before)
            got = np.asarray(predictive.log_prob(x[row : row + 1]))[0]
            close(got, ratio, 1e-9, f"{type(prior).__name__}: log p of the new row {x[row]}")


@law("MAP is the mode", "mode of the belief, estimate with a prior")
def map_is_the_mode(dist: object, rng: np.random.Generator) -> None:
    """No move of the parameter raises likelihood × prior beyond its value at the mode, and fitting ends there."""
    for likelihood, prior in pairs(dist, rng):
        x = rows_of(dist, rng, 40)
        stats = likelihood.suffstats(x)
        posterior = likelihood.posterior(stats, prior)
        mode = posterior.mode
        learned = likelihood.estimate(stats, prior)
        modes = mode if isinstance(mode, dict) else {likelihood.belief_about: mode}
        for name, value in modes.items():
            close(getattr(learned, name), value, 1e-12, f"the estimate of {name} against the mode")
        best = likelihood_at(likelihood, mode, stats) + density(prior, mode)
        tried = 0
        for point in points_of(posterior, rng, 6):
            for share in (1e-3, 0.05, 1.0):
                move = blend(mode, point, share)
                try:
                    reached = likelihood_at(likelihood, move, stats) + density(prior, move)
                except ParameterError:
                    continue
                tried += 1
                require(
                    (reached <= best + 1e-9 * (1 + np.abs(best))).all(),
                    f"{type(prior).__name__}: log posterior {best} at the mode {mode}, but {reached} at {move}.",
                )
        require(tried, "no parameter near the mode could be tried.")


def blend(mode: Any, point: Any, share: float) -> Any:
    """A point on the way from the mode to another."""
    if isinstance(mode, dict):
        return {name: blend(mode[name], point[name], share) for name in mode}
    return (1 - share) * np.asarray(mode) + share * np.asarray(point)


@law("beliefs describe their own draws", "sample, interval, mean and std of the belief")
def beliefs_describe_their_draws(dist: object, rng: np.random.Generator) -> None:
    """The interval holds its share of the draws, and their mean and spread are those stated."""
    n = 4000
    for likelihood, prior in pairs(dist, rng):
        posterior = likelihood.posterior(likelihood.suffstats(rows_of(dist, rng, 25)), prior)
        drawn, interval = posterior.sample(n, rng), posterior.interval(0.9)
        mean, std = posterior.mean, posterior.std
        if not isinstance(drawn, dict):
            drawn, interval, mean, std = ({"": part} for part in (drawn, interval, mean, std))
        if "cov" in drawn:  # a matrix has no interval; its diagonal does
            drawn = {**drawn, "std": np.sqrt(np.diagonal(drawn["cov"], axis1=-2, axis2=-1))}
        for name, (low, high) in interval.items():
            values, what = drawn[name], f"{type(prior).__name__} {name}"
            share = ((values >= low) & (values <= high)).mean(axis=0)
            require((np.abs(share - 0.9) < 5 * 0.3 / np.sqrt(n)).all(), f"{what}: a 90 % interval holds {share}.")
        for name in set(mean) & set(std) & set(drawn):
            values, what = drawn[name], f"{type(prior).__name__} {name}"
            away = np.abs(values.mean(axis=0) - mean[name])
            error = np.asarray(std[name]) / np.sqrt(n)
            require((away <= 6 * error).all(), f"{what}: draws have mean {values.mean(axis=0)}, stated {mean[name]}.")
            ratio = values.std(axis=0) / std[name]
            require((np.abs(ratio - 1) < 0.25).all(), f"{what}: draws spread {ratio} times as far as stated.")
