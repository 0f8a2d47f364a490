"""Examples of scikit-learn's user guide, with the import changed."""

import json
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics
from sklearn.datasets import load_digits, load_iris, make_blobs, make_moons
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import GaussianMixture, KMeans


def test_density_of_two_gaussians():  # plot_gmm_pdf
    np.random.seed(0)  # noqa: NPY002 (as the example)
    shifted = np.random.randn(300, 2) + np.array([20, 20])  # noqa: NPY002
    stretched = np.dot(np.random.randn(300, 2), np.array([[0.0, -0.7], [3.5, 0.7]]))  # noqa: NPY002
    X = np.vstack([shifted, stretched])
    model = GaussianMixture(n_components=2, covariance_type="full")
    model.fit(X)
    grid = np.array([a.ravel() for a in np.meshgrid(np.linspace(-20.0, 30.0), np.linspace(-20.0, 40.0))]).T
    Z = -model.score_samples(grid)
    assert Z.shape == (2500,)
    assert_allclose(model.means_[np.argsort(model.means_[:, 0])], [[0, 0], [20, 20]], atol=0.6)


def test_selection_by_a_grid():  # plot_gmm_selection
    rng = np.random.RandomState(0)
    C = np.array([[0.0, -0.1], [1.7, 0.4]])
    X = np.concatenate([np.dot(rng.randn(250, 2), C), 0.7 * rng.randn(250, 2) + np.array([-4, 1])])

    def gmm_bic_score(estimator, X):
        return -estimator.bic(X)

    cv = KFold(2, shuffle=True, random_state=0)
    grid = {"n_components": range(1, 4), "covariance_type": ["spherical", "tied", "diag", "full"]}
    search = GridSearchCV(GaussianMixture(random_state=0), param_grid=grid, scoring=gmm_bic_score, cv=cv)
    search.fit(X)
    assert search.best_params_ == {"covariance_type": "full", "n_components": 2}


def test_covariances_on_iris():  # plot_gmm_covariances
    iris = load_iris()
    train, test = next(iter(StratifiedKFold(n_splits=4).split(iris.data, iris.target)))
    for kind in ["spherical", "diag", "tied", "full"]:
        model = GaussianMixture(n_components=3, covariance_type=kind, max_iter=20, random_state=0)
        model.means_init = np.array([iris.data[train][iris.target[train] == i].mean(axis=0) for i in range(3)])
        model.fit(iris.data[train])
        assert np.mean(model.predict(iris.data[train]) == iris.target[train]) > 0.8
        assert np.mean(model.predict(iris.data[test]) == iris.target[test]) > 0.8


@pytest.mark.parametrize("method", ["kmeans", "random_from_data", "k-means++", "random"])
def test_initialisation_methods(method):  # plot_gmm_init
    X, _ = make_blobs(n_samples=4000, centers=4, cluster_std=0.60, random_state=0)
    X = X[:, ::-1]
    start = GaussianMixture(4, init_params=method, tol=1e-9, max_iter=0, random_state=20).fit(X)
    assert start.means_.shape == (4, 2)
    model = GaussianMixture(4, init_params=method, tol=1e-9, max_iter=2000, random_state=20).fit(X)
    assert model.n_iter_ >= 1


def test_k_means_on_digits():  # plot_kmeans_digits
    data, labels = load_digits(return_X_y=True)
    pca = PCA(n_components=10).fit(data)
    starts = {
        "k-means++": KMeans(init="k-means++", n_clusters=10, n_init=4, random_state=0),
        "random": KMeans(init="random", n_clusters=10, n_init=4, random_state=0),
        "PCA-based": KMeans(init=pca.components_, n_clusters=10, n_init=1),
    }
    scaled = StandardScaler().fit_transform(data)
    for name, kmeans in starts.items():
        estimator = make_pipeline(StandardScaler(), kmeans).fit(data)
        found = estimator[-1].labels_
        assert metrics.homogeneity_score(labels, found) > 0.5, name
        assert metrics.silhouette_score(scaled, found, sample_size=300, random_state=0) > 0.1, name


