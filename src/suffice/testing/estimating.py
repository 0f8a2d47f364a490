"""Laws of learning: the estimate maximises, the loop never falls, shifts and scales pass through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.em.loop import run_em
from suffice.em.training import TrainingData
from suffice.errors import ParameterError, UnsupportedError
from suffice.numerics.derivatives import FIRST, STEP, smooth_scale
from suffice.testing.law import (
    DoesNotApply,
    close,
    fresh,
    law,
    learn,
    learnable,
    owned_rows,
    require,
    rows_of,
    same_value,
)
from suffice.types import Array

STEPS = (1e-4, 1e-2, 0.2)
LOCATION = ("mean", "loc", "low", "high")
SCALE = {"std": 1.0, "scale": 1.0, "low": 1.0, "high": 1.0, "mean": 1.0, "loc": 1.0, "cov": 2.0, "rate": -1.0}


def objective(dist: Any, x: object, weights: Array) -> float:
    """Σ w log p(x) from log_prob alone; weights (n,) or (n, k)."""
    with np.errstate(all="ignore"):
        scores = np.asarray(dist.log_prob(x))
        return float(np.where(weights == 0, 0.0, weights * scores).sum())


def nearby(dist: Any, name: Any, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Values that differ from ``dist`` in one free parameter, in both directions, by several sizes."""
    if not dist.specs():  # made of blocks: move one parameter of one of them
        for key in dist.blocks[name].free:
            for what, block in nearby(dist.blocks[name], key, rng):
                yield f"{name}: {what}", dist.rebuilt({**dist.blocks, name: block}.values())
        return
    for size in STEPS:
        for sign in (1.0, -1.0):
            value = shifted(dist, name, sign * size, rng)
            try:
                yield f"{name} moved by {sign * size:g}", replace(dist, **{name: value})
            except ParameterError:
                continue  # outside the domain: the estimate lies on its boundary


def shifted(dist: Any, name: str, size: float, rng: np.random.Generator) -> Array:
    """A parameter moved by about ``size`` of its own scale, every cell by another amount, tied components together."""
    value, domain = np.asarray(getattr(dist, name), dtype=float), dist.specs()[name].domain
    shared = name in dist.tied and not dist.lone
    lead = (1, *dist.batch[1:]) if shared else dist.batch
    step = size * (0.5 + rng.random(lead))

    def length(scale: Array) -> Array:
        return np.asarray(scale.mean(axis=0, keepdims=True) if shared else scale)

    if domain.core == 0:
        scale = np.asarray(smooth_scale(dist, name))
        moved = value + step * length(np.where(np.isfinite(scale) & (scale > 0), scale, 1.0))
    elif domain.core == 2:
        moved = value * (1 + step[..., None, None])
    elif domain.rule is not None:  # shares: towards a random point of the simplex, or towards its first corner
        target = rng.dirichlet(np.ones(value.shape[-1]), lead) if size > 0 else np.eye(value.shape[-1])[0]
        moved = value + np.abs(step)[..., None] * (np.where(value > 0, target, 0.0) - value)
        moved = moved / moved.sum(axis=-1, keepdims=True)
    else:
        spread = np.asarray(dist.std)
        spread = spread[..., None] if spread.shape == dist.batch else spread
        scale = np.abs(value) if np.isfinite(domain.low) else np.broadcast_to(spread, value.shape)
        moved = value + size * length(scale) * rng.uniform(0.2, 1.0, (*lead, value.shape[-1]))
    return np.broadcast_to(moved, value.shape)


def check_maximum(learned: Any, x: object, weights: Array, rng: np.random.Generator, what: str) -> None:
    """Break the law if any nearby value has a higher likelihood."""
    best = objective(learned, x, weights)
    require(np.isfinite(best), f"{what}: the likelihood of {learned!r} is {best}.")
    held = learned.alerts(learned.suffstats(x, weights))  # a maximum at infinity is held short of it, with an alert
    slack = (1e-9 if held else 1e-11) * (abs(best) + float(np.abs(weights).sum()))
    for name in learned.free:
        for moved, other in nearby(learned, name, rng):
            reached = objective(other, x, weights)
            require(
                not reached > best + slack,
                f"{what}: log L = {best:.12g} at {learned!r}, but {reached:.12g} with {moved}.",
            )


@law("the estimate maximises", "maximise or from_mean, a Newton that stops early, a wrong log_partition")
def estimate_maximises(dist: object, rng: np.random.Generator) -> None:
    """No free parameter can be moved in either direction to raise the likelihood."""
    learnable(dist)
    x, weights = owned_rows(dist, rng)
    check_maximum(learn(dist, x, weights), x, weights, rng, "weighted rows")


