"""A fit that is killed goes on where it was, and ends in bitwise the same result."""

import datetime as dt
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import suffice as sf
from suffice.em.checkpoint import digest
from suffice.em.checkpoint_encoding import decoded, encoded, functions_of

SCRIPT = """
import os, signal, sys
import numpy as np, suffice as sf
path, kill = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
x = np.r_[rng.normal(0, 1, (200, 3)), rng.normal(1.2, 1.5, (200, 3))]
x[rng.random(x.shape) < 0.02] = np.nan

def stop(one):
    if one.number == kill:
        os.kill(os.getpid(), signal.SIGKILL)

kept = {"checkpoint": path, "resume": True} if path else {}
table = {"a": x[:, 0], "b": x[:, 1], "k": np.where(np.isnan(x[:, 2]), None, np.where(x[:, 2] > 0.6, "hi", "lo"))}
proto = sf.Mixture(sf.Product({("a", "b"): sf.StudentT(), "k": sf.Categorical()}), 3)
fit = sf.fit(proto, table, random_state=3, n_init=2, max_iter=25, callback=stop, prior=None, **kept)
one = fit.distribution
student, labels = one.components.blocks.values()
print(*(np.asarray(value).tobytes().hex() for value in (one.weights, student.loc, student.scale, student.df)))
print(labels.probs.tobytes().hex(), fit.log_likelihood.hex(), fit.n_iter, fit.alerts)
"""


def run(path: str, kill: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 (this test's own words)
        [sys.executable, "-c", SCRIPT, path, str(kill)], capture_output=True, text=True, check=False, env=os.environ
    )


def test_a_killed_fit_ends_as_if_it_had_not_been_killed(tmp_path):
    path = tmp_path / "fit.json"
    whole = run("", 0)
    assert whole.returncode == 0, whole.stderr
    for kill in (7, 19):
        assert run(str(path), kill).returncode == -signal.SIGKILL
        assert path.exists()
    again = run(str(path), 0)
    assert again.stdout == whole.stdout
    assert not path.exists()


def rows(seed=0):
    rng = np.random.default_rng(seed)
    return np.r_[rng.normal(0, 1, 300), rng.normal(2, 1.3, 300)]


def interrupted(path, x, **options):
    """Leave a checkpoint behind."""

    def stop(one):
        if one.number == 2:
            raise KeyboardInterrupt

    found = sf.fit(sf.Mixture(sf.Normal(), 2), x, callback=stop, checkpoint=path, **{"random_state": 1, **options})
    assert path.exists()
    return found


def test_an_interrupted_fit_leaves_its_checkpoint_and_goes_on(tmp_path):
    path, x = tmp_path / "fit.json", rows()
    assert "not converged" in dict(interrupted(path, x).alerts)
    whole = sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=1)
    again = sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=1, checkpoint=path, resume=True)
    assert again == whole
    assert again.n_iter == whole.n_iter
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"random_state": 2}, "random_state"),
        ({"tol": 1e-3}, "tol"),
        ({"prior": "weak"}, "prior"),
        ({"max_iter": 7}, "max_iter"),
        ({"start": "random"}, "start"),
        ({"data": rows(1)}, "data"),
        ({"prototype": sf.Mixture(sf.Normal(), 3)}, "prototype"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(tmp_path, change, word):
    path, x = tmp_path / "fit.json", rows()
    interrupted(path, x)
    asked = {"prototype": sf.Mixture(sf.Normal(), 2), "data": x, "random_state": 1, **change}
    with pytest.raises(sf.ParameterError, match=f"differs in {word}"):
        sf.fit(asked.pop("prototype"), asked.pop("data"), checkpoint=path, resume=True, **asked)
    assert path.exists()


def test_an_unfinished_fit_is_not_overwritten(tmp_path):
    path, x = tmp_path / "fit.json", rows()
    interrupted(path, x)
    with pytest.raises(sf.ParameterError, match="resume=True"):
        sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=1, checkpoint=path)


