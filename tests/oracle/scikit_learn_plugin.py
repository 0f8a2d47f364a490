"""A pytest plugin that runs scikit-learn's own tests on suffice's classes.

    python -m pytest -p scikit_learn_plugin --pyargs sklearn.tests.test_naive_bayes sklearn.mixture …

with this folder on PYTHONPATH. The classes are replaced before the tests are imported, so that their parametrisation
has ours, too. Left out is what is not about our classes: those that suffice has no counterpart of, functions and
attributes that are private to scikit-learn, and arrays of other libraries than NumPy.
"""

import inspect
import re

import sklearn.cluster
import sklearn.discriminant_analysis
import sklearn.mixture
import sklearn.naive_bayes

import suffice as sf

REPLACED = {
    sklearn.naive_bayes: ("GaussianNB", "BernoulliNB", "MultinomialNB", "CategoricalNB"),
    sklearn.discriminant_analysis: ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    sklearn.mixture: ("GaussianMixture", "BayesianGaussianMixture"),
    sklearn.cluster: ("KMeans",),
}
# What a test says in its name, its parameters or its text where it is not about our classes.
NAMES = re.compile(r"array_api|MiniBatchKMeans|ComplementNB|minibatch|mini_batch|cnb|k_means_function|kmeans_plusplus")
PRIVATE = re.compile(r"\w\._(?!n_parameters|estimate_log_prob|joint_log_likelihood)[a-z]\w*\(|\b_n_init\b|\bMock\b")


def pytest_configure():
    """Put our classes in the place of scikit-learn's."""
    for module, names in REPLACED.items():
        for name in names:
            setattr(module, name, getattr(sf, name))


def applies(item):
    """Whether a test is about one of our classes, by what scikit-learn's users may call."""
    text = inspect.getsource(item.function)
    ours = any(re.search(rf"\b{name}\b", text + item.nodeid) for names in REPLACED.values() for name in names)
    indirect = re.search(r"Estimator|\b(km|gmm|klass|DiscreteNaiveBayes|GaussianMixture)", text)
    return not NAMES.search(item.nodeid) and not PRIVATE.search(text) and bool(ours or indirect)


def pytest_collection_modifyitems(config, items):
    """Leave out what is not about our classes."""
    kept = [item for item in items if applies(item)]
    config.hook.pytest_deselected(items=[item for item in items if not applies(item)])
    items[:] = kept
