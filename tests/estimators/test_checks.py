"""scikit-learn's own checks: all of them, none expected to fail."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks as checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice as sf

ESTIMATORS = [
    sf.KMeans(n_clusters=3),
    sf.GaussianMixture(),
    sf.GaussianMixture(n_components=2, covariance_type="diag"),
    sf.MixtureModel(),
    sf.MixtureModel(sf.Normal()),
    sf.LatentClass(),
    sf.Density(),
    sf.Density(sf.Normal()),
    sf.BayesClassifier(),
    sf.BayesClassifier(sf.MultivariateNormal()),
    sf.BayesClassifier(sf.MultivariateNormal(structure="tied")),
    sf.NaiveBayes(),
    sf.GaussianNB(),
    sf.BernoulliNB(),
    sf.CategoricalNB(),
    sf.MultinomialNB(),
    sf.LinearDiscriminantAnalysis(),
    sf.LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    sf.LogisticClassifier(),
    sf.LogisticClassifier(solver="gradient", max_iter=50),
    sf.QuadraticDiscriminantAnalysis(),
    sf.QuadraticDiscriminantAnalysis(reg_param=0.1, shrinkage="oas"),
]
BEYOND = [
    checks.check_dataframe_column_names_consistency,
    checks.check_param_validation,
    checks.check_set_output_transform,
    checks.check_n_features_in_after_fitting,
    checks.check_sample_weight_equivalence_on_dense_data,
    checks.check_inplace_ensure_writeable,
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("check", BEYOND, ids=lambda check: check.__name__)
def test_checks_beyond(estimator, check):
    if isinstance(estimator, sf.NaiveBayes) and check is checks.check_dataframe_column_names_consistency:
        pytest.skip("its columns go by name: in any order, and with a warning where some are not there")
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize(
    "check",
    [
        checks.check_transformer_get_feature_names_out,
        checks.check_set_output_transform_pandas,
        checks.check_set_output_transform_polars,
        checks.check_global_output_transform_pandas,
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("estimator", [sf.KMeans(n_clusters=3), sf.LinearDiscriminantAnalysis()], ids=repr)
def test_those_that_transform_do_it_like_others(estimator, check):
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        sf.KMeans(n_clusters=3, init="random", n_init=1),
        sf.GaussianMixture(3, init_params="random_from_data"),
        sf.BayesianGaussianMixture(n_components=3, init_params="random"),
        sf.MixtureModel(sf.Normal(), 3),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_generator_is_a_random_state(estimator):
    X = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0, 0], [6, 0], [0, 6]], 30, axis=0)
    one, other = (clone(estimator).set_params(random_state=np.random.default_rng(7)).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    rng = np.random.default_rng(7)
    clone(estimator).set_params(random_state=rng).fit(X)
    assert rng.bit_generator.state != np.random.default_rng(7).bit_generator.state  # it moves on
