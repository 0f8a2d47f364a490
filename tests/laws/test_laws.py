"""Every family of the registry in every layout, combinators and users' own families are held to every law.

A law that has nothing to say about a subject must be expected to: a family that escapes a law by accident fails here.
"""

import numpy as np
import pytest
from tests import families

import suffice as sf
import suffice.distributions
from suffice import testing

FULL = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]])


def layouts(kind):
    """The batches that a family can have: lone, several columns, a stack."""
    if kind.row_vector:
        return {"lone": (), "stack": (3,)}
    return {"lone": (), "columns": (2,), "stack": (3, 2)}


def registered():
    """A typical value of every family in every layout."""
    for name, kind in families.FAMILIES.items():
        for layout, batch in layouts(kind).items():
            yield f"{name}-{layout}", kind.example(np.random.default_rng(5), batch)


def composed():
    """What the registry does not name: combinators, structures, fixed parameters, predictives, users' families."""
    gauss = {name: sf.MultivariateNormal([0.0, 1.0, 2.0], cov, structure=name) for name, cov in STRUCTURES.items()}
    yield from ((f"MultivariateNormal-{name}", value) for name, value in gauss.items())
    yield "MultivariateNormal-tied-stack", gauss["tied"].stack(2)
    yield "Normal-std_fixed", sf.Normal(1.0, 2.0).fix("std")
    yield "Uniform-low_fixed", sf.Uniform(0.0, 2.0).fix("low")
    yield "NegativeBinomial-size_fixed", sf.NegativeBinomial(3.0, 0.4).fix("size")
    yield "Product-exact", sf.Product([sf.Normal(1.0, 2.0), sf.Poisson(3.0), sf.Bernoulli(0.3)])
    yield "Product-iterative", sf.Product([sf.StudentT(4.0, 0.0, 1.0), sf.Exponential(2.0)])
    yield "Product-blocks", sf.Product([gauss["full"], sf.Gamma(2.0, 3.0)])
    yield "Product-labels", sf.Product([sf.Categorical(["a", "b", "c"], [0.2, 0.5, 0.3]), sf.Normal(1.0, 2.0)])
    yield "Product-stack", sf.Product([sf.Normal([[1.0], [3.0]], [[2.0], [1.0]]), sf.Poisson([[3.0], [6.0]])])
    yield "Stack-families", sf.Stack([sf.Normal(1.0, 2.0), sf.Laplace(0.0, 1.0)])
    pair = [sf.Product([sf.Normal(1.0, 2.0), count]) for count in (sf.Poisson(3.0), sf.NegativeBinomial(3.0, 0.3))]
    yield "Stack-products", sf.Stack(pair)
    yield "BetaBinomial-predictive", sf.BetaBinomial(10, 2.0, 3.0)
    yield "BetaGeometric-predictive", sf.BetaGeometric(12.0, 3.0)
    yield "Lomax-predictive", sf.Lomax(5.0, 2.0)
    yield "MultivariateStudentT-predictive", sf.MultivariateStudentT(9.0, [0.0, 1.0, 2.0], FULL)
    yield "DirichletMultinomial-predictive", sf.DirichletMultinomial(6, [1.0, 2.0, 3.0])
    yield "User-rayleigh", sf.fit(rayleigh(), [1.0, 2.0, 3.0]).distribution
    yield "User-counts", sf.fit(logarithmic(), [1, 1, 2, 4, 1, 3]).distribution
    yield "User-two_statistics", sf.fit(inverse_gaussian(), [0.5, 1.0, 2.0, 0.8]).distribution


STRUCTURES = {
    "full": FULL,
    "diag": np.diag([2.0, 1.0, 3.0]),
    "spherical": 2.0 * np.eye(3),
    "identity": np.eye(3),
    "tied": FULL,
}


def rayleigh():
    return sf.ExponentialFamily(
        lambda x: x**2, lambda x: x, lambda eta: -np.log(-2 * eta), support=(0, np.inf), start=-0.5
    )


def logarithmic():
    return sf.ExponentialFamily(
        lambda x: x,
        lambda x: 1 / x,
        lambda eta: np.log(-np.log1p(-np.exp(eta))),
        support=(1, np.inf, int),
        start=-0.5,
    )


def inverse_gaussian():
    return sf.ExponentialFamily(
        lambda x: [x, 1 / x],
        lambda x: np.sqrt(1 / (2 * np.pi * x**3)),
        lambda eta: -2 * np.sqrt(eta[0] * eta[1]) - 0.5 * np.log(-2 * eta[1]),
        support=(0, np.inf),
        start=[-0.5, -0.5],
    )


SUBJECTS = {**dict(registered()), **dict(composed())}
CASES = [
    pytest.param(subject, entry, id=f"{subject}-{entry.name.replace(' ', '_')}")
    for subject in SUBJECTS
    for entry in testing.laws()
]

