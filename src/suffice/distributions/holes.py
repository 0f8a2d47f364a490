"""Rows of which some cells are missing, where columns vary together: what the seen cells tell of the others.

Rows are grouped by which cells they have. Given those, x_o, the others are Normal about μ_m + B(x_o − μ_o) with the
covariance C, and both depend on the group alone: what an E-step expects of a group follows from the scatter of its seen
cells. One Cholesky factor of Σ with the seen columns first holds B, C and the density of what was seen. Groups with
equally many seen cells are computed together, as stacks (groups, members, …).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from suffice import kernels
from suffice.core.latent import Expectation, share_out
from suffice.core.moments import Moments, Scatter
from suffice.core.parameters import Array
from suffice.core.statistics import share
from suffice.core.weights import Weights
from suffice.distributions.covariance import inverse_of_lower
from suffice.distributions.normal import HALF_LOG_TAU

TOGETHER = 1 << 18  # numbers of a stack of matrices: 2 MB
MANY = 64  # rows of a pattern that are worth a call of their own


# ---- groups ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Group:
    """Patterns of holes with equally many seen cells: the columns (g, d) of each, the seen ones first, and its rows."""

    columns: Array
    size: int  # seen columns
    rows: tuple[slice, ...]  # of each pattern, among the rows in order

    @property
    def whole(self) -> slice:
        """The rows of all patterns, which stand one after the other."""
        return slice(self.rows[0].start, self.rows[-1].stop)

    @property
    def which(self) -> Array:
        """The pattern of each row."""
        return np.repeat(np.arange(len(self.rows)), [rows.stop - rows.start for rows in self.rows])

    def cells(self, x: Array) -> Array:
        """The seen cells of all rows in order, (n, o)."""
        return np.take_along_axis(x[self.whole], self.columns[self.which, : self.size], axis=1)


@dataclass(frozen=True)
class Patterns:
    """Rows by which cells they have: ``order`` (n,) brings those that have the same together."""

    order: Array
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, x: Array) -> Patterns:
        """The patterns of rows (n, d)."""
        seen = ~np.isnan(x)
        packed = np.packbits(seen, axis=1)
        order = np.lexsort((*packed.T, seen.sum(axis=1)))  # equally many cells stand together
        changed = (packed[order[1:]] != packed[order[:-1]]).any(axis=1)
        cuts = np.concatenate([[0], np.flatnonzero(changed) + 1, [len(x)]]) if len(x) else np.zeros(1, int)
        kinds = seen[order[cuts[:-1]]]
        sizes = kinds.sum(axis=1)
        columns = np.argsort(~kinds, axis=1, kind="stable")
        groups = []
        for size in np.unique(sizes).tolist():
            which = np.flatnonzero(sizes == size)
            rows = tuple(slice(int(cuts[i]), int(cuts[i + 1])) for i in which)
            groups.append(Group(columns[which], size, rows))
        return cls(order, tuple(groups))

    def stacks(self, numbers: int) -> Iterator[Group]:
        """The groups, in parts of which each has no more matrices of ``numbers`` entries than fit together."""
        most = max(TOGETHER // numbers, 1)
        for group in self.groups:
            for begin in range(0, len(group.rows), most):
                part = slice(begin, begin + most)
                yield replace(group, columns=group.columns[part], rows=group.rows[part])


@dataclass(frozen=True)
class Told:
    """What the seen cells of a group tell, of each pattern and member; one member where all share a covariance."""

    mean: Array  # (g, k, d), seen columns first
    whiten: Array  # (g, k, o, o), of the seen cells
    log_det: Array  # (g, k)
    slope: Array  # B, (g, k, m, o)
    rest: Array  # C, (g, k, m, m)
    entropy: Array  # (g, k), of the cells that were not seen


def told(mean: Array, cov: Array, group: Group) -> Told:
    """What the seen cells tell under means (k, d) and covariances (k, d, d), or (1, d, d) where members share one.

    C comes from a factor, not as a difference, and so is never less than nothing.
    """
    o, columns = group.size, group.columns
    spread = np.sqrt(np.einsum("kii->ki", cov))
    units = cov / (spread[:, :, None] * spread[:, None, :])
    lower = np.linalg.cholesky(units[:, columns[:, :, None], columns[:, None, :]].swapaxes(0, 1))
    unit = spread[:, columns].swapaxes(0, 1)  # (g, k, d)
    g, k, d = unit.shape
    inverse = inverse_of_lower(lower[..., :o, :o].reshape(g * k, o, o)).reshape(g, k, o, o)
    whiten = inverse / unit[..., None, :o]
    slope = (unit[..., o:, None] * lower[..., o:, :o]) @ whiten
    root = unit[..., o:, None] * lower[..., o:, o:]
    logs = np.log(unit) + np.log(np.einsum("gkii->gki", lower))
    entropy = (d - o) * (HALF_LOG_TAU + 0.5) + logs[..., o:].sum(axis=-1)
    rest = root @ root.swapaxes(-1, -2)
    return Told(mean[:, columns].swapaxes(0, 1), whiten, -logs[..., :o].sum(axis=-1), slope, rest, entropy)


# ---- scores ----------------------------------------------------------------------------------------------------------
def score(out: Array, x: Array, mean: Array, cov: Array) -> Array:
    """Mend the scores (n, k) of rows with missing or infinite cells: by the cells that were seen."""
    rows = np.flatnonzero(~np.isfinite(out).all(axis=1))
    if not rows.size:
        return out
    part = x[rows]
    holes = np.isnan(part).any(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        out[rows[holes]] = scores(part[holes], mean, cov)
    out[rows[np.isinf(part).any(axis=1)]] = -np.inf
    return out


def scores(x: Array, mean: Array, cov: Array) -> Array:
    """Log density (n, k) of the cells that rows have; 0 for a row that has none."""
    patterns = Patterns.of(x)
    x, out = x[patterns.order], np.empty((len(x), len(mean)))
    for group in patterns.stacks(mean.size * x.shape[1]):
        _score_group(x, group, told(mean, cov, group), out[group.whole])
    back = np.empty_like(out)
    back[patterns.order] = out
    return back


def _score_group(x: Array, group: Group, known: Told, out: Array) -> None:
    """Write the scores of a group's rows into ``out``, which has room for them alone."""
    k, o, begin = known.mean.shape[1], group.size, group.whole.start
    if not o:
        out[:] = 0.0
    elif len(out) < MANY * len(group.rows):
        _score_few(group.cells(x), group.which, known, out)
    else:
        for index, rows in enumerate(group.rows):
            whiten = np.broadcast_to(known.whiten[index], (k, o, o))
            log_det = np.broadcast_to(known.log_det[index], k)
            cells = np.ascontiguousarray(x[rows, group.columns[index, :o]])
            here = slice(rows.start - begin, rows.stop - begin)
            out[here] = kernels.gaussian_log_prob(cells, known.mean[index, :, :o], whiten, log_det)


