"""A law that nothing can break proves nothing: families with one mistake each, and the law that finds it."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import suffice as sf
from suffice import testing
from suffice.core.exponential_family import ExponentialFamily
from suffice.core.parameters import NONNEGATIVE, POSITIVE, parameter
from suffice.statistics.sums import Sums
from suffice.testing import LawBroken


@dataclass(frozen=True, eq=False, repr=False)
class Waiting(ExponentialFamily):
    """A right Exponential, for its heirs to break."""

    rate: float = parameter(POSITIVE, default=1.0, typical=(0.2, 5.0))

    support = NONNEGATIVE
    conjugates = (sf.Gamma,)
    belief_about = "rate"

    def statistic(self, x):
        return x

    def natural(self):
        return -np.asarray(self.rate)

    def log_partition(self):
        return -np.log(self.rate)

    def mean_statistic(self):
        return 1 / np.asarray(self.rate)

    def from_mean(self, mean):
        return replace(self, rate=1 / mean)

    def draw(self, n, rng):
        return rng.exponential(1 / np.asarray(self.rate), (n, *self.batch))

    def cumulative(self, x):
        return -np.expm1(-self.rate * np.asarray(x))

    def inverse(self, q):
        return -np.log1p(-np.asarray(q)) / self.rate

    def entropy_cell(self):
        return 1 - np.log(self.rate)

    @property
    def mean(self):
        return 1 / self.rate

    @property
    def var(self):
        return 1 / self.rate**2

    def update(self, stats, prior):
        return sf.Gamma(prior.shape + stats.weight, prior.rate + stats.total)

    def predict_with(self, belief):
        return sf.Lomax(belief.shape, belief.rate)


class Biased(Waiting):
    def from_mean(self, mean):
        return replace(self, rate=0.999 / mean)


class Unnormalised(Waiting):
    def log_partition(self):
        return -np.log(self.rate) - 0.01


class Skewed(Waiting):
    def draw(self, n, rng):
        return rng.exponential(1.2 / np.asarray(self.rate), (n, *self.batch))


class Unseeded(Waiting):
    def draw(self, n, rng):
        del rng
        return super().draw(n, np.random.default_rng())


class Forgetful(Waiting):
    """Its statistics leave the weights out."""

    def gather(self, x, w):
        found = super().gather(x, replace(w, values=None))
        return Sums(found.weight, found.base, found.total)


class CountsNaN(Waiting):
    """A missing cell counts as 0."""

    def gather(self, x, w):
        return super().gather(np.nan_to_num(x), w)


class Steep(Waiting):
    def cumulative(self, x):
        return -np.expm1(-1.01 * self.rate * np.asarray(x))


class Rounded(Waiting):
    def inverse(self, q):
        return np.round(super().inverse(q), 2)


class Surprised(Waiting):
    def entropy_cell(self):
        return 1.01 - np.log(self.rate)


class Overdispersed(Waiting):
    @property
    def var(self):
        return 1.5 / self.rate**2


class WrongMean(Waiting):
    def mean_statistic(self):
        return 1.1 / np.asarray(self.rate)


class Eager(Waiting):
    """Counts every row twice when it learns from a prior."""

    def update(self, stats, prior):
        return sf.Gamma(prior.shape + 2 * stats.weight, prior.rate + stats.total)


class Overconfident(Waiting):
    def predict_with(self, belief):
        return sf.Lomax(belief.shape + 1, belief.rate)


class Restless(Waiting):
    def fix(self, *names):
        del names
        return self


class Floored(Waiting):
    """An estimate with a floor in absolute units."""

    def from_mean(self, mean):
        return replace(self, rate=np.minimum(1 / mean, 2.0))


class Positional(Waiting):
    """Looks at the first row."""

    def gather(self, x, w):
        found = super().gather(x, w)
        return replace(found, total=found.total + (x[:1].sum() if len(x) else 0.0))


class Careless(Waiting):
    """Scores components with the first component's rate."""

    def log_density(self, x):
        return np.repeat(super().log_density(x)[:, :1], self.n_components, axis=1)


@dataclass(eq=False, repr=False)
class Tally:
    """Statistics that anyone can write to."""

    weight: np.ndarray
    base: np.ndarray
    total: np.ndarray
    exact: bool = field(default=True)

    mean = Sums.mean

    def __add__(self, other):
        return Tally(self.weight + other.weight, self.base + other.base, self.total + other.total)

    def __mul__(self, factor):
        return Tally(self.weight * factor, self.base * factor, self.total * factor)

    def __sub__(self, other):
        return Tally(self.weight - other.weight, self.base - other.base, self.total - other.total)


class Mutable(Waiting):
    def gather(self, x, w):
        found = super().gather(x, w)
        return Tally(found.weight, found.base, found.total)


class Fading(Waiting):
    def __getstate__(self):
        return super().__getstate__() | {"rate": np.round(self.rate, 1) + 0.1}


BROKEN = [
    (Biased, "the estimate maximises"),
    (Biased, "the gradient vanishes at the estimate"),
    (Biased, "fixed parameters stay, tied ones are shared"),
    (Unnormalised, "the density integrates to 1"),
    (Unnormalised, "cdf is the integral of the density"),
    (Skewed, "samples follow the distribution"),
    (Unseeded, "same seed, same rows"),
    (Forgetful, "integer weight = repetition, weight 0 = absent"),
    (Forgetful, "statistics carry the likelihood"),
    (CountsNaN, "missing = absent"),
    (Steep, "cdf is the integral of the density"),
    (Rounded, "quantile inverts cdf"),
    (Surprised, "entropy = −E log p"),
    (Overdispersed, "mean and var are moments"),
    (WrongMean, "∂A/∂η = E u and ∂²A/∂η² = Cov u"),
    (WrongMean, "kl ≥ 0, and 0 only to itself"),
    (Eager, "Bayes' rule"),
    (Eager, "MAP is the mode"),
    (Overconfident, "predictive = ratio of evidences"),
    (Restless, "fixed parameters stay, tied ones are shared"),
    (Floored, "affine equivariance"),
    (Positional, "any split merges to the whole"),
    (Positional, "the order of the rows does not matter"),
    (Careless, "k together = k alone"),
    (Mutable, "values are immutable"),
    (Fading, "a value survives copying and pickling"),
]


def test_the_right_family_keeps_every_law():
    report = testing.check_distribution(Waiting(2.0))
    assert "closed" in report.not_applicable["JSON round-trips bitwise"]  # files hold suffice's own families
    assert len(report.passed) >= len(testing.laws()) - 3, report


@pytest.mark.parametrize(("kind", "name"), BROKEN, ids=lambda one: getattr(one, "__name__", str(one).replace(" ", "_")))
def test_the_law_finds_the_mistake(kind, name):
    entry = next(entry for entry in testing.laws() if entry.name == name)
    with pytest.raises(LawBroken) as broken:
        entry.function(kind(3.0), np.random.default_rng(0))
    message = str(broken.value)
    assert message.startswith(name)
    assert kind.__name__ in message
    assert "Suspects: " in message


def test_check_distribution_stops_at_the_first_broken_law():
    with pytest.raises(LawBroken, match="the estimate maximises"):
        testing.check_distribution(Biased(3.0))
