"""Families against scipy.stats, tails included; mpmath at 30 digits judges where SciPy is the less exact."""

import mpmath
import numpy as np
import pytest
from scipy import stats as st

import suffice as sf

RELATIVE = 1e-10
LEVELS = np.array([1e-12, 1e-6, 0.01, 0.2, 0.5, 0.9, 0.999, 1 - 1e-9])

# Values at the ends and in the middle of the typical range, each with its twin in scipy.stats.
TWINS = {
    "Bernoulli": [(sf.Bernoulli(p), st.bernoulli(p)) for p in (0.1, 0.37, 0.9)],
    "Binomial": [(sf.Binomial(n, p), st.binom(n, p)) for n, p in ((1, 0.5), (12, 0.1), (40, 0.77))],
    "Geometric": [(sf.Geometric(p), st.geom(p)) for p in (0.05, 0.3, 0.95)],
    "NegativeBinomial": [
        (sf.NegativeBinomial(n, p), st.nbinom(n, p)) for n, p in ((0.6, 0.2), (5.5, 0.5), (30.0, 0.8))
    ],
    "Poisson": [(sf.Poisson(r), st.poisson(r)) for r in (0.3, 4.2, 60.0)],
    "Normal": [(sf.Normal(m, s), st.norm(m, s)) for m, s in ((-3.0, 0.3), (0.0, 1.0), (2.5, 3.0))],
    "LogNormal": [
        (sf.LogNormal(m, s), st.lognorm(s, scale=np.exp(m))) for m, s in ((-1.0, 0.3), (0.0, 1.0), (1.0, 1.2))
    ],
    "Exponential": [(sf.Exponential(r), st.expon(scale=1 / r)) for r in (0.2, 1.0, 5.0)],
    "Gamma": [(sf.Gamma(a, r), st.gamma(a, scale=1 / r)) for a, r in ((0.5, 2.0), (3.0, 0.4), (40.0, 5.0))],
    "Beta": [(sf.Beta(a, b), st.beta(a, b)) for a, b in ((0.6, 6.0), (2.0, 3.0), (6.0, 0.6))],
    "Uniform": [(sf.Uniform(a, b), st.uniform(a, b - a)) for a, b in ((-3.0, -1.0), (0.0, 1.0), (2.0, 9.0))],
    "Laplace": [(sf.Laplace(m, s), st.laplace(m, s)) for m, s in ((-3.0, 0.3), (0.0, 1.0), (2.5, 3.0))],
    "Logistic": [(sf.Logistic(m, s), st.logistic(m, s)) for m, s in ((-3.0, 0.3), (0.0, 1.0), (2.5, 3.0))],
    "InverseGaussian": [
        (sf.InverseGaussian(m, s), st.invgauss(m / s, scale=s)) for m, s in ((0.5, 8.0), (1.0, 1.0), (5.0, 0.5))
    ],
    "StudentT": [
        (sf.StudentT(v, m, s), st.t(v, m, s)) for v, m, s in ((2.5, -3.0, 0.3), (5.0, 0.0, 1.0), (30.0, 2.0, 3.0))
    ],
    "VonMises": [(sf.VonMises(m, k), st.vonmises(k, m)) for m, k in ((-2.0, 0.5), (0.0, 2.0), (1.5, 9.0))],
    "Weibull": [(sf.Weibull(a, s), st.weibull_min(a, scale=s)) for a, s in ((0.6, 0.5), (1.0, 1.0), (4.0, 3.0))],
    "BetaBinomial": [(sf.BetaBinomial(n, a, b), st.betabinom(n, a, b)) for n, a, b in ((5, 0.6, 2.0), (30, 3.0, 3.0))],
    "Lomax": [(sf.Lomax(a, s), st.lomax(a, scale=s)) for a, s in ((2.5, 0.5), (6.0, 3.0))],
}
CASES = [
    pytest.param(ours, theirs, id=repr(ours).replace(" ", "")) for pairs in TWINS.values() for ours, theirs in pairs
]
# Angles have another cdf in SciPy (accumulated over turns, and less exact); below mpmath judges it.
ON_A_LINE = [case for case in CASES if "VonMises" not in case.id]


def points(ours, theirs):
    """Points in the middle and far out on both sides."""
    if isinstance(ours, sf.VonMises):
        return np.linspace(-3.1, 3.1, 11)
    return np.unique(np.asarray(theirs.ppf(LEVELS), dtype=float))


