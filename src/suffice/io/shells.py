"""Estimators in files: their options, and of what they learned as much as the rest follows from."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from suffice.em.alerts import are_alerts, as_alerts
from suffice.errors import ParameterError
from suffice.io.messages import guarded, require
from suffice.io.rules import belong
from suffice.storage.plain import refused

SEEN = "n_features_in_ feature_names_in_? _sklearn_output_config? _precision?"
MIXTURE = f"{SEEN} distribution_ statistics_? n_seen_? converged_ n_iter_ lower_bound_ lower_bounds_"
MIXTURE = f"{MIXTURE} _learned_with? _discarded?"
CLASSES = f"{SEEN} classes_ distribution_ statistics_? converged_ n_iter_ alerts_"
GAUSSIAN = "weights_ means_ covariances_ precisions_ precisions_cholesky_"
PRIOR = "weight_concentration_prior_? mean_precision_prior_? mean_prior_? degrees_of_freedom_prior_? covariance_prior_?"
COUNTS = "class_count_ class_log_prior_ feature_log_prob_"
SCORES = "class_count_ priors_ means_ scalings_"
AGAIN = ("_shown", "_by_hand")  # of showing what was learned


@dataclass(frozen=True)
class Shell:
    """Attributes that an estimator learns: those that are written ("?": where it has them), and those that follow."""

    written: str
    display_name: str = ""

    @property
    def required(self) -> tuple[str, ...]:
        """The attributes that every fit has."""
        return tuple(name for name in self.written.split() if not name.endswith("?"))

    @property
    def kept(self) -> tuple[str, ...]:
        """All attributes that are written."""
        return tuple(name.rstrip("?") for name in self.written.split())


SHELLS = {
    "BayesClassifier": Shell(CLASSES.replace("statistics_", "statistics_?"), "class_count_"),
    "BayesianGaussianMixture": Shell(
        f"{MIXTURE} {PRIOR}", f"{GAUSSIAN} mean_precision_ degrees_of_freedom_ weight_concentration_"
    ),
    "BernoulliNB": Shell(CLASSES, f"{COUNTS} feature_count_"),
    "CategoricalNB": Shell(f"{CLASSES} n_categories_", f"{COUNTS} category_count_"),
    "Density": Shell(f"{SEEN} fit_? distribution_ statistics_ n_iter_ converged_"),
    "GaussianMixture": Shell(MIXTURE, GAUSSIAN),
    "GaussianNB": Shell(f"{CLASSES} epsilon_?", "class_count_ theta_ var_"),
    "HiddenMarkovModel": Shell(f"{SEEN} fit_ distribution_ n_iter_ converged_"),
    "KMeans": Shell(f"{SEEN} labels_ inertia_ cluster_centers_ n_iter_"),
    "LatentClass": Shell(f"{MIXTURE} fit_?", "weights_ levels_ probabilities_"),
    "LinearDiscriminantAnalysis": Shell(
        f"{CLASSES} _n_features_out", f"{SCORES} xbar_ coef_ intercept_ explained_variance_ratio_"
    ),
    "LogisticClassifier": Shell(
        f"{SEEN} classes_ coef_ intercept_ standard_errors_ intercept_standard_errors_ log_likelihood_ trace_ path_ "
        "n_iter_ converged_ alerts_"
    ),
    "MixtureModel": Shell(f"{MIXTURE} fit_?", "weights_"),
    "MultinomialNB": Shell(CLASSES, f"{COUNTS} feature_count_"),
    "NaiveBayes": Shell(f"{CLASSES} prototype_ target_name_?", "class_count_"),
    "QuadraticDiscriminantAnalysis": Shell(CLASSES, f"{SCORES} rotations_"),
}
FROM_FIT = {"distribution_": "distribution", "statistics_": "statistics"}  # written once where fit_ has the same


def is_estimator(name: str) -> bool:
    """Whether it is the name of an estimator that files hold."""
    return name in SHELLS


@cache
def estimators() -> dict[str, Any]:
    """Every kind of estimator, by its name."""
    from suffice.estimators.bayes_classifier import BayesClassifier
    from suffice.estimators.bayesian_gaussian_mixture import BayesianGaussianMixture
    from suffice.estimators.categorical_nb import CategoricalNB
    from suffice.estimators.density import Density
    from suffice.estimators.discrete_nb import BernoulliNB, MultinomialNB
    from suffice.estimators.gaussian_mixture import GaussianMixture
    from suffice.estimators.gaussian_nb import GaussianNB
    from suffice.estimators.hidden_markov_model import HiddenMarkovModel
    from suffice.estimators.k_means import KMeans
    from suffice.estimators.latent_class import LatentClass
    from suffice.estimators.linear_discriminant import LinearDiscriminantAnalysis
    from suffice.estimators.logistic import LogisticClassifier
    from suffice.estimators.mixture_model import MixtureModel
    from suffice.estimators.naive_bayes import NaiveBayes
    from suffice.estimators.quadratic_discriminant import QuadraticDiscriminantAnalysis

    kinds: tuple[Any, ...] = (
        *(BayesClassifier, BayesianGaussianMixture, BernoulliNB, CategoricalNB, Density, GaussianMixture, GaussianNB),
        *(HiddenMarkovModel, KMeans, LatentClass, LinearDiscriminantAnalysis, MixtureModel, MultinomialNB, NaiveBayes),
        *(LogisticClassifier, QuadraticDiscriminantAnalysis),
    )
    return {kind.__name__: kind for kind in kinds}


# ---- writing ---------------------------------------------------------------------------------------------------------
def tree_of_estimator(estimator: Any, path: str, tree_of: Callable[[Any, str], Any]) -> dict[str, Any]:
    """An estimator as a tree of JSON; ``tree_of`` writes what it holds."""
    name = type(estimator).__name__
    if estimators().get(name) is not type(estimator):
        kind = f"{type(estimator).__module__}.{name}"
        msg = f"{kind} is not one of suffice's estimators, and files hold no others. Pickle it for yourself alone."
        raise refused(path, msg)
    from suffice.estimators.validation import check_options  # loads scikit-learn

    options = estimator.get_params(deep=False)
    guarded(path, name, lambda: check_options(estimator))  # what could not be read back
    _refuse_generator(options, path)
    if hasattr(estimator, "distribution_"):  # which follows attributes that were set
        learned = {key: one for key, one in vars(estimator).items() if key not in options and key not in AGAIN}
    else:
        learned = {key: one for key, one in vars(estimator).items() if key not in options}
    shell = SHELLS[name]
    unknown = [key for key in learned if key not in (*shell.kept, *shell.display_name.split())]
    if unknown:
        msg = f"it has the attribute {unknown[0]!r}, which {name} does not know; delete it, or pickle the model."
        raise refused(path, msg)
    result = learned.get("fit_")
    kept = {
        key: learned[key]
        for key in shell.kept
        if key in learned and not (key in FROM_FIT and learned[key] is getattr(result, FROM_FIT[key], None))
    }
    inside = f"{path}." if path else ""
    return {
        "kind": name,
        "params": {key: tree_of(one, f"{inside}params.{key}") for key, one in options.items()},
        "learned": {key: tree_of(one, f"{inside}learned.{key}") for key, one in kept.items()},
    }


def _refuse_generator(options: dict[str, Any], path: str) -> None:
    seed = options.get("random_state")
    if isinstance(seed, (np.random.Generator, np.random.RandomState)):
        msg = (
            "random_state is a generator, whose state changes with use; give a seed, as in "
            "set_params(random_state=0), before it is saved."
        )
        raise refused(path, msg)


# ---- reading ---------------------------------------------------------------------------------------------------------
def estimator_of(node: dict[str, Any], path: str, value_of: Callable[[Any, str], Any]) -> Any:
    """The estimator of a tree: made of its options, with what it learned, and what follows from that."""
    name, inside = node["kind"], f"{path}." if path else ""
    if set(node) != {"kind", "params", "learned"}:
        raise refused(path, f"{name} has the fields 'params' and 'learned'; got {', '.join(map(repr, node))}.")
    kind, shell = estimators()[name], SHELLS[name]
    known = list(inspect.signature(kind.__init__).parameters)[1:]
    options = _read_fields(node["params"], known, f"{inside}params", name, value_of)
    learned = _read_fields(node["learned"], shell.kept, f"{inside}learned", name, value_of)
    return guarded(path, name, lambda: _restored(kind(**options), shell, learned))


def _read_fields(
    node: object, known: Sequence[Any], path: str, name: str, value_of: Callable[[Any, str], Any]
) -> dict[str, Any]:
    if type(node) is not dict:
        raise refused(path, f"an object was expected; got {node!r:.40}.")
    for key in node:
        if key not in known:
            raise refused(path, f"{name} has no {key!r:.40}; was it written by a newer suffice?")
    return {key: value_of(one, f"{path}.{key}") for key, one in node.items()}


def _restored(estimator: Any, shell: Shell, learned: dict[str, Any]) -> Any:
    from suffice.estimators.validation import check_options  # loads scikit-learn

    check_options(estimator)
    if not learned:
        return estimator
    result = learned.get("fit_")
    require(result is None or type(result).__name__ == "Fit", "fit_ is a Fit.")
    found = {**{key: getattr(result, own) for key, own in FROM_FIT.items() if result is not None}, **learned}
    missing = [key for key in shell.required if key not in found]
    if missing and set(found) - {"n_features_in_", "feature_names_in_", "_sklearn_output_config", "_precision"}:
        msg = f"{type(estimator).__name__} is without its {missing[0]!r}."
        raise ParameterError(msg)
    for key in shell.kept:
        if key in found:
            setattr(estimator, key, found[key])
    if not missing:
        _check(estimator)
        if "alerts_" in found:
            estimator.alerts_ = as_alerts(found["alerts_"])
        _show(estimator)
    return estimator


def _show(estimator: object) -> None:
    """Set what follows from what was learned."""
    if hasattr(estimator, "_display") and hasattr(estimator, "distribution_"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator._display()  # noqa: SLF001 (what fit does, too)


# ---- checking --------------------------------------------------------------------------------------------------------
def _check(estimator: Any) -> None:
    """Refuse what was never learned together."""
    name, columns = type(estimator).__name__, estimator.n_features_in_
    require(type(columns) is int and columns >= 1, "n_features_in_ is a whole number of at least 1.")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        require(isinstance(names, np.ndarray) and names.shape == (columns,), "feature_names_in_ names each column.")
        require(all(isinstance(one, str) for one in names.tolist()), "feature_names_in_ are text.")
    require(isinstance(getattr(estimator, "target_name_", ""), str), "target_name_ is text.")
    require(getattr(estimator, "_precision", "float32") == "float32", "_precision is 'float32'.")
    output = getattr(estimator, "_sklearn_output_config", {})
    known = (
        isinstance(output, dict)
        and set(output) <= {"transform"}
        and set(output.values()) <= {"default", "pandas", "polars", None}
    )
    require(known, "the output of transform is one of 'default', 'pandas', 'polars'.")
    require(type(estimator.n_iter_) is int and estimator.n_iter_ >= 0, "n_iter_ is a number of passes.")
    if name == "KMeans":
        _check_centres(estimator)
        return
    require(isinstance(estimator.converged_, (bool, np.bool_)), "converged_ is true or false.")
    if name == "LogisticClassifier":
        _check_coefficients(estimator)
        return
    model = estimator.distribution_
    require(model.ready and model.lone, "distribution_ has its parameters.")
    if hasattr(estimator, "statistics_"):
        belong(model, estimator.statistics_)
    if not any(getattr(one, "named", False) is True for one in (model, getattr(model, "components", None))):
        require(model.columns in (None, columns), f"distribution_ has {model.columns} columns, and not {columns}.")
    if hasattr(estimator, "classes_"):
        _check_classes(estimator)
    elif name not in ("Density", "HiddenMarkovModel"):
        _check_result(estimator)


def _check_centres(estimator: Any) -> None:
    centres, labels = estimator.cluster_centers_, estimator.labels_
    wanted = (estimator.n_clusters, estimator.n_features_in_)
    require(isinstance(centres, np.ndarray) and centres.shape == wanted, f"cluster_centers_ has the shape {wanted}.")
    require(centres.dtype in (np.float64, np.float32) and np.isfinite(centres).all(), "centres are finite numbers.")
    require(isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind == "i", "labels_ are numbers.")
    require(not len(labels) or 0 <= labels.min() <= labels.max() < wanted[0], "labels_ are numbers of centres.")
    require(isinstance(estimator.inertia_, (float, np.floating)), "inertia_ is a number.")


def _check_coefficients(estimator: Any) -> None:
    classes, d = estimator.classes_, estimator.n_features_in_
    require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1, "classes_ are labels (k,).")
    k = len(classes) if len(classes) > 2 else 1
    shapes = {"coef_": (k, d), "standard_errors_": (k, d), "intercept_": (k,), "intercept_standard_errors_": (k,)}
    steps = estimator.n_iter_ + 1
    shapes |= {"trace_": (steps,), "path_": (steps, len(classes) - 1, d + 1)}
    for key, shape in shapes.items():
        value = getattr(estimator, key)
        numbers = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == shape
        require(numbers, f"{key} are numbers of shape {shape}.")
    require(isinstance(estimator.log_likelihood_, float), "log_likelihood_ is a number.")
    require(are_alerts(estimator.alerts_), "alerts_ are pairs of a code and a text.")


def _check_result(estimator: Any) -> None:
    require(hasattr(estimator.distribution_, "log_weights"), "distribution_ is a mixture.")
    require(isinstance(estimator.lower_bounds_, list), "lower_bounds_ is a list.")
    numbers = [estimator.lower_bound_, *estimator.lower_bounds_, getattr(estimator, "n_seen_", 0.0)]
    require(all(isinstance(one, (float, np.floating)) for one in numbers), "bounds and n_seen_ are numbers.")
    require(numbers[-1] >= 0, "n_seen_ is at least 0.")
    require(isinstance(getattr(estimator, "_learned_with", ""), str), "_learned_with is text.")
    require(isinstance(getattr(estimator, "_discarded", ""), str), "_discarded is text.")


def _check_classes(estimator: Any) -> None:
    classes, model = estimator.classes_, estimator.distribution_
    known = hasattr(estimator, "statistics_") or estimator.n_iter_ == 0  # or set by hand
    require(known, f"{type(estimator).__name__} is without its 'statistics_'.")
    require(isinstance(classes, np.ndarray) and classes.ndim == 1, "classes_ are labels (k,).")
    require(type(model).__name__ == "Classes" and model.n == len(classes), "there is a class for each label.")
    require(model.labels == tuple(classes.tolist()), "distribution_ and classes_ name the same labels.")
    require(are_alerts(estimator.alerts_), "alerts_ are pairs of a code and a text.")
    if hasattr(estimator, "n_categories_"):
        sizes = [len(levels) for levels in model.components.named]
        require(np.array_equal(estimator.n_categories_, sizes), "n_categories_ are the numbers of levels.")
        require(estimator.n_categories_.dtype.kind == "i", "n_categories_ are whole numbers.")
    if hasattr(estimator, "_n_features_out"):
        most = min(len(classes) - 1, estimator.n_features_in_)
        out = estimator._n_features_out  # noqa: SLF001 (scikit-learn's name)
        require(type(out) is int and 0 <= out <= most, f"transform has at most {most} columns.")
    if hasattr(estimator, "prototype_"):
        require(type(estimator.prototype_).__name__ in ("Product", "Schema"), "prototype_ is a Product.")
