"""What cannot be saved, and what is no model file: each is refused with the place and the reason."""

import json
import os
import re
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

import suffice as sf
from suffice import testing
from suffice.io import dumps, loads
from suffice.storage import plain as plain_data

FIT = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), np.random.default_rng(0).normal(size=(50, 2)), random_state=0)
TEXT = dumps(FIT).decode()
X = np.random.default_rng(1).normal(size=(30, 2))


def changed(*changes, of=TEXT):
    """The document with other values at some places, ("distribution.weights.shape", [3])."""
    tree = json.loads(of)
    for path, value in changes:
        node, *steps = tree, *path.split(".")
        for step in steps[:-1]:
            node = node[step]
        if value is KeyError:
            del node[steps[-1]]
        else:
            node[steps[-1]] = value
    return json.dumps(tree).encode()


# ---- saving ---------------------------------------------------------------------------------------------------------
def half(p):
    return 1 + (p > 0.5)


@dataclass(frozen=True, eq=False, repr=False)
class MyNormal(sf.Normal):
    """A family of somebody else."""


def rayleigh():
    return sf.ExponentialFamily(
        lambda x: x**2, lambda x: x, lambda eta: -np.log(-2 * eta), support=(0, np.inf), start=-0.5
    )


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: sf.fit(sf.Bernoulli(), [1, 0, 1], prior=half), r"^prior: it holds the function 'half'.*never code"),
        (lambda: sf.posterior(sf.Bernoulli(), [1, 0], prior=half), "DensityPosterior.*made of Python functions"),
        (rayleigh, "ExponentialFamily cannot be written.*made of Python functions"),
        (lambda: sf.Mixture(rayleigh(), 2), "components: .*made of Python functions"),
        (lambda: MyNormal(0.0, 1.0), "closed set.*MyNormal is none of them"),
        (lambda: sf.GaussianMixture(2, random_state=np.random.RandomState(0)), "random_state is a generator.*seed"),
        (lambda: sf.KMeans(2, init=lambda *_, **__: None), r"params\.init: it holds the function"),
        (lambda: sf.GaussianMixture("two"), "n_components"),
        (lambda: [sf.Normal()], "save takes a model"),
        (lambda: {"a": 1}, "save takes a model"),
        (lambda: 3.0, "save takes a model"),
        (lambda: sf.Normal, "it holds the function 'Normal'"),
        (lambda: sf.Categorical([object(), "a"]), r"levels\[0\]\[0\]: it holds <object.*builtins.object"),
        (lambda: sf.Categorical(["\ud800", "a"]), "not Unicode"),
    ],
)
def test_what_holds_code_or_is_no_model_is_not_saved(model, reason, tmp_path):
    with pytest.raises(sf.ModelFileError, match=reason):
        sf.save(model(), tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_what_would_not_come_back_is_not_written():
    broken = sf.fit(sf.Normal(), [1.0, 2.0])
    object.__setattr__(broken, "statistics", sf.Poisson().suffstats([1, 2]))
    with pytest.raises(sf.ModelFileError, match=r"would not come back from a file .* statistics of Poisson"):
        dumps(broken)


def test_other_estimators_are_refused():
    from sklearn.covariance import OAS
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(sf.ModelFileError, match="LogisticRegression is not one of suffice's estimators"):
        dumps(LogisticRegression())
    model = sf.LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS())
    with pytest.raises(sf.ModelFileError, match=r"^params\.covariance_estimator: .*OAS is not one"):
        dumps(model)


def test_an_attribute_that_the_estimator_does_not_know_is_not_lost_in_silence():
    model = sf.GaussianNB().fit(X, np.arange(30) % 2)
    model.note_ = "mine"
    with pytest.raises(sf.ModelFileError, match="'note_'"):
        dumps(model)