def test_what_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "fit.json"
    for text in ("", "{}", '{"format": "other"}', "[1]"):
        path.write_text(text)
        with pytest.raises(sf.DataError, match="not a checkpoint"):
            sf.fit(sf.Mixture(sf.Normal(), 2), rows(), checkpoint=path, resume=True)
    with pytest.raises(sf.ParameterError, match="no directory"):
        sf.fit(sf.Mixture(sf.Normal(), 2), rows(), checkpoint=tmp_path / "none" / "fit.json")


def test_a_file_names_no_class_but_values(tmp_path):
    path = tmp_path / "fit.json"
    interrupted(path, rows())
    text = path.read_text().replace("suffice.em.training.Iterate", "pathlib.Path")
    assert "pathlib.Path" in text
    path.write_text(text)
    with pytest.raises(sf.DataError, match="cannot be read"):
        sf.fit(sf.Mixture(sf.Normal(), 2), rows(), random_state=1, checkpoint=path, resume=True)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -0.0, float("inf"), "ü", [1, (2.5, "a")], {"a": {1, 2}, ("b", 1): frozenset({"x"})},
        np.float32(0.1), np.datetime64("2024-01-02"), dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, 4, tzinfo=dt.UTC),
        sf.Normal([0.1, 0.2], [1.0, 2.0]), sf.Mixture([sf.Normal(0, 1), sf.Poisson(3.0)]),
        sf.Categorical(("a", "c", 3), [0.2, 0.3, 0.5]), sf.Normal().suffstats([1.0, 2.5]),
    ],
)  # fmt: skip
def test_values_come_back_as_they_were(value):
    again = decoded(json.loads(json.dumps(encoded(value))))
    assert type(again) is type(value)
    assert again == value


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.array([np.nan, -0.0, np.inf]),
        np.broadcast_to(np.arange(3.0), (4, 3)), np.array(["a", None], dtype=object), np.zeros((0, 3)),
        np.array(["2024-01-01"], "M8[D]"), np.arange(4, dtype=">i4"), np.array(1.5),
    ],
)  # fmt: skip
def test_arrays_keep_their_bits_and_their_layout(array):
    again = decoded(json.loads(json.dumps(encoded(array))))
    assert again.dtype == array.dtype.newbyteorder("=")
    assert again.shape == array.shape
    assert again.tolist() == array.tolist() or np.array_equal(again, array, equal_nan=True)
    assert np.signbit(again[1]) if array.dtype == float and array.size == 3 and array.ndim == 1 else True
    assert not array.size or [s == 0 for s in again.strides] == [s == 0 for s in array.strides]
    assert again.flags.f_contiguous == array.flags.f_contiguous


NONE = {"frozenset": []}
FIELDS = [["fixed", NONE], ["tied", NONE], ["mean", 0.5], ["std", 2.0], ["batch", {"tuple": []}]]
HALF = {"dtype": "<f4", "shape": [], "repeated": [], "turned": False, "locked": False, "bytes": "AAAAPw=="}
FORMS = [
    ((1, [2.5, None]), {"tuple": [1, {"list": [2.5, None]}]}),
    ({"a": {2, 1}, ("b", 1): frozenset()}, {"dict": [["a", {"set": [1, 2]}], [{"tuple": ["b", 1]}, NONE]]}),
    (dt.date(2024, 1, 2), {"date": "2024-01-02"}),
    (np.float32(0.5), {"number": HALF}),
    (np.array([["a", None]], dtype=object), {"array": {"shape": [1, 2], "cells": ["a", None]}}),
    (sf.Normal(0.5, 2.0), {"value": "suffice.distributions.normal.Normal", "fields": {"dict": FIELDS}}),
]


@pytest.mark.parametrize(("value", "form"), FORMS)
def test_checkpoints_keep_their_form(value, form):
    assert encoded(value) == form


@pytest.mark.parametrize(
    "text", ["[1]", "{}", '{"dict": [[1, 2], [1, 3]]}', '{"date": "now"}', '{"value": "builtins.object", "fields": {}}']
)
def test_what_no_checkpoint_holds_is_refused(text):
    with pytest.raises((LookupError, StopIteration, TypeError, ValueError)):
        decoded(json.loads(text))


