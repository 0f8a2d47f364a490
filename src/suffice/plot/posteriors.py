"""Pictures of beliefs: the density of a parameter before and after the data, its mean and its credible interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.bayes.finite_posterior import FinitePosterior
from suffice.core.parameters import UNIT, Domain
from suffice.display.posterior_summary import believed
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.variational_posterior import VariationalPosterior
from suffice.plot.canvas import BLUE, GREY, RED, axes, colour, dress, plain, title
from suffice.plot.learning import component_intervals
from suffice.types import Array, Prior

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 964
MOST = 10  # entries of a vector that one picture can hold
HEADROOM = 1.15  # above the curve


def posterior(
    post: Any,
    name: str | None = None,
    *,
    prior: Prior = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Any:
    """Draw the belief before (grey) and after the data (blue), its mean and the central credible interval.

    Of a vector, such as the probabilities of a Categorical, each entry has a curve, and its prior is dotted. Of a
    mixture the expected weight of each component is drawn with its credible interval, or what ``name`` chooses of the
    components; of finitely many candidates, their probabilities. An improper prior is drawn without a scale.

    Parameters
    ----------
    post : posterior
        What :func:`suffice.posterior` gives.
    name : str, optional
        One of several parameters, whose belief is then drawn by itself; the first one by default.
    prior : optional
        A distribution or a function to draw instead of the prior that the posterior remembers.
    level : float
        Probability of the credible interval.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> post = sf.posterior(sf.Bernoulli(), [1, 0, 1, 1], prior=sf.Beta(2, 2))
    >>> ax = sf.plot.posterior(post)  # doctest: +SKIP
    """
    if isinstance(post, VariationalPosterior):
        return component_intervals(post, name, level, ax)
    if not hasattr(post, "likelihood"):
        msg = (
            f"plot.posterior draws what sf.posterior(distribution, data, prior=…) gives; got {type(post).__name__}. "
            "For a likelihood use plot.likelihood(distribution, data)."
        )
        raise ParameterError(msg)
    if hasattr(post, "beliefs"):
        first = next(iter(post.beliefs))
        msg = f"one picture shows one column; draw them one by one, as plot.posterior(post[{first!r}])."
        raise UnsupportedError(msg)
    intervals = post.interval(level)
    several = isinstance(intervals, dict)
    names = list(intervals) if several else [_only_name(post)]
    chosen = name or names[0]
    if chosen not in names:
        msg = f"this belief speaks of {', '.join(names)}; got {chosen!r}."
        raise ParameterError(msg)
    ends = intervals[chosen] if several else intervals
    if isinstance(post, FinitePosterior):
        ax = _candidates(post, chosen, axes(ax))
    elif np.ndim(ends[0]) == 0:
        ax = _number(post, chosen, ends, prior, level, axes(ax))
    elif _is_column(post, chosen):
        ax = _vector(post, chosen, level, axes(ax))
    else:
        msg = "one picture shows the belief about one number; take the columns one by one."
        raise UnsupportedError(msg)
    dress(ax)
    return ax


def _only_name(post: Any) -> str:
    found: str = post.likelihood.free[0] if len(post.likelihood.free) == 1 else post.likelihood.belief_about
    return found or post.names[0]


def _is_column(post: Any, name: str) -> bool:
    """Whether a vector is one parameter, and not the same number of several columns."""
    spec = post.likelihood.specs().get("cov" if name == "std" else name)
    return spec is not None and bool(spec.domain.core) and not post.likelihood.batch


def _mean(post: Any, name: str) -> Any:
    mean = post.mean
    return mean.get(name) if isinstance(mean, dict) else mean


# ---- one number -----------------------------------------------------------------------------------------------------
def _number(post: Any, name: str, ends: tuple[float, float], prior: Any, level: float, ax: Axes) -> Any:
    single = not isinstance(post.mean, dict)
    low, high = ends
    x = _range(post.likelihood.specs()[name].domain, _far(post, name))
    with np.errstate(all="ignore"):
        y = np.asarray(np.exp(post.log_prob(x)) if single else post.marginal_density(name, x))
    top = HEADROOM * float(np.max(y[np.isfinite(y)]))
    before = prior if prior is not None else getattr(post, "prior", None)
    found = _prior_density(post, before, name, x, single=single)
    if found is not None and getattr(post, "improper", None) and before is post.prior:
        found = 0.5 * top * found / np.median(found)
        ax.plot(x, found, color=GREY, lw=1.5, ls=":", label="improper prior")
    elif found is not None:
        ax.plot(x, found, color=GREY, lw=1.5, label="prior")
    ax.plot(x, y, color=BLUE, lw=2, label="posterior")
    inside = (x >= low) & (x <= high)
    ax.fill_between(x[inside], y[inside], color=BLUE, alpha=0.18, lw=0)
    mean = float(_mean(post, name))
    text = f"{level:.0%}: {low:.3g} … {high:.3g}"
    if np.isfinite(mean):
        ax.axvline(mean, color=RED, lw=1.2, ls="--", label="mean")
        text = f"mean {mean:.3g}, {text}"
    ax.set(xlabel=plain(name), ylabel="density", ylim=(0, top))
    ax.set_xlim(round(x[0], 8), round(x[-1], 8))
    title(ax, f"{post.likelihood.name}: belief about {name}\n{text}")
    ax.legend(frameon=True, framealpha=0.7, edgecolor="none", fontsize=8, borderpad=0.2)
    return ax


def _far(post: Any, name: str) -> Any:
    far = post.interval(0.999)
    return far[name] if isinstance(far, dict) else far


def _range(domain: Domain, far: tuple[float, float]) -> Array:
    """Where to draw: the whole of a bounded domain, else the bulk with room on both sides."""
    span = far[1] - far[0]
    if np.isfinite(domain.high - domain.low) and span > 0.25 * (domain.high - domain.low):
        left, right = domain.low, domain.high
    else:
        left, right = max(far[0] - 0.35 * span, domain.low), min(far[1] + 0.35 * span, domain.high)
    inset = 1e-9 * (right - left)
    return np.linspace(left + inset, right - inset, POINTS)


def _prior_density(post: Any, prior: Any, name: str, x: Array, *, single: bool) -> Array | None:
    """The density of the prior of one parameter; None where there is none, or it has no density by itself."""
    if prior is None:
        return None
    belief = getattr(prior, "belief", prior)
    with np.errstate(all="ignore"):
        if not single:
            own = getattr(belief, "marginal_density", None)
            return None if own is None else np.asarray(own(name, x))
        if prior is getattr(post, "prior", None) and hasattr(post, "prior_density"):
            return np.asarray(post.prior_density(x))
        if callable(prior):
            return np.broadcast_to(np.asarray(prior(x), dtype=float), x.shape)
        return np.asarray(np.exp(belief.log_prob(x)))


# ---- a vector -------------------------------------------------------------------------------------------------------
def _vector(post: Any, name: str, level: float, ax: Any) -> Any:
    """A curve for each entry of a vector, its prior dotted."""
    lows, highs = (np.ravel(end) for end in _at_level(post, name, level))
    far_low, far_high = (np.ravel(end) for end in _far(post, name))
    means = _mean(post, name)
    middle = 0.5 * (lows + highs) if means is None else np.ravel(means)
    shown = np.sort(np.argsort(-middle, kind="stable")[:MOST]) if len(lows) > MOST else np.arange(len(lows))
    domain = post.likelihood.specs()["cov" if name == "std" else name].domain
    if domain.core == 1 and domain.rule is not None:
        domain = UNIT
    x = _range(domain, (float(far_low[shown].min()), float(far_high[shown].max())))
    labels = _entries(post, name, len(lows))
    y = np.reshape(post.marginal_density(name, x[:, None]), (len(x), -1))
    prior = getattr(getattr(post, "prior", None), "marginal_density", None)
    with np.errstate(all="ignore"):
        before = None if prior is None else np.reshape(prior(name, x[:, None]), (len(x), -1))
    for i, j in enumerate(shown):
        text = f"{labels[j]}: {middle[j]:.3g} ({lows[j]:.3g} … {highs[j]:.3g})"
        ax.plot(x, y[:, j], color=colour(i), lw=2, label=text)
        inside = (x >= lows[j]) & (x <= highs[j])
        ax.fill_between(x[inside], y[inside, j], color=colour(i), alpha=0.13, lw=0)
        if before is not None:
            ax.plot(x, before[:, j], color=colour(i), lw=1.1, ls=":")
    kept = y[:, shown]
    ax.set(xlabel=plain(name), ylabel="density", ylim=(0, HEADROOM * float(np.max(kept[np.isfinite(kept)]))))
    ax.set_xlim(round(x[0], 8), round(x[-1], 8))
    left = len(lows) - len(shown)
    fewer = f"; {left} smaller ones left out" if left else ""
    title(ax, f"{post.likelihood.name}: belief about {name}, each by itself{fewer}")
    head = f"{'middle' if means is None else 'mean'} ({level:.0%} interval)" + ("; dotted: prior" if prior else "")
    below = {"loc": "upper left", "bbox_to_anchor": (0.0, 0.0), "alignment": "left"}  # 36 points below the axes
    ax.legend(title=head, frameon=False, fontsize=8, title_fontsize=8, borderaxespad=4.5, **below)
    return ax


def _at_level(post: Any, name: str, level: float) -> Any:
    found = post.interval(level)
    return found[name] if isinstance(found, dict) else found


def _entries(post: Any, name: str, count: int) -> list[str]:
    """What the entries of a vector are called."""
    known = [one.label for one in believed(post, post.column_names) if one.label.partition("[")[0] == name]
    return [plain(one) for one in known] if len(known) == count else [f"{name}[{j}]" for j in range(count)]


# ---- finitely many --------------------------------------------------------------------------------------------------
def _candidates(post: FinitePosterior, name: str, ax: Axes) -> Any:
    """The probability of each value of one parameter, before and after the data."""
    values = post.values(name)
    if values.ndim > 1:
        msg = f"{name} is a vector; ask .candidates and .weights, which say how probable each candidate is."
        raise UnsupportedError(msg)
    order = np.argsort(values, kind="stable")
    for weights, shade, width, label in (
        (post.prior_weights, GREY, 5.0, "prior"),
        (post.weights, BLUE, 2.5, "posterior"),
    ):
        ax.vlines(values[order], 0, weights[order], color=shade, lw=width, alpha=0.6, label=label)
        ax.plot(values[order], weights[order], "o", color=shade, ms=5, clip_on=False, zorder=4)
    mean = _mean(post, name)
    ax.axvline(mean, color=RED, lw=1.2, ls="--", label="mean")
    ax.set(xlabel=plain(name), ylabel="probability")
    ax.set_ylim(0, HEADROOM * float(max(post.weights.max(), post.prior_weights.max())))
    room = 0.06 * (float(np.ptp(values)) or 1.0)
    ax.set_xlim(values.min() - room, values.max() + room)
    title(ax, f"{post.likelihood.name}: belief about {name}\n{len(values)} candidates, mean {mean:.3g}")
    ax.legend(frameon=True, framealpha=0.7, edgecolor="none", fontsize=8)
    return ax