# ---- paths ----------------------------------------------------------------------------------------------------------
def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    sf.save(sf.Normal(1.0, 2.0), path)
    before = path.read_bytes()

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(sf.ModelFileError, match="cannot be written: No space left"):
        sf.save(sf.Normal(3.0, 4.0), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_never_sees_half_a_file(tmp_path):
    path, stop, seen = tmp_path / "model.json", threading.Event(), []
    models = [sf.Normal(np.full(2000, value), 1.0) for value in (1.0, 2.0)]
    sf.save(models[0], path)

    def read():
        while not stop.is_set():
            seen.append(sf.load(path).mean[0])

    reader = threading.Thread(target=read)
    reader.start()
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        for model in models:
            sf.save(model, path)
    stop.set()
    reader.join()
    assert set(seen) == {1.0, 2.0}


def test_places_that_are_no_files(tmp_path):
    with pytest.raises(sf.ModelFileError, match=r"There is no directory .*nowhere; make it first"):
        sf.save(sf.Normal(), tmp_path / "nowhere" / "model.json")
    with pytest.raises(sf.ModelFileError, match="not a file, such as a directory"):
        sf.save(sf.Normal(), tmp_path)
    with pytest.raises(sf.ModelFileError, match="is a directory"):
        sf.load(tmp_path)
    with pytest.raises(sf.ModelFileError, match=r"model\.json cannot be read: No such file"):
        sf.load(tmp_path / "model.json")
    for bad in (3.5, None, "a\x00b", object()):
        with pytest.raises(sf.ModelFileError):
            sf.load(bad)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(sf.ModelFileError, match="loop"):
        sf.load(loop)
    with pytest.raises(sf.ModelFileError, match="loop"):
        sf.save(sf.Normal(), loop)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(sf.ModelFileError, match="no ordinary file"):
        sf.load(pipe)


def test_a_link_stays_a_link_and_modes_stay(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    sf.save(sf.Normal(1.0, 1.0), target)
    target.chmod(0o640)
    link.symlink_to(target)
    sf.save(sf.Normal(2.0, 1.0), str(link))
    assert link.is_symlink()
    assert sf.load(os.fsencode(target)).mean == 2.0
    assert target.stat().st_mode & 0o777 == 0o640


# ---- documents ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b"\x00" * 10, "not JSON"),
        (b"\x80\x04\x95pickle", "not JSON"),
        (TEXT.encode()[:500], "not JSON.*all of it"),
        (TEXT.encode() + b"x", "not JSON.*trailing"),
        (TEXT.replace("Fit", "\udcff").encode("utf-8", "surrogateescape"), "not JSON"),
        (b'{"suffice":"1","kind":"Normal","mean":' + b"9" * 5000 + b"}", "not JSON.*range"),
        (b'{"suffice":"1","kind":"Normal","mean":1e999}', "not JSON.*range"),
        (b'{"suffice":"1","kind":"Normal","mean":NaN}', "not JSON"),
        (b'{"suffice":"1","kind":"Normal","mean":' + b"9" * 400 + b"}", "mean"),
        (b"[" * 100_000, "nested more than 64"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested more than 64"),
        (b"[" * 100 + b"]" * 100, "nested more than 64"),
        (b'{"suffice":"1","kind":"Normal","mean":1.0,"mean":2.0}', "the key 'mean' more than once"),
        (b'{"suffice":"1","kind":"Normal","kind":"Poisson"}', "the key 'kind' more than once"),
        (b'{"suffice":"1","kind":"Normal","me\\u0061n":1.0,"mean":2.0}', "more than once"),
        (b"[]", "not a model file"),
        (b"3", "not a model file"),
        (b'{"kind":"Normal"}', "not a model file"),
        (b'{"suffice":"1"}', "does not say of which kind"),
        (b'{"suffice":1,"kind":"Normal"}', "version 1, and 1 is read here. Is it"),
        (
            b'{"suffice":"2","kind":"Normal"}',
            "version '2', and 1 is read here. It was written by a newer suffice: update",
        ),
        (b'{"suffice":"1","kind":"Gauss"}', "there is no kind 'Gauss'"),
        (b'{"suffice":"1","kind":["Normal"]}', "there is no kind"),
        (b'{"suffice":"1","kind":"builtins.eval"}', "there is no kind"),
        (b'{"suffice":"1","kind":"Normal","mean":1.0,"sigma":2.0}', "Normal has no field 'sigma'"),
        (b'{"suffice":"1","kind":"Sums"}', "Sums is without its 'weight'"),
    ],
)
def test_what_is_no_model_file(data, reason):
    with pytest.raises(sf.ModelFileError, match=reason):
        loads(data)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ([("distribution.weights.array", [0.5, 0.6])], "^distribution: Mixture: weights must be probabilities"),
        (
            [("distribution.weights.shape", [3])],
            r"^distribution\.weights: an array of the shape \[3\] does not have the 2",
        ),
        ([("distribution.weights.shape", [10**9, 10**9])], r"^distribution\.weights: .* does not have the 2 cells"),
        ([("distribution.weights.array", []), ("distribution.weights.shape", [0, 10**12])], r"distribution\.weights: "),
        ([("distribution.weights.dtype", "complex128")], "arrays of the type 'complex128' are not known"),
        ([("distribution.weights.dtype", "<U999999999")], "an array of text holds text"),
        ([("distribution.weights.array", ["0.5", "0.5"])], "not all of the type float64"),
        (
            [("distribution.components.cov.array", [1.0, 2.0, 2.0, 1.0] * 2)],
            r"^distribution\.components: .*positive definite",
        ),
        (
            [("distribution.components.mean.array", ["nan"] * 4)],
            r"^distribution\.components: .*mean must be a vector of fin",
        ),
        ([("distribution.components.structure", "wide")], "structure must be one of"),
        ([("distribution.components.structure", ["full"])], r"distribution\.components\.structure: .*is text"),
        ([("distribution.hard", 1)], r"^distribution\.hard: 'hard' of Mixture is true or false; got int 1"),
        ([("statistics.count.array", [-1.0, 51.0])], "^statistics: count of Joint has a number below 0"),
        ([("statistics.count.array", ["nan", 51.0])], "^statistics: count of Joint has a number that is none"),
        (
            [("statistics.components.weight.array", [1.0]), ("statistics.components.weight.shape", [1])],
            r"^statistics\.components",
        ),
        ([("statistics.family", "Poisson")], "cannot use the statistics of Poisson"),
        ([("statistics", None)], "statistics were expected"),
        (
            [("statistics.components", {"kind": "Normal", "mean": 0.0, "std": 1.0})],
            "components of a Joint are statistics",
        ),
        ([("trace", {"float": "nan"})], "^trace: 'trace' of Fit is a Trace; got float"),
        ([("trace.passes", -1)], "^trace: the number of passes"),
        ([("alerts", [["a", "b", "c"]])], "^alerts: .*pairs of a code and a text"),
        ([("n", -3.0)], "numbers of rows are at least 0"),
        ([("n", "many")], "^n: 'n' of Fit is a number"),
        ([("n", KeyError)], "Fit is without its 'n'"),
        ([("_data", [1, 2])], "Fit has no field '_data'"),
        ([("distribution", {"float": "Infinity"})], "one of nan, inf, -inf"),
        ([("distribution", {"eval": "1+1"})], "'eval', which mean nothing together"),
        ([("distribution", {"list": 3})], "is an array of JSON"),
        ([("distribution", {"dict": [[1, 2, 3]]})], "a key and a value"),
        ([("distribution", {"dict": [[{"list": []}, 2]]})], "is a label"),
        ([("distribution", {"date": "today"})], "is not a valid date"),
        ([("distribution", {"datetime": "2026-01-01"})], "is not a valid datetime"),
        ([("distribution", {"scalar": "now", "dtype": "datetime64[s]"})], "a date was expected"),
        ([("distribution", {"scalar": 300, "dtype": "uint8"})], "too large"),
        ([("distribution", {"scalar": 0.1, "dtype": "float32"})], "more digits"),
        ([("distribution", {"bytes": "zz"})], "is not a valid bytes"),
    ],
)
def test_the_place_of_a_mistake_is_reported(changes, reason):
    with pytest.raises(sf.ModelFileError, match=reason):
        loads(changed(*changes))