def _score_few(cells: Array, which: Array, known: Told, out: Array) -> None:
    """The same where patterns have few rows each: all of them at once, each row with the factor of its pattern."""
    o = cells.shape[1]
    step = max(TOGETHER // (o * o), 1)
    for begin in range(0, len(cells), step):
        part = slice(begin, begin + step)
        mine = which[part]
        for member in range(out.shape[1]):
            own = min(member, known.whiten.shape[1] - 1)
            away = cells[part] - known.mean[mine, member, :o]
            z = (known.whiten[mine, own] @ away[:, :, None])[:, :, 0]
            out[part, member] = known.log_det[mine, own] - HALF_LOG_TAU * o - 0.5 * np.einsum("nd,nd->n", z, z)


# ---- expectations ----------------------------------------------------------------------------------------------------
class Expected:
    """What is expected of rows with holes: sums over patterns, about the mean of each member."""

    def __init__(self, mean: Array) -> None:
        """Begin with nothing."""
        self.mean = mean
        self.scatter: Array | float = 0.0
        self.weights: list[Array] = []  # (g, k)
        self.aways: list[Array] = []  # (g, k, d)
        self.entropy, self.seen = np.zeros(len(mean)), np.zeros((*mean.shape, mean.shape[1]))

    def add(self, group: Group, known: Told, cells: Array, w: Weights, *, pooled: bool) -> None:
        """Add the rows of patterns, of which the seen cells (n, o) and the weights are given."""
        o = group.size
        weight, centre, shift, inner = _scatters(cells, group.which, len(group.rows), w)
        inner = inner.sum(axis=1, keepdims=True) if pooled else inner  # (g, k or 1, o, o)
        about = np.where(weight[..., None] > 0, (centre - known.mean[..., :o]) + shift, 0.0)
        away = np.concatenate([about, (known.slope @ about[..., None])[..., 0]], axis=-1)
        across = known.slope @ inner
        own = weight.sum(axis=1, keepdims=True) if inner.shape[1] < weight.shape[1] else weight
        outer = across @ known.slope.swapaxes(-1, -2) + own[..., None, None] * known.rest
        across = np.broadcast_to(across, (*outer.shape[:2], outer.shape[-1], o))
        inner = np.broadcast_to(inner, (*outer.shape[:2], o, o))
        whole = np.concatenate(
            [
                np.concatenate([inner, across.swapaxes(-1, -2)], axis=-1),
                np.concatenate([across, outer], axis=-1),
            ],
            axis=-2,
        )
        back = np.argsort(group.columns, axis=1)
        each = np.arange(len(back))
        turned = whole[each[:, None, None], :, back[:, :, None], back[:, None, :]].sum(axis=0)  # (d, d, k)
        self.scatter = self.scatter + np.moveaxis(turned, -1, 0)
        self.weights.append(weight)
        self.aways.append(np.take_along_axis(away, back[:, None, :], axis=-1))
        self.entropy = self.entropy + (weight * known.entropy).sum(axis=0)
        cells = (back < o).astype(float)  # (g, d)
        self.seen = self.seen + (weight.T[:, None, :] * cells.T) @ cells

    def scatters(self) -> Scatter:
        """The expected statistics of all rows."""
        weights, aways = np.concatenate(self.weights), np.concatenate(self.aways)
        weight = weights.sum(axis=0)
        shift = share(np.einsum("gk,gkd->kd", weights, aways), weight[:, None])
        away = np.moveaxis(aways - shift, 1, 0)  # (k, g, d)
        between = (weights.T[:, :, None] * away).swapaxes(1, 2) @ away
        scatter = np.asarray(self.scatter)
        between = between.sum(axis=0, keepdims=True) if len(scatter) < len(weight) else between
        centre = np.where(weight[:, None] > 0, self.mean, 0.0)
        return Scatter(weight, centre, shift, scatter + between, exact=False, entropy=self.entropy, seen=self.seen)


def _scatters(cells: Array, which: Array, g: int, w: Weights) -> list[Array]:
    """Weight (g, k), centre and shift (g, k, o), and scatter (g, k, o, o) of complete rows, by pattern and member."""
    k = w.members
    if w.codes is not None:
        codes = np.where(w.codes >= 0, which * k + w.codes, -1)
        found = kernels.scatter(cells, weights=w.values, codes=codes, members=g * k, work=w.work)
        return [one.reshape(g, k, *one.shape[1:]) for one in found]
    each = [
        kernels.scatter(cells, weights=w.of_member(j).values, codes=which, members=g, work=w.work) for j in range(k)
    ]
    return [np.stack(one, axis=1) for one in zip(*each, strict=True)]


def gather(x: Array, w: Weights, mean: Array, cov: Array, *, pooled: bool) -> Scatter:
    """The expected statistics of rows with holes that belong to members with these means and covariances.

    ``pooled`` keeps one scatter for all members together.
    """
    patterns = Patterns.of(x)
    x, w, found = x[patterns.order], chosen(w, patterns.order), Expected(mean)
    for group in patterns.stacks(mean.size * x.shape[1]):
        found.add(group, told(mean, cov, group), group.cells(x), w[group.whole], pooled=pooled)
    return found.scatters()


def gather_columns(x: Array, w: Weights, mean: Array, std: Array) -> Scatter:
    """The same where columns are independent: a missing cell has the distribution that the member gives to it."""
    return filled(Moments(*kernels.moments(x, **w.arguments)), w.member_totals(), mean, std)


def filled(seen: Moments, count: Array, mean: Array, std: Array) -> Scatter:
    """The statistics of ``count`` (k,) rows, of whose cells some were seen."""
    absent = np.maximum(count[:, None] - seen.weight, 0.0)
    guess = Moments(absent, np.asarray(mean), np.zeros_like(mean), absent * std**2)
    whole = replace(seen, family="") + guess
    squares = whole.scatter[:, :, None] * np.eye(whole.scatter.shape[1])
    entropy = (absent * (HALF_LOG_TAU + 0.5 + np.log(std))).sum(axis=1)
    cells = seen.weight[:, :, None] * np.eye(len(whole.scatter[0]))
    return Scatter(count, whole.centre, whole.shift, squares, exact=False, diagonal=True, entropy=entropy, seen=cells)


def chosen(w: Weights, index: Array) -> Weights:
    """The weights of some rows, in this order."""
    values = None if w.values is None else w.values[index]
    return replace(w, length=len(index), values=values, codes=None if w.codes is None else w.codes[index])


def expect(
    x: Array, log_weights: Array, weights: Array | None, mean: Array, cov: Array, *, pooled: bool
) -> Expectation:
    """One E-step over rows with holes: scores, responsibilities and expected statistics from one factor of a group."""
    patterns = Patterns.of(x)
    order = patterns.order
    x = x[order]
    base = log_weights if log_weights.ndim == 1 else log_weights[order]
    held = np.ones(len(x)) if weights is None else weights[order]
    expected, count = Expected(mean), np.zeros(len(mean))
    likelihood = undecided = 0.0
    for group in patterns.stacks(mean.size * x.shape[1]):
        known, here = told(mean, cov, group), group.whole
        out = np.empty((len(x[here]), len(mean)))
        _score_group(x, group, known, out)
        total, parts, entropy = share_out(out + (base if base.ndim == 1 else base[here]))
        parts *= held[here, None]
        with np.errstate(invalid="ignore"):
            likelihood += float(np.where(held[here] > 0, held[here] * total, 0.0).sum())
        undecided += float(held[here] @ entropy)
        count += parts.sum(axis=0)
        shares = Weights(len(parts), parts, members=len(mean))
        expected.add(group, known, group.cells(x), shares, pooled=pooled)
    return Expectation(likelihood, undecided, expected.scatters(), count)


def expected_rows(x: Array, shares: Array, mean: Array, cov: Array) -> Array:
    """Rows (n, d) with what is expected of their missing cells, by the ``shares`` (n, k) that members have in them."""
    patterns = Patterns.of(x)
    rows_in_order, held, out = x[patterns.order], shares[patterns.order], np.array(x, dtype=float)
    for group in patterns.stacks(mean.size * x.shape[1]):
        known, o = told(mean, cov, group), group.size
        for index, rows in enumerate(group.rows):
            columns = group.columns[index]
            seen, slopes = rows_in_order[rows, columns[:o]], known.slope[index]
            guess = held[rows] @ known.mean[index, :, o:]
            for member, own in enumerate(known.mean[index, :, :o]):
                guess += held[rows, member, None] * ((seen - own) @ slopes[min(member, len(slopes) - 1)].T)
            out[np.ix_(patterns.order[rows], columns[o:])] = guess
    return out