@law("the gradient vanishes at the estimate", "a Newton or fixed-point iteration that stops early")
def gradient_vanishes(dist: Any, rng: np.random.Generator) -> None:
    """|θ ∂log L/∂θ| is below 1e-10 per row wherever the maximum is interior and smooth."""
    learnable(dist)
    if not dist.specs():
        raise DoesNotApply("its blocks are held to this law one by one")
    x, rest = owned_rows(dist, rng, 400)
    learned = learn(dist, x, rest)
    tried = 0
    for name in learned.free:
        domain = learned.specs()[name].domain
        if domain.core or domain.integer:
            continue
        scale = np.asarray(smooth_scale(learned, name))
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            continue

        def slope(fraction: float, name: str = name, scale: Array = scale) -> float:
            terms = []
            for j, c in enumerate(FIRST, 1):
                h = j * fraction * scale
                ends = [replace(learned, **{name: np.asarray(getattr(learned, name)) + s * h}) for s in (1, -1)]
                terms.append(c * (objective(ends[0], x, rest) - objective(ends[1], x, rest)))
            return sum(terms) / fraction / rest.size

        coarse, fine = slope(STEP), slope(STEP / 2)
        if not np.isfinite([coarse, fine]).all() or abs(coarse - fine) > 1e-9:
            continue  # a kink or an edge: not smooth here, and the perturbations above judge it
        tried += 1
        floor = 1e-12 * abs(objective(learned, x, rest)) / rest.size / STEP
        require(abs(coarse) <= 1e-10 + floor, f"{name}·∂log L/∂{name} = {coarse:.3g} per row at {learned!r}.")
    if not tried:
        raise DoesNotApply("its maximum is not smooth in any single number")


@law("fixed parameters stay, tied ones are shared", "maximise that ignores self.fixed or self.tied")
def fixed_stay_and_tied_share(dist: Any, rng: np.random.Generator) -> None:
    """Fixing a parameter leaves it bit by bit and the others at their maximum; tied ones are one number."""
    learnable(dist)
    if not dist.specs():
        raise DoesNotApply("its blocks are held to this law one by one")
    lone = dist.unstacked[0]
    x = rows_of(lone, rng)
    rest = np.ones(len(x))
    freed = objective(learn(lone, x), x, rest)
    for name in lone.free:
        held = lone.fix(name)
        learned = learn(held, x)
        require(np.array_equal(getattr(learned, name), getattr(lone, name)), f"the fixed {name} was changed.")
        require(learned.fixed == held.fixed, f"the estimate forgot that {name} is fixed.")
        require(objective(learned, x, rest) <= freed + 1e-9 * abs(freed), f"fixing {name} raised the likelihood.")
        if learned.free:
            check_maximum(learned, x, rest, rng, f"{name} fixed")
    weights = rng.uniform(0.2, 2.0, (len(x), 2)) ** 4  # so uneven that the components differ
    for name in lone.free:
        try:
            stack = lone.tie(name).stack(2)
            learned = learn(stack, x, weights)  # one M-step where the statistics are exact
        except UnsupportedError:
            continue
        value = np.asarray(getattr(learned, name))
        require(np.array_equal(value[0], value[1]), f"the tied {name} differs between the components: {value!r}.")
        cells, untied = stack.n_parameters, lone.stack(2).n_parameters
        require(cells < untied or untied < 2 * lone.n_parameters, f"tying {name} leaves {cells} free parameters.")
        check_maximum(learned, x, weights, rng, f"{name} tied")


@law("statistics carry the likelihood", "likelihood_cells, log_base that gather does not sum")
def statistics_carry_the_likelihood(dist: Any, rng: np.random.Generator) -> None:
    """log_likelihood of the statistics is Σ w log_prob of the rows."""
    x = rows_of(dist, rng)
    weights = rng.uniform(0.0, 2.0, (len(x),) if dist.lone else (len(x), dist.n_components))
    scores = np.asarray(dist.log_prob(x))
    carried = dist.log_likelihood(dist.suffstats(x, weights))
    size = (weights * np.abs(scores)).sum(axis=0) + 1.0
    close(carried, (weights * scores).sum(axis=0), 1e-11, "log_likelihood(statistics) against Σ w log_prob", size)
    if dist.exact:
        learnable(dist)
        other = dist.estimate(dist.suffstats(x))
        scores = np.asarray(other.log_prob(x))
        carried = other.log_likelihood(dist.suffstats(x, weights))
        with np.errstate(all="ignore"):
            size = (weights * np.abs(scores)).sum(axis=0) + 1.0
            close(carried, (weights * scores).sum(axis=0), 1e-11, "the same at the estimate", size)


@law("the loop never falls", "an M-step that lowers its objective")
def loop_never_falls(dist: Any, rng: np.random.Generator) -> None:
    """Where fitting takes several passes, the likelihood never falls from one to the next."""
    learnable(dist)
    if dist.exact:
        raise DoesNotApply("one pass is enough")
    x, weights = owned_rows(dist, rng)
    model = dist.for_data(dist.read(x))
    path = run_em(model.start(x, weights, rng), TrainingData.read(model, x, weights), max_iter=1000)
    history = path.trace.log_likelihood
    falls = np.append(np.diff(history), 0.0)
    require(
        (falls >= -1e-10 * np.abs(history).max()).all(), f"log L falls by {-falls.min():.3g} in pass {falls.argmin()}."
    )
    require(path.converged, f"it does not converge: {path.reason}.")