def test_levels_and_classes_are_checked():
    labels = dumps(sf.fit(sf.Categorical(), ["a", "b", "b"])).decode()
    for change, reason in (
        ([("distribution.levels", [["a", "a"]])], "levels are different labels"),
        ([("distribution.levels", [["a", None]])], "none of them missing"),
        ([("distribution.levels", [["a", "b", "c"]])], "2 probabilities for 3 levels"),
        ([("statistics.levels", [["a", "b", "c"]])], "^statistics: there are 3 levels, and counts of 2"),
        ([("statistics.levels", ["ab", "c"])], r"^statistics\.levels: .*a list of lists"),
        ([("statistics.levels", [[["a", {"list": []}], "b"]])], "unhashable"),
    ):
        with pytest.raises(sf.ModelFileError, match=reason):
            loads(changed(*change, of=labels))
    table = dumps(sf.fit(sf.Product({"a": sf.Normal(), "b": sf.Poisson()}), {"a": [1.5, 2.5], "b": [1, 2]})).decode()
    with pytest.raises(sf.ModelFileError, match=r"the block \(1, 3\) has 1 columns"):
        loads(changed(("distribution.parts", [["a", {"kind": "Normal"}], [[1, 3], {"kind": "Poisson"}]]), of=table))
    model = sf.GaussianNB().fit(X, np.arange(30) % 2)
    document = dumps(model).decode()
    for change, reason in (
        ([("learned.classes_.array", [0, 2])], "name the same labels"),
        ([("learned.n_features_in_", 7)], "2 columns, and not 7"),
        ([("learned.statistics_", KeyError)], "without its 'statistics_'"),
        ([("learned.coef_", 1)], "GaussianNB has no 'coef_'"),
        ([("params.var_smoothing", -1)], "var_smoothing"),
        ([("params.shape", 1)], "GaussianNB has no 'shape'"),
    ):
        with pytest.raises(sf.ModelFileError, match=reason):
            loads(changed(*change, of=document))


