"""A file from a stranger: reading it runs nothing, imports nothing, and takes neither time nor memory."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.io import dumps

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(15, 2)), RNG.normal(size=(15, 2)) + 4.0])
Y = np.repeat(["a", "b"], 15)
TABLE = {"size": X[:, 0], "kind": np.array(["u", "v", "w"])[RNG.integers(0, 3, 30)], "visits": RNG.poisson(2.0, 30)}


def models():
    """Small models of many kinds."""
    yield "normal", sf.fit(sf.Normal(), X[:, 0])
    yield "product", sf.fit(sf.infer(TABLE), TABLE, prior="weak")
    yield "mixture", sf.fit(sf.Mixture(sf.infer(TABLE), 2), TABLE, random_state=0)
    yield "gaussians", sf.fit(sf.Mixture(sf.MultivariateNormal(structure="VEI"), 2), X, random_state=0)
    yield "families", sf.fit(sf.Mixture([sf.Normal(), sf.StudentT()]), X[:, 0], random_state=0, max_iter=5)
    yield "laplace", sf.fit(sf.Laplace(), X[:3, 0])
    yield "belief", sf.posterior(sf.infer(TABLE), TABLE, prior="weak")
    yield "variational", sf.posterior(sf.Mixture(sf.Normal(), 2), X, prior="weak", random_state=0)
    yield "selection", sf.select(sf.Normal(), X[:, 0], n_components=[1, 2], random_state=0)
    yield "GaussianMixture", sf.GaussianMixture(2, random_state=0).fit(X)
    yield "BayesianGaussianMixture", sf.BayesianGaussianMixture(n_components=2, random_state=0).fit(X)
    yield "KMeans", sf.KMeans(2, random_state=0).fit(X)
    yield "LatentClass", sf.LatentClass(2, random_state=0).fit(["001", "011", "111", "110", "000"] * 2)
    yield "NaiveBayes", sf.NaiveBayes().fit(TABLE, Y)
    yield "LinearDiscriminantAnalysis", sf.LinearDiscriminantAnalysis().fit(X, Y)
    yield "GaussianNB", sf.GaussianNB().fit(X, Y)
    yield "BernoulliNB", sf.BernoulliNB().fit(X > 0, Y)
    yield "MultinomialNB", sf.MultinomialNB().fit(RNG.poisson(2.0, (30, 3)), Y)
    yield "QuadraticDiscriminantAnalysis", sf.QuadraticDiscriminantAnalysis().fit(X, Y)
    yield "BayesClassifier", sf.BayesClassifier(sf.Gamma()).fit(np.exp(X), Y)
    yield "MixtureModel", sf.MixtureModel(sf.Poisson(), 2, random_state=0).fit(TABLE["visits"][:, None])
    yield "Density", sf.Density(sf.infer(TABLE)).fit(TABLE)
    yield "normal belief", sf.posterior(sf.Normal(), X[:, 0], prior="weak")
    yield "gaussian belief", sf.posterior(sf.MultivariateNormal(), X, prior="weak")
    yield "finite belief", sf.posterior(sf.Bernoulli(), [0, 1, 1], prior=sf.Categorical([0.2, 0.7], [0.5, 0.5]))
    yield "gaussian", sf.fit(sf.MultivariateNormal(), X)
    yield "student", sf.fit(sf.StudentT(), X[:, 0], max_iter=5)
    yield "hurdle", sf.fit(sf.HurdleGamma(), np.where(X[:, 0] > 0, X[:, 0], 0.0))
    yield "CategoricalNB", sf.CategoricalNB().fit(RNG.integers(0, 3, (30, 2)), Y)


def write_models(place):
    """A file of each."""
    for name, model in models():
        (place / f"{name}.json").write_bytes(dumps(model))


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_models(place)
    return place


def run(*arguments):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


AUDIT = """
import json, sys
from pathlib import Path
import suffice as sf

paths = sorted(Path(sys.argv[1]).iterdir())
for path in paths:
    sf.load(path)  # what is imported on first need is there now
seen, watching = [], False

def look(event, arguments):
    if watching:
        seen.append([event, repr(arguments)[:200]])

sys.addaudithook(look)
for path in paths:
    watching = str(path)
    sf.load(path)
    watching = False
sys.stdout.write(json.dumps(seen))
"""


def test_reading_a_file_does_nothing_but_read_it(directory, tmp_path):
    script = tmp_path / "audit.py"
    script.write_text(AUDIT)
    seen = run(script, directory)
    opened = {arguments for event, arguments in seen if event == "open"}
    assert len(opened) == len(list(directory.iterdir()))
    assert all(str(directory) in one for one in opened)
    harmless = {"open", "builtins.id", "object.__getattr__"}  # no exec, compile, import, pickle.find_class, os.system …
    arrays = {"ctypes.cdata", "ctypes.cdata/buffer", "ctypes.addressof"}  # for kernels loaded before: no dlopen, dlsym
    assert {event for event, _ in seen} <= harmless | arrays


@pytest.mark.slow
def test_mutated_files_are_refused_or_are_models(directory):
    count = int(os.environ.get("SUFFICE_MUTATIONS", "3000"))
    report = run(Path(__file__).with_name("mutate.py"), directory, count, 7)
    assert not report["bad"], json.dumps(report["bad"][:3])[:3000]
    assert report["refused"] + report["read"] == count
    assert report["refused"] > count / 2
    assert report["read"] > count / 10
    assert report["slowest"] < 2.0
    assert report["megabytes"] < 500