@pytest.mark.parametrize(("ours", "theirs"), CASES)
def test_log_prob(ours, theirs):
    x = points(ours, theirs)
    log_prob = theirs.logpmf if ours.discrete else theirs.logpdf
    np.testing.assert_allclose(ours.log_prob(x), log_prob(x), rtol=RELATIVE, atol=RELATIVE)


@pytest.mark.parametrize(("ours", "theirs"), ON_A_LINE)
def test_cdf(ours, theirs):
    x = points(ours, theirs)
    np.testing.assert_allclose(ours.cdf(x), theirs.cdf(x), rtol=RELATIVE)


@pytest.mark.parametrize(("ours", "theirs"), ON_A_LINE)
def test_quantile(ours, theirs):
    levels = LEVELS[LEVELS != 0.5] if isinstance(ours, sf.Bernoulli) else LEVELS
    expected = np.asarray(theirs.ppf(levels), dtype=float)
    spread = 0.0 if ours.discrete else 1e-3 * float(theirs.std()) if np.isfinite(theirs.std()) else 1e-3
    np.testing.assert_allclose(ours.quantile(levels), expected, rtol=RELATIVE, atol=RELATIVE * spread)


@pytest.mark.parametrize(("ours", "theirs"), ON_A_LINE)
def test_mean_and_var(ours, theirs):
    np.testing.assert_allclose(ours.mean, theirs.mean(), rtol=RELATIVE)
    np.testing.assert_allclose(ours.var, theirs.var(), rtol=RELATIVE)
    np.testing.assert_allclose(ours.std, theirs.std(), rtol=RELATIVE)


@pytest.mark.parametrize(("ours", "theirs"), CASES)
def test_entropy(ours, theirs):
    """Against 30 digits: SciPy sums or integrates several entropies to fewer than ten."""
    del theirs
    assert ours.entropy() == pytest.approx(float(exact_entropy(ours)), rel=RELATIVE)


log, psi = mpmath.log, mpmath.psi
# Entropies in closed form: of the parameters in the order of the family.
ENTROPY = {
    "Normal": lambda _mean, std: log(std) + log(2 * mpmath.pi * mpmath.e) / 2,
    "LogNormal": lambda mu, sigma: mu + log(sigma) + log(2 * mpmath.pi * mpmath.e) / 2,
    "Exponential": lambda rate: 1 - log(rate),
    "Gamma": lambda shape, rate: shape - log(rate) + mpmath.loggamma(shape) + (1 - shape) * psi(0, shape),
    "Uniform": lambda low, high: log(high - low),
    "Laplace": lambda _loc, scale: 1 + log(2 * scale),
    "Logistic": lambda _loc, scale: log(scale) + 2,
    "InverseGaussian": lambda mean, shape: (
        log(2 * mpmath.pi * mpmath.e * mean**3 / shape) / 2
        - 3 * mpmath.exp(2 * shape / mean) * mpmath.e1(2 * shape / mean) / 2
    ),
    "Weibull": lambda shape, scale: mpmath.euler * (1 - 1 / shape) + log(scale / shape) + 1,
    "Lomax": lambda shape, scale: log(scale / shape) + 1 + 1 / shape,
    "Beta": lambda a, b: (
        log(mpmath.beta(a, b)) - (a - 1) * psi(0, a) - (b - 1) * psi(0, b) + (a + b - 2) * psi(0, a + b)
    ),
    "StudentT": lambda df, _loc, scale: (
        (df + 1) / 2 * (psi(0, (df + 1) / 2) - psi(0, df / 2)) + log(scale * mpmath.sqrt(df) * mpmath.beta(df / 2, 0.5))
    ),
    "VonMises": lambda _loc, k: (
        log(2 * mpmath.pi * mpmath.besseli(0, k)) - k * mpmath.besseli(1, k) / mpmath.besseli(0, k)
    ),
}


def exact_entropy(ours):
    """−E log p at 30 digits, from formulas and sums that share nothing with the library."""
    with mpmath.workdps(30):
        m = {name: mpmath.mpf(float(getattr(ours, name))) for name in ours.specs()}
        if ours.name in ENTROPY:
            return ENTROPY[ours.name](*m.values())
        total = mpmath.mpf(0)
        for x in range(100_000):
            p = exact_probability(ours.name, m, x)
            total -= p * log(p) if p > 0 else 0
            if p < mpmath.mpf(10) ** -25 and x > ours.mean:
                return total
        msg = f"the sum over {ours!r} did not end"
        raise AssertionError(msg)