def test_too_large_a_file_is_not_read(tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(300 * 1024 * 1024)  # nothing but room
    before = time.process_time()
    with pytest.raises(sf.ModelFileError, match=r"268,435,456 are read\. Raise limit="):
        sf.load(path)
    path.write_bytes(b"[" * 30_000_000)
    with pytest.raises(sf.ModelFileError, match="nested more than 64"):
        sf.load(path)
    assert time.process_time() - before < 5
    small = dumps(sf.Normal())
    with pytest.raises(sf.ModelFileError, match=re.escape("and at most 10 are read")):
        loads(small, limit=10)
    assert loads(small, limit=len(small)) == sf.Normal()


def test_documents_that_are_made_to_take_long_are_refused_at_once():
    before = time.perf_counter()
    alike = [k * (2**61 - 1) for k in range(16, 60_000)]  # one hash
    levels = {"suffice": "1", "kind": "Categorical", "levels": [alike], "probs": None}
    with pytest.raises(sf.ModelFileError, match=r"levels\[0\]: there are more than 1000 whole numbers beyond 64 bits"):
        loads(json.dumps(levels))
    parts = [[f"c{i}", {"kind": "Normal"}] for i in range(5000)]
    with pytest.raises(sf.ModelFileError, match="column 'c4999' stands in two parts"):
        loads(json.dumps({"suffice": "1", "kind": "Product", "parts": [*parts, parts[-1]]}))
    pairs = [[i % 9999, None] for i in range(10_000)]
    with pytest.raises(sf.ModelFileError, match="the key 0 of a dictionary is there twice"):
        loads(json.dumps({"suffice": "1", "kind": "Product", "parts": {"dict": pairs}}))
    assert time.perf_counter() - before < 10


def test_loads_takes_text_too_and_nothing_else():
    assert loads(dumps(sf.Normal()).decode()) == sf.Normal()
    assert loads(bytearray(dumps(sf.Normal()))) == sf.Normal()
    with pytest.raises(sf.ModelFileError, match=r"use sf\.load"):
        loads(None)
    with pytest.raises(sf.ModelFileError, match="not JSON"):
        loads("\ud800")


def test_the_law_of_files_can_be_broken(monkeypatch):
    (law,) = [entry for entry in testing.laws() if entry.name == "JSON round-trips bitwise"]
    whole = plain_data._cells
    monkeypatch.setattr(plain_data, "_cells", lambda *given: [round(one, 12) for one in whole(*given)])
    with pytest.raises(testing.LawBroken, match="from a file it is another value"):
        law.function(sf.Normal([1 / 3, 2 / 3], 1.0), np.random.default_rng(0))