def test_silhouettes_choose_the_number_of_clusters():  # plot_kmeans_silhouette_analysis
    X, _ = make_blobs(n_samples=500, n_features=2, centers=4, cluster_std=1, center_box=(-10.0, 10.0), random_state=1)
    scores = {}
    for n_clusters in [2, 3, 4, 5, 6]:
        labels = KMeans(n_clusters=n_clusters, random_state=10).fit_predict(X)
        scores[n_clusters] = metrics.silhouette_score(X, labels)
    assert_allclose(scores[2], 0.70498, atol=1e-3)
    assert_allclose(scores[4], 0.65051, atol=1e-3)


def test_k_means_assumptions():  # plot_kmeans_assumptions
    X, y = make_blobs(n_samples=1500, random_state=170)
    uneven = np.vstack((X[y == 0][:500], X[y == 1][:100], X[y == 2][:10]))
    truth = np.repeat([0, 1, 2], [500, 100, 10])
    labels = KMeans(n_clusters=3, n_init=10, random_state=170).fit_predict(uneven)
    assert metrics.adjusted_rand_score(truth, labels) > 0.98
    stretched = np.dot(X, [[0.60834549, -0.63667341], [-0.40887718, 0.85253229]])
    labels = GaussianMixture(n_components=3, random_state=170).fit_predict(stretched)
    assert metrics.adjusted_rand_score(y, labels) > 0.98


def test_vectors_of_colours():  # plot_color_quantization
    image = np.random.RandomState(0).rand(40, 50, 3)
    flat = image.reshape(-1, 3)
    kmeans = KMeans(n_clusters=16, random_state=0).fit(flat[:500])
    codebook, labels = kmeans.cluster_centers_, kmeans.predict(flat)
    recreated = codebook[labels].reshape(40, 50, -1)
    assert np.mean((image - recreated) ** 2) < 0.25 * image.var()


def test_text_documents():  # plot_document_clustering
    rng = np.random.default_rng(0)
    topics = ["orbit moon rocket launch nasa", "pixel image render shading light", "faith church bible belief god"]
    kinds = np.arange(120) % 3
    texts = [" ".join(rng.choice([*topics[kind].split(), "the", "of"], 30)) for kind in kinds]
    vectorizer = TfidfVectorizer(max_df=0.5, min_df=5, stop_words="english")
    X_tfidf = vectorizer.fit_transform(texts)
    kmeans = KMeans(n_clusters=3, max_iter=100, n_init=5, random_state=0).fit(X_tfidf)
    assert metrics.adjusted_rand_score(kinds, kmeans.labels_) == 1.0
    terms = vectorizer.get_feature_names_out()
    tops = {" ".join(sorted(terms[order[:5]])) for order in kmeans.cluster_centers_.argsort()[:, ::-1]}
    assert tops == {" ".join(sorted(topic.split())) for topic in topics}


def test_densities_in_pipelines_and_scores():
    X, _ = make_moons(400, noise=0.1, random_state=0)
    few, many = (
        cross_val_score(make_pipeline(StandardScaler(), GaussianMixture(k, random_state=0)), X) for k in (1, 8)
    )
    assert many.mean() > few.mean() + 0.3
    features = make_pipeline(KMeans(8, random_state=0), PCA(3)).fit_transform(X)
    assert features.shape == (400, 3)


FRESH = """
import json, sys, time
import sklearn.base, sklearn.utils.validation
from sklearn.datasets import load_iris
X = load_iris().data
begin = time.process_time()
import suffice
lazy = "suffice.estimators.base" not in sys.modules
there = set(sys.modules)
model = suffice.GaussianMixture(3, random_state=0).fit(X)
brought = sorted({name.partition(".")[0] for name in set(sys.modules) - there} - {"sklearn"})
print(json.dumps([time.process_time() - begin, lazy, brought, model.score(X)]))
"""


def test_a_fresh_process_compiles_nothing():
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)  # noqa: S603
    seconds, lazy, brought, score = json.loads(done.stdout)
    assert lazy
    assert brought == ["suffice"]  # neither a compiler nor tables, plots or tests of statistics
    assert seconds < 2.0  # some 0.4 on a quiet machine
    assert score > -1.2013


def test_the_library_does_not_bring_scikit_learn():
    heavy = ["sklearn", "scipy.stats", "pandas", "pyarrow", "rich"]
    code = (
        "import sys, suffice; suffice.fit(suffice.Mixture(suffice.Normal(), 2), [1.0, 2.0, 7.0, 8.5]); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"