def test_a_function_is_written_by_its_place():
    bell = np.sqrt(2 * np.pi)
    family = sf.ExponentialFamily(lambda x: x, lambda x: np.exp(-(x**2) / 2) / bell, lambda eta: eta**2 / 2, start=0.0)
    functions = functions_of(family)
    again = decoded(json.loads(json.dumps(encoded(family, functions))), functions)
    assert again.log_prob([1.0, 2.0]).tolist() == family.log_prob([1.0, 2.0]).tolist()
    with pytest.raises(sf.UnsupportedError, match="cannot hold"):
        encoded(lambda: None)


def test_a_full_disk_is_reported(tmp_path, monkeypatch):
    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(sf.DataError, match="No space left"):
        sf.fit(sf.Mixture(sf.Normal(), 2), rows(), random_state=1, checkpoint=tmp_path / "fit.json")
    assert list(tmp_path.iterdir()) == []


ODD = (None, 0, -1, 1e308, "a", [], {}, {"list": []}, {"dict": []}, {"tuple": [1]}, {"function": 3}, [[]], True)


def mutated(held, rng):
    """A document in which one value is another."""
    places = []

    def walk(node):
        for key, one in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(one, (dict, list)):
                walk(one)

    walk(held["state"])
    node, key = places[rng.integers(len(places))]
    if rng.random() < 0.5:
        node[key] = ODD[rng.integers(len(ODD))]
    else:
        other, its = places[rng.integers(len(places))]
        node[key] = json.loads(json.dumps(other[its]))
    return held


def test_a_changed_byte_is_refused_and_gives_no_other_result(tmp_path):
    path, rng = tmp_path / "fit.json", np.random.default_rng(0)
    interrupted(path, rows())
    good = path.read_bytes()
    for place in rng.choice(len(good), 30, replace=False):
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        with pytest.raises(sf.SufficeError, match=r"fit\.json"):
            sf.fit(sf.Mixture(sf.Normal(), 2), rows(), random_state=1, checkpoint=path, resume=True)
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(sf.DataError, match="not a checkpoint"):
        sf.fit(sf.Mixture(sf.Normal(), 2), rows(), random_state=1, checkpoint=path, resume=True)


def test_states_that_no_fit_kept_are_refused(tmp_path):
    path, rng = tmp_path / "fit.json", np.random.default_rng(1)
    interrupted(path, rows(), n_init=2)
    good, refused = path.read_text(), 0
    for _ in range(40):
        held = mutated(json.loads(good), rng)
        held["digest"] = digest(held["asked"], held["state"])  # as someone would who wants it to be read
        path.write_text(json.dumps(held))
        try:
            sf.fit(*(sf.Mixture(sf.Normal(), 2), rows()), n_init=2, random_state=1, checkpoint=path, resume=True)
        except sf.SufficeError:
            refused += 1
    assert refused > 15


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": "suffice checkpoint", "version": 2, "asked": 3}'])
def test_documents_that_are_no_states_are_refused(tmp_path, text):
    path = tmp_path / "fit.json"
    path.write_text(text)
    with pytest.raises(sf.DataError, match=r"fit\.json"):
        sf.fit(sf.Mixture(sf.Normal(), 2), rows(), checkpoint=path, resume=True)


def test_a_directory_is_no_checkpoint(tmp_path):
    with pytest.raises(sf.DataError, match="cannot be read"):
        sf.fit(sf.Mixture(sf.Normal(), 2), rows(), checkpoint=tmp_path, resume=True)


def test_what_a_callback_raises_is_its_own_after_a_resume(tmp_path):
    path = tmp_path / "fit.json"
    interrupted(path, rows())

    def fail(one):
        raise ValueError(one.number)

    with pytest.raises(ValueError, match=r"^\d+$"):
        sf.fit(sf.Mixture(sf.Normal(), 2), rows(), random_state=1, checkpoint=path, resume=True, callback=fail)
    assert path.exists()


def test_what_was_written_aside_by_a_killed_run_is_removed_at_the_end(tmp_path):
    path = tmp_path / "fit.json"
    interrupted(path, rows())
    (tmp_path / "fit.json.4711.tmp").write_text("half a st")
    (tmp_path / "fit.json.mine.tmp").write_text("another's")
    sf.fit(sf.Mixture(sf.Normal(), 2), rows(), random_state=1, checkpoint=path, resume=True)
    assert [one.name for one in tmp_path.iterdir()] == ["fit.json.mine.tmp"]
