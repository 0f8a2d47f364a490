"""Pictures: likelihoods, beliefs, mixtures, their columns and rows, how they are learned, evidence, comparisons.

Needs the extra ``plot``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.canvas import BLUE, GREY, RED, MissingExtraError, axes, dress
from suffice.combinators.variational_posterior import VariationalPosterior
from suffice.core.errors import ParameterError, UnsupportedError
from suffice.core.parameters import Array
from suffice.plot_columns import fitted, profile
from suffice.plot_comparison import comparison
from suffice.plot_consistency import consistency
from suffice.plot_em_steps import em_steps
from suffice.plot_evidence import evidence
from suffice.plot_learning import members, selection, trace, traces
from suffice.plot_likelihood import bound, likelihood, surface
from suffice.plot_mixture import mixture
from suffice.plot_pairs import pairs
from suffice.plot_regions import regions

__all__ = [
    "MissingExtraError",
    "bound",
    "comparison",
    "consistency",
    "em_steps",
    "evidence",
    "fitted",
    "likelihood",
    "mixture",
    "pairs",
    "posterior",
    "profile",
    "regions",
    "selection",
    "surface",
    "trace",
    "traces",
]

POINTS = 241


def posterior(post: Any, name: str | None = None, *, prior: Any = None, level: float = 0.95, ax: Any = None) -> Any:
    """Draw the belief before (grey) and after the data (blue), its mean and the central credible interval.

    ``name`` chooses one of several parameters, whose belief is then drawn by itself, without the prior. ``prior``
    draws another one than the posterior remembers. Of a mixture it draws the expected weight of each member with its
    credible interval, or what ``name`` chooses of the members. Returns the Matplotlib axes.

    Examples
    --------
    >>> post = sf.posterior(sf.Bernoulli(), [1, 0, 1, 1], prior=sf.Beta(2, 2))
    >>> ax = sf.plot.posterior(post)  # doctest: +SKIP
    """
    if isinstance(post, VariationalPosterior):
        return members(post, name, level, ax)
    if not hasattr(post, "likelihood"):
        msg = (
            f"plot.posterior draws what sf.posterior(distribution, data, prior=…) gives; got {type(post).__name__}. "
            "For a likelihood use plot.likelihood(distribution, data)."
        )
        raise ParameterError(msg)
    single = not isinstance(post.mean, dict)
    if np.ndim(post.mean) and single:
        msg = "one picture shows the belief about one number; take the columns one by one."
        raise UnsupportedError(msg)
    names = [post.likelihood.belief_about or post.likelihood.free[0]] if single else list(post.mean)
    if len(post.likelihood.free) == 1:
        names = list(post.likelihood.free)
    chosen = name or names[0]
    if chosen not in names:
        msg = f"this belief speaks of {', '.join(names)}; got {chosen!r}."
        raise ParameterError(msg)
    ax = axes(ax)
    low, high = post.interval(level) if single else post.interval(level)[chosen]
    far = post.interval(0.999) if single else post.interval(0.999)[chosen]
    domain = post.likelihood.specs()[chosen].domain
    before = prior if prior is not None else getattr(post, "prior", None)
    x = _range(domain, far)
    y = _density(post, chosen, x, single=single)
    if single and before is not None:
        ax.plot(x, _prior_density(post, before, x), color=GREY, lw=1.5, label="prior")
    ax.plot(x, y, color=BLUE, lw=2, label="posterior")
    inside = (x >= low) & (x <= high)
    ax.fill_between(x[inside], y[inside], color=BLUE, alpha=0.18, lw=0, label=f"{level:.0%}: {low:.4g} … {high:.4g}")
    mean = float(post.mean if single else post.mean[chosen])
    ax.axvline(mean, color=RED, lw=1.2, ls="--", label=f"mean {mean:.4g}")
    ax.set(xlabel=chosen, ylabel="density")
    ax.set_ylim(0, 1.06 * float(np.max(y[np.isfinite(y)])))
    ax.set_xlim(round(x[0], 8), round(x[-1], 8))
    ax.set_title(f"{post.likelihood.name}: belief about {chosen}", fontsize=10, loc="left")
    ax.legend(frameon=False, fontsize=9)
    dress(ax)
    return ax


def _range(domain: Any, far: tuple[float, float]) -> Array:
    """Where to draw: the whole of a bounded domain, else the bulk with room on both sides."""
    span = far[1] - far[0]
    if np.isfinite(domain.high - domain.low) and span > 0.25 * (domain.high - domain.low):
        left, right = domain.low, domain.high
    else:
        left, right = max(far[0] - 0.35 * span, domain.low), min(far[1] + 0.35 * span, domain.high)
    inset = 1e-9 * (right - left)
    return np.linspace(left + inset, right - inset, 4 * POINTS)


def _prior_density(post: Any, prior: Any, x: Array) -> Array:
    with np.errstate(all="ignore"):
        if prior is getattr(post, "prior", None) and hasattr(post, "prior_density"):
            return np.asarray(post.prior_density(x))
        if callable(prior):
            return np.broadcast_to(np.asarray(prior(x), dtype=float), x.shape)
        return np.asarray(np.exp(getattr(prior, "belief", prior).log_prob(x)))


def _density(post: Any, name: str, x: Array, *, single: bool) -> Array:
    """The density of one parameter; of several, each by itself from draws that a kernel smooths."""
    with np.errstate(all="ignore"):
        if single:
            return np.asarray(np.exp(post.log_prob(x)))
    if hasattr(post, "marginal_density"):
        return np.asarray(post.marginal_density(name, x))
    from scipy.stats import gaussian_kde

    return np.asarray(gaussian_kde(np.ravel(post.sample(20_000, 0)[name]))(x))


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