LABELS = {"Categorical"}
VECTORS = families.VECTORS | {"MultivariateStudentT", "DirichletMultinomial"}
BLOCKS = {"Product", "Stack"}
PREDICTIVES = {"BetaBinomial", "BetaGeometric", "Lomax", "MultivariateStudentT", "DirichletMultinomial"}
ITERATIVE, LOCATION, SCALE = families.ITERATIVE, families.LOCATION, families.SCALE
EVERY = {name.partition("-")[0] for name in SUBJECTS}
WITHOUT_PRIOR = EVERY - families.CONJUGATE
NOT_EXPONENTIAL = EVERY - families.EXPONENTIAL - {"User"}

# The families that a law may leave out; predictives are never fitted, so they have no statistics either.
BELIEF = WITHOUT_PRIOR
EXEMPT = {
    "any split merges to the whole": PREDICTIVES,
    "the order of the rows does not matter": PREDICTIVES,
    "integer weight = repetition, weight 0 = absent": PREDICTIVES,
    "scaling the statistics keeps the estimate": PREDICTIVES,
    "k together = k alone": PREDICTIVES,
    "missing = absent": PREDICTIVES,
    "removing rows = never seen": PREDICTIVES | ITERATIVE | {"Uniform"} | BLOCKS,
    "blocks and threads change nothing": PREDICTIVES,
    "reference and compiled kernels agree": PREDICTIVES,
    "values are immutable": PREDICTIVES,
    "a value shows the call that makes it": LABELS | VECTORS | BLOCKS | {"User"},
    "a value survives copying and pickling": {"User"},  # functions without a name cannot be pickled
    "JSON round-trips bitwise": {"User"},  # functions cannot be written to a file
    "same seed, same rows": set(),
    "the density integrates to 1": BLOCKS,
    "mean and var are moments": LABELS | BLOCKS,
    "cdf is the integral of the density": LABELS | VECTORS | BLOCKS,
    "quantile inverts cdf": LABELS | VECTORS | BLOCKS,
    "samples follow the distribution": {"DirichletMultinomial"},
    "entropy = −E log p": {"DirichletMultinomial"},
    "kl ≥ 0, and 0 only to itself": VECTORS | BLOCKS | {"User"},
    "∂A/∂η = E u and ∂²A/∂η² = Cov u": NOT_EXPONENTIAL,
    "Bayes' rule": BELIEF,
    "posterior after posterior = posterior of all": BELIEF,
    "predictive = ratio of evidences": BELIEF,
    "MAP is the mode": BELIEF,
    "beliefs describe their own draws": BELIEF,
    "the estimate maximises": PREDICTIVES,
    "the gradient vanishes at the estimate": LABELS | VECTORS | BLOCKS | PREDICTIVES | {"Uniform", "User"},
    "fixed parameters stay, tied ones are shared": PREDICTIVES | BLOCKS,
    "statistics carry the likelihood": PREDICTIVES,
    "the loop never falls": EVERY - ITERATIVE,
    "a step never lowers the objective": PREDICTIVES | BLOCKS | {"User"},
    "affine equivariance": EVERY - SCALE,
    "far from the origin nothing changes": EVERY - LOCATION,
}
# Only a full covariance has a closed posterior, and a typical covariance is full.
STRUCTURED = {f"MultivariateNormal-{name}" for name in ("diag", "spherical", "identity", "tied", "tied-stack")}
BELIEFS = {law for law, exempt in EXEMPT.items() if exempt is BELIEF}
SINGLE = {(subject, law) for subject in STRUCTURED for law in BELIEFS | {"a step never lowers the objective"}}
SINGLE |= {("NegativeBinomial-size_fixed", "the loop never falls")}  # exact once the size is known


@pytest.mark.parametrize(("subject", "entry"), CASES)
def test_subject_keeps_the_law(subject, entry):
    escape = None
    try:
        entry.function(SUBJECTS[subject], np.random.default_rng(0))
    except testing.DoesNotApply as reason:
        escape = str(reason)
    assert escape is None or is_exempt(subject, entry.name), f"{subject} escapes “{entry.name}”: {escape}"


def is_exempt(subject, law):
    """Whether a law may have nothing to say about a subject."""
    family = subject.partition("-")[0]
    if law == "every form of the same rows agrees":
        return family in PREDICTIVES or not SUBJECTS[subject].lone
    return family in EXEMPT[law] or (subject, law) in SINGLE


def test_every_law_is_kept_by_several_families():
    """No law is exempt everywhere, and the table names no law that is gone."""
    names = {entry.name for entry in testing.laws()}
    assert set(EXEMPT) == names - {"every form of the same rows agrees"}
    for law, exempt in EXEMPT.items():
        assert len(EVERY - exempt) >= 4, law


def test_check_distribution_reports_what_it_did():
    report = testing.check_distribution(sf.Exponential(2.0))
    assert "Bayes' rule" in report.passed
    assert report.not_applicable["the loop never falls"] == "one pass is enough"
    assert len(report.passed) + len(report.not_applicable) == len(testing.laws())
    assert repr(report).startswith("Exponential(rate=2): ")


def test_check_distribution_refuses_a_class():
    with pytest.raises(sf.ParameterError, match="takes a distribution with parameters"):
        testing.check_distribution(sf.Normal)