def exact_probability(name, m, x):
    """P(X = x) at 30 digits."""
    binomial = mpmath.binomial
    match name:
        case "Bernoulli":
            return m["p"] if x == 1 else 1 - m["p"] if x == 0 else mpmath.mpf(0)
        case "Binomial":
            return binomial(m["trials"], x) * m["p"] ** x * (1 - m["p"]) ** (m["trials"] - x) if x <= m["trials"] else 0
        case "Geometric":
            return m["p"] * (1 - m["p"]) ** (x - 1) if x else mpmath.mpf(0)
        case "NegativeBinomial":
            return mpmath.rf(m["size"], x) / mpmath.factorial(x) * m["p"] ** m["size"] * (1 - m["p"]) ** x
        case "Poisson":
            return mpmath.exp(-m["rate"]) * m["rate"] ** x / mpmath.factorial(x)
        case "BetaBinomial":
            n, a, b = m["trials"], m["a"], m["b"]
            return binomial(n, x) * mpmath.beta(x + a, n - x + b) / mpmath.beta(a, b) if x <= n else 0
    raise AssertionError(name)


@pytest.mark.parametrize(("loc", "concentration"), [(-2.0, 0.5), (0.0, 2.0), (1.5, 9.0), (0.3, 80.0)])
def test_cdf_of_angles_to_thirty_digits(loc, concentration):
    ours = sf.VonMises(loc, concentration)
    x = loc + np.array([-3.1, -1.2, -0.2, 0.0, 0.4, 1.5, 2.9])  # the circle is cut opposite to loc
    with mpmath.workdps(30):
        k, m = mpmath.mpf(concentration), mpmath.mpf(loc)

        def density(t):
            return mpmath.exp(k * (mpmath.cos(t - m) - 1))

        def integral(high):
            cuts = [c for c in (m - 1, m - 0.3, m, m + 0.3, m + 1) if c < high]
            return mpmath.quad(density, [m - mpmath.pi, *cuts, high])

        whole = integral(m + mpmath.pi)
        expected = [float(integral(mpmath.mpf(point)) / whole) for point in x]
    np.testing.assert_allclose(ours.cdf(x), expected, rtol=RELATIVE)
    inner = [0.001 < level < 0.999 for level in expected]  # further out a level's last bit moves the angle
    np.testing.assert_allclose(ours.quantile(expected)[inner], x[inner], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_multivariate_normal(d):
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d + 2))
    mean, cov = rng.normal(size=d), root @ root.T
    ours, theirs = sf.MultivariateNormal(mean, cov), st.multivariate_normal(mean, cov)
    x = np.concatenate([theirs.rvs(20, random_state=1).reshape(20, d), mean + 30 * rng.normal(size=(3, d))])
    np.testing.assert_allclose(ours.log_prob(x), theirs.logpdf(x), rtol=RELATIVE)
    assert ours.entropy() == pytest.approx(float(theirs.entropy()), rel=RELATIVE)


def test_multivariate_student_t():
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    ours, theirs = sf.MultivariateStudentT(4.5, [0.0, 1.0], cov), st.multivariate_t([0.0, 1.0], cov, df=4.5)
    x = np.concatenate([theirs.rvs(20, random_state=1), [[1e3, -1e3], [1e8, 1.0]]])
    np.testing.assert_allclose(ours.log_prob(x), theirs.logpdf(x), rtol=RELATIVE)


def test_dirichlet_and_multinomial():
    alpha = np.array([0.6, 2.0, 6.0])
    shares = np.random.default_rng(0).dirichlet(alpha, 10)
    np.testing.assert_allclose(
        sf.Dirichlet(alpha).log_prob(shares), [st.dirichlet(alpha).logpdf(x) for x in shares], rtol=RELATIVE
    )
    assert sf.Dirichlet(alpha).entropy() == pytest.approx(float(st.dirichlet(alpha).entropy()), rel=RELATIVE)
    counts = np.array([[5, 0, 0], [1, 2, 2], [0, 0, 5]])
    probs = [0.2, 0.5, 0.3]
    np.testing.assert_allclose(
        sf.Multinomial(5, probs).log_prob(counts), st.multinomial(5, probs).logpmf(counts), rtol=RELATIVE
    )
    assert sf.Multinomial(5, probs).entropy() == pytest.approx(float(st.multinomial(5, probs).entropy()), rel=RELATIVE)
    np.testing.assert_allclose(
        sf.DirichletMultinomial(5, alpha).log_prob(counts),
        st.dirichlet_multinomial(alpha, 5).logpmf(counts),
        rtol=1e-10,
    )


