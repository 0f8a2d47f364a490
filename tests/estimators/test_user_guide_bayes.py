"""Examples of scikit-learn's user guide and docstrings for naive Bayes, with the import changed."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import naive_bayes as theirs
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GridSearchCV, LearningCurveDisplay, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline

from suffice import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB


def test_mislabelled_flowers():  # modules/naive_bayes
    X, y = load_iris(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    gnb = GaussianNB()
    y_pred = gnb.fit(X_train, y_train).predict(X_test)
    assert (X_test.shape[0], (y_test != y_pred).sum()) == (75, 4)


def test_gaussian_docstring():
    X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    Y = np.array([1, 1, 1, 2, 2, 2])
    clf = GaussianNB()
    clf.fit(X, Y)
    assert_array_equal(clf.predict([[-0.8, -1]]), [1])
    clf_pf = GaussianNB()
    clf_pf.partial_fit(X, Y, np.unique(Y))
    assert_array_equal(clf_pf.predict([[-0.8, -1]]), [1])


def test_discrete_docstrings():
    rng = np.random.RandomState(1)
    for kind, high in ((BernoulliNB, 5), (MultinomialNB, 5), (CategoricalNB, 5)):
        X = rng.randint(high, size=(6, 100))
        y = np.array([1, 2, 3, 4, 5, 6])
        clf = kind()
        clf.fit(X, y)
        assert_array_equal(clf.predict(X[2:3]), [3])


DOCS = ["God is love", "OpenGL on the GPU is fast", "the church and God", "a GPU renders images", "love and faith"]
KINDS = ["religion", "graphics", "religion", "graphics", "religion"]


def test_working_with_text():  # tutorial: a pipeline from words to classes
    text_clf = Pipeline([("vect", CountVectorizer()), ("tfidf", TfidfTransformer()), ("clf", MultinomialNB())])
    text_clf.fit(DOCS, KINDS)
    assert_array_equal(text_clf.predict(["God is love", "fast GPU images"]), ["religion", "graphics"])
    search = GridSearchCV(text_clf, {"vect__ngram_range": [(1, 1), (1, 2)], "clf__alpha": (1e-2, 1e-3)}, cv=2)
    search.fit(DOCS * 4, KINDS * 4)
    assert search.best_score_ > 0.9


def test_out_of_core_texts():  # plot_out_of_core_classification
    counts = CountVectorizer().fit_transform(DOCS * 20)
    y = np.array(KINDS * 20)
    classifiers = {"NB Multinomial": MultinomialNB(alpha=0.01), "NB Bernoulli": BernoulliNB(alpha=0.01)}
    for clf in classifiers.values():
        for start in range(0, 100, 10):
            clf.partial_fit(counts[start : start + 10], y[start : start + 10], classes=np.unique(y))
        assert clf.score(counts, y) == 1.0


def test_probability_calibration():  # plot_calibration
    X, y = make_blobs(n_samples=10000, centers=[(-5, -5), (0, 0), (5, 5)], shuffle=False, random_state=42)
    y[: 10000 // 2] = 0
    y[10000 // 2 :] = 1
    sample_weight = np.random.RandomState(42).rand(y.shape[0])
    X_train, X_test, y_train, y_test, sw_train, sw_test = train_test_split(
        X, y, sample_weight, test_size=0.9, random_state=42
    )
    scores = []
    for clf in (GaussianNB(), theirs.GaussianNB()):
        clf.fit(X_train, y_train)
        plain = brier_score_loss(y_test, clf.predict_proba(X_test)[:, 1], sample_weight=sw_test)
        isotonic = CalibratedClassifierCV(clf, cv=2, method="isotonic")
        isotonic.fit(X_train, y_train, sample_weight=sw_train)
        better = brier_score_loss(y_test, isotonic.predict_proba(X_test)[:, 1], sample_weight=sw_test)
        assert better < plain
        scores.append([plain, better])
    assert_allclose(*scores, rtol=1e-6)


def test_votes():  # modules/ensemble
    X, y = load_iris(return_X_y=True)
    X = X[:, 1:3]
    vote = VotingClassifier([("lr", LogisticRegression(random_state=1)), ("gnb", GaussianNB())], voting="soft")
    scores = {name: cross_val_score(clf, X, y, cv=5).mean() for name, clf in (("gnb", GaussianNB()), ("vote", vote))}
    assert_allclose(scores["gnb"], 0.91, atol=0.01)
    assert scores["vote"] > 0.9


def test_learning_curves():  # plot_learning_curve
    X, y = load_iris(return_X_y=True)
    display = LearningCurveDisplay.from_estimator(GaussianNB(), X, y, train_sizes=[0.3, 0.6, 1.0], n_jobs=1)
    assert display.test_scores.mean(axis=1)[-1] > 0.93
