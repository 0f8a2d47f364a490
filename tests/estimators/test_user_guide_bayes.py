"""Examples of scikit-learn's user guide and docstrings for Bayes classifiers, with the import changed."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import discriminant_analysis
from sklearn import naive_bayes as theirs
from sklearn.calibration import CalibratedClassifierCV
from sklearn.covariance import OAS
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GridSearchCV, LearningCurveDisplay, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
)


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


def test_discriminant_docstrings():
    X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    y = np.array([1, 1, 1, 2, 2, 2])
    for clf in (LinearDiscriminantAnalysis(), QuadraticDiscriminantAnalysis()):
        clf.fit(X, y)
        assert_array_equal(clf.predict([[-0.8, -1]]), [1])


def test_projection_of_flowers():  # plot_pca_vs_lda
    X, y = load_iris(return_X_y=True)
    lda = LinearDiscriminantAnalysis(n_components=2)
    X_r2 = lda.fit(X, y).transform(X)
    assert X_r2.shape == (150, 2)
    peer = discriminant_analysis.LinearDiscriminantAnalysis(n_components=2).fit(X, y)
    assert_allclose(np.abs(X_r2), np.abs(peer.transform(X)), atol=1e-10)
    assert_allclose(lda.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-10)


def test_shrinkage_for_classification():  # plot_lda
    def generate_data(n_samples, n_features):
        X, y = make_blobs(n_samples=n_samples, n_features=1, centers=[[-2], [2]], random_state=3)
        if n_features > 1:
            X = np.hstack([X, np.random.RandomState(5).randn(n_samples, n_features - 1)])
        return X, y

    scores = []
    for n_features in (5, 37, 75):
        X, y = generate_data(20, n_features)
        clf1 = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=None).fit(X, y)
        clf2 = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)
        clf3 = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS()).fit(X, y)
        X, y = generate_data(200, n_features)
        scores.append([clf.score(X, y) for clf in (clf1, clf2, clf3)])
    assert np.min([row[1:] for row in scores]) > 0.8


def test_ellipsoids():  # plot_lda_qda
    rng = np.random.RandomState(0)
    C = np.array([[0.0, -1.0], [2.5, 0.7]]) * 2.0
    X = np.concatenate([rng.randn(300, 2) @ C, rng.randn(300, 2) @ C.T + np.array([1, 4])])
    y = np.array([0] * 300 + [1] * 300)
    lda = LinearDiscriminantAnalysis(solver="svd", store_covariance=True).fit(X, y)
    qda = QuadraticDiscriminantAnalysis(solver="svd", store_covariance=True).fit(X, y)
    peers = [
        discriminant_analysis.LinearDiscriminantAnalysis(store_covariance=True).fit(X, y),
        discriminant_analysis.QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y),
    ]
    for ours, peer in zip((lda, qda), peers, strict=True):
        assert_allclose(ours.covariance_, peer.covariance_, rtol=1e-10)
        assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-12)
    assert qda.score(X, y) > lda.score(X, y)


def test_projection_before_neighbours():  # plot_nca_dim_reduction
    X, y = load_iris(return_X_y=True)
    lda = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(n_components=2))
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    lda.fit(X_train, y_train)
    knn = KNeighborsClassifier(n_neighbors=3).fit(lda.transform(X_train), y_train)
    assert knn.score(lda.transform(X_test), y_test) > 0.9