# Prototype, SciPy's distribution, what SciPy must hold fixed, how many rows: our likelihood is as high or higher.
FITS = {
    "Normal": (sf.Normal(), st.norm, {}, st.norm(2.0, 3.0)),
    "LogNormal": (sf.LogNormal(), st.lognorm, {"floc": 0}, st.lognorm(0.8, scale=2.0)),
    "Exponential": (sf.Exponential(), st.expon, {"floc": 0}, st.expon(scale=2.0)),
    "Gamma": (sf.Gamma(), st.gamma, {"floc": 0}, st.gamma(2.5, scale=0.4)),
    "Beta": (sf.Beta(), st.beta, {"floc": 0, "fscale": 1}, st.beta(2.0, 5.0)),
    "Uniform": (sf.Uniform(), st.uniform, {}, st.uniform(-1.0, 4.0)),
    "Laplace": (sf.Laplace(), st.laplace, {}, st.laplace(1.0, 2.0)),
    "Logistic": (sf.Logistic(), st.logistic, {}, st.logistic(1.0, 2.0)),
    "InverseGaussian": (sf.InverseGaussian(), st.invgauss, {"floc": 0}, st.invgauss(1.5, scale=2.0)),
    "StudentT": (sf.StudentT(), st.t, {}, st.t(4.0, 1.0, 2.0)),
    "VonMises": (sf.VonMises(), st.vonmises, {"fscale": 1}, st.vonmises(2.0, 0.7)),
    "Weibull": (sf.Weibull(), st.weibull_min, {"floc": 0}, st.weibull_min(1.7, scale=3.0)),
}


@pytest.mark.parametrize("family", FITS)
def test_fit_is_at_least_as_likely_as_scipys(family):
    prototype, theirs, held, source = FITS[family]
    x = source.rvs(301, random_state=np.random.default_rng(11))
    fit = sf.fit(prototype, x)
    reached = theirs(*theirs.fit(x, **held)).logpdf(x).sum()
    assert fit.log_likelihood >= reached - 1e-9 * abs(reached)
    assert fit.log_likelihood == pytest.approx(reached, rel=1e-4)  # and not by another density
    assert fit.distribution.log_prob(x).sum() == pytest.approx(fit.log_likelihood, rel=1e-12)


@pytest.mark.parametrize(
    ("prototype", "theirs", "bounds"),
    [
        (sf.Poisson(), st.poisson, {"mu": (0.1, 50)}),
        (sf.Geometric(), st.geom, {"p": (0.01, 1)}),
        (sf.NegativeBinomial(), st.nbinom, {"n": (0.1, 100), "p": (0.01, 0.99)}),
        (sf.Binomial(9), st.binom, {"n": (9, 9), "p": (0, 1)}),
    ],
    ids=["Poisson", "Geometric", "NegativeBinomial", "Binomial"],
)
def test_discrete_fit_is_at_least_as_likely_as_scipys(prototype, theirs, bounds):
    rng = np.random.default_rng(11)
    x = {
        "Poisson": rng.poisson(4.0, 200),
        "Geometric": rng.geometric(0.3, 200),
        "Binomial": rng.binomial(9, 0.3, 200),
    }.get(prototype.name, rng.negative_binomial(3, 0.3, 200))
    fit = sf.fit(prototype, x)

    def optimiser(function, bounds, **options):
        from scipy.optimize import differential_evolution

        return differential_evolution(function, bounds, rng=3, tol=1e-10, **options)

    found = st.fit(theirs, x, bounds, optimizer=optimiser)
    reached = -found.nllf()
    assert fit.log_likelihood >= reached - 1e-9 * abs(reached)
    assert fit.log_likelihood == pytest.approx(reached, rel=1e-3)  # SciPy tries whole sizes only