@law("a step never lowers the objective", "an M-step that lowers its objective when it begins far away")
def step_never_lowers(dist: object, rng: np.random.Generator) -> None:
    """From any typical value, statistics → estimate gives a value at least as likely."""
    learnable(dist)
    x, rest = owned_rows(dist, rng)
    for _ in range(5):
        start = fresh(dist, rng)
        before = objective(start, x, rest)
        after = objective(start.estimate(start.suffstats(x, rest)), x, rest)
        require(
            after >= before - 1e-10 * abs(before), f"log L falls from {before:.12g} to {after:.12g} from {start!r}."
        )


# ---- shifts and scales ---------------------------------------------------------------------------------------------
def moved(dist: Any, factor: float, shift: float) -> Any:
    """The distribution of factor · x + shift, where its parameters can say so."""
    changes = {}
    for name, value in dist.params.items():
        unit = dist.specs()[name].unit
        power = SCALE.get(name) if unit is None else unit
        if name == "mu":
            changes[name] = np.asarray(value) + np.log(factor)
        elif power is not None:
            changes[name] = np.asarray(value) * factor**power + (shift if name in LOCATION else 0.0)
    return replace(dist, **changes)


def moves(dist: Any, x: Any, factor: float, shift: float) -> bool:
    """Whether scaling and shifting stay within the family, judged by the densities."""
    if dist.discrete or not dist.specs() or x.dtype.kind != "f":
        return False
    width = dist.read(x[:1]).size
    if np.allclose(dist.log_prob(x + 2 * np.pi), dist.log_prob(x)):  # angles: a shift comes back to where it was
        return False
    try:
        other = moved(dist, factor, shift)
        scores = np.asarray(other.log_prob(x * factor + shift)) + width * np.log(factor)
    except ParameterError:
        return False
    return bool(np.allclose(scores, dist.log_prob(x), rtol=1e-9, atol=1e-9))


@law("affine equivariance", "an estimate with a floor or a start in absolute units")
def affine_equivariance(dist: Any, rng: np.random.Generator) -> None:
    """The estimate moves and scales with the rows: a·x + b in location-scale families, a·x in scale families."""
    learnable(dist)
    x, weights = owned_rows(dist, rng)
    shift = 3.0 if moves(dist, x, 1.0, 3.0) and np.isinf(dist.support.low) else 0.0
    if not shift and not moves(dist, x, 7.0, 0.0):
        raise DoesNotApply("its densities do not move or scale with the data")
    learned = learn(dist, x, weights)
    for factor in (1e-3, 1.0, 7.0, 1e4) if moves(dist, x, 7.0, 0.0) else (1.0,):
        data = x * factor + shift * factor
        begin = moved(dist, factor, shift * factor)
        same_value(
            learn(begin, data, weights), moved(learned, factor, shift * factor), data, 1e-7, f"{factor:g}·x + {shift:g}"
        )


@law("far from the origin nothing changes", "raw second moments, tolerances in absolute units")
def far_from_the_origin(dist: Any, rng: np.random.Generator) -> None:
    """Adding 1e8 changes no spread and no divergence by more than 1e-6, in one piece, in chunks and weighted."""
    learnable(dist)
    x, weights = owned_rows(dist, rng, 200)
    if not (np.isinf(dist.support.low) and moves(dist, x, 1.0, 3.0)):
        raise DoesNotApply("it is not a location family")
    x = np.round(x * 2.0**20) / 2.0**20  # so that x + 1e8 is exact
    far = moved(dist, 1.0, 1e8)
    near, away = learn(dist, x, weights), learn(far, x + 1e8, weights)
    answers = {"one array": away}
    if dist.exact:
        chunks = zip(np.array_split(x + 1e8, 7), np.array_split(weights, 7), strict=True)
        parts = [far.suffstats(part, share) for part, share in chunks]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        answers["seven chunks"] = far.estimate(total)
    for path, answer in answers.items():
        spread = np.asarray(near.std)
        close(answer.std, spread, 1e-6, f"{path}: std", scale=spread)
        for name in set(near.params) & {"std", "scale"}:
            value = np.asarray(getattr(near, name))
            close(getattr(answer, name), value, 1e-6, f"{path}: {name}", scale=value)
        for name in set(near.params) & set(LOCATION):
            expected = np.asarray(getattr(near, name)) + 1e8
            wide = np.broadcast_to(spread, expected.shape)
            close(getattr(answer, name), expected, 1e-6, f"{path}: {name}", scale=wide)
    here, there = dist.unstacked[0], far.unstacked[0]
    apart = np.asarray(moved(here, 1.0, 0.5).kl(here)), np.asarray(here.kl(moved(here, 1.0, 0.5)))
    found = np.asarray(moved(there, 1.0, 0.5).kl(there)), np.asarray(there.kl(moved(there, 1.0, 0.5)))
    for left, right in zip(found, apart, strict=True):
        close(left, right, 1e-6, "kl", scale=right)
