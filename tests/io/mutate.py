"""Mutated model files, read under limits: run as ``python mutate.py DIRECTORY COUNT SEED``, prints a line of JSON.

Every file of the directory is changed at random, in its bytes, its structure or its numbers, and read; what can be read
is printed, asked and sampled. Whatever is not a SufficeError or a model that answers is printed with the document.
``python -m tests.search --files COUNT`` does the same with the models of test_safety.py.
"""

import copy
import json
import random
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import NotFittedError

import suffice as sf
from suffice.io import dumps, loads

ODD = [
    *(0, 1, -1, 2, 3, 7, 10**9, 10**18, -(2**63), 2**64, 10**40, 0.5, -0.5, 1e308, -1e308, 5e-324, 1e-300, -0.0),
    *(
        "nan",
        "inf",
        "-inf",
        "",
        "a",
        "float64",
        "object",
        "<U9",
        "<U99999999",
        "int64",
        "Normal",
        "Fit",
        "weak",
        "full",
    ),
    *(None, True, False, [], {}, [[]], [None], {"float": "nan"}, {"float": "inf"}, {"list": []}, {"dict": []}),
    *({"set": ["mean"]}, {"kind": "Normal"}, {"kind": "Normal", "mean": 0.0, "std": 1.0}, {"kind": "Poisson"}),
    {"array": [], "dtype": "float64", "shape": [0]},
    {"array": [], "dtype": "float64", "shape": [0, 60000]},
    {"array": [1.0], "dtype": "float64", "shape": [1, 1, 1]},
    {"array": [1.0], "dtype": "float64", "shape": [10**9]},
    {"scalar": 1.0, "dtype": "float64"},
]


def places(tree, found):
    """Every (container, key) of a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, one in items:
        found.append((tree, key))
        if isinstance(one, (dict, list)):
            places(one, found)
    return found


def structure(text, rng):
    """A document with one to three changes of its structure."""
    tree = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        spots = places(tree, [])
        if not spots:
            break
        node, key = rng.choice(spots)
        other, its = rng.choice(spots)
        what = rng.randrange(8)
        if what < 3:
            node[key] = copy.deepcopy(rng.choice(ODD))
        elif what == 3:
            node[key] = copy.deepcopy(other[its])
        elif what == 4:
            node[key], other[its] = copy.deepcopy(other[its]), copy.deepcopy(node[key])
        elif what == 5:
            del node[key]
        elif what == 6 and isinstance(node, list):
            node.insert(key, copy.deepcopy(rng.choice((node[key], other[its]))))
        elif isinstance(node[key], (int, float)) and not isinstance(node[key], bool):
            node[key] = rng.choice((-node[key], node[key] + 1, node[key] * 1e6, node[key] * 1e-9, node[key] // 2))
        else:
            node[str(key) if isinstance(node, dict) else key] = copy.deepcopy(rng.choice(ODD))
    return json.dumps(tree).encode()


FACTORS = (-1.0, 0.0, 0.5, 1.5, 2.0, 1e-9, 1e6, 1e-200, 1e200)


def numbers(text, rng):
    """A document with one to three of its numbers changed: most such files are read."""
    tree = json.loads(text)
    spots = [
        (node, key)
        for node, key in places(tree, [])
        if isinstance(node[key], (int, float)) and not isinstance(node[key], bool)
    ]
    for _ in range(rng.choice((1, 1, 2, 3)) if spots else 0):
        node, key = rng.choice(spots)
        old = node[key]
        if isinstance(old, int):
            node[key] = old + rng.choice((-2, -1, 1, 2, 10)) if rng.random() < 0.8 else 10**9
        else:
            node[key] = rng.choice((*(old * factor for factor in FACTORS), old + 1.0, 0.0, 1.0, 1e-300))
    return json.dumps(tree).encode()


def raw(text, rng):
    """A document with some of its bytes changed."""
    data = bytearray(text)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) or 1)
        size = rng.choice((1, 1, 2, 8, 50))
        what = rng.randrange(5)
        if what == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif what == 1:
            del data[at : at + size]
        elif what == 2:
            data[at:at] = data[at : at + size]
        elif what == 3:
            data[at : at + 1] = rng.choice(b'0123456789-+.eE{}[],:"\\ntfau \x00').to_bytes(1, "big")
        else:
            to = rng.randrange(len(data) or 1)
            data[at : at + size] = data[to : to + size]
    return bytes(data)


WITHOUT_ARGUMENTS = (  # what there is to ask of fits, distributions, posteriors, selections and estimators
    *("summary", "estimates", "summarize", "entropy", "quantiles", "predictive", "interval", "estimate", "to_sklearn"),
    *("natural", "with_class_column", "mode"),
)
VALUES = (
    *("params", "mean", "std", "var", "cov", "mode", "bic", "icl", "standard_errors", "n_parameters", "evidence"),
    *("log_evidence", "best", "table", "alerts", "alerts_", "weights_", "statistic"),
)


def questions(model):
    """What a model is asked, each as a call: to print it, and for what it can do without rows, and with a few."""
    yield lambda: str(model)
    yield lambda: repr(model)
    for name in VALUES:
        if hasattr(type(model), name) and not callable(getattr(type(model), name)):
            yield lambda name=name: getattr(model, name, None)
    for name in WITHOUT_ARGUMENTS:
        if callable(getattr(model, name, None)):
            yield getattr(model, name)
    columns = getattr(model, "n_features_in_", None)
    if columns is not None and not hasattr(model, "prototype_"):
        rows = np.zeros((2, min(columns, 50)))
        for name in ("predict", "predict_proba", "score_samples", "transform"):
            if callable(getattr(model, name, None)):
                yield lambda name=name: getattr(model, name)(rows)
    if isinstance(model, sf.Distribution):
        yield lambda: model.log_prob(model.sample(3, 0))
        yield lambda: model.quantile(0.3)
    elif callable(getattr(model, "sample", None)):
        yield lambda: model.sample(2)


def use(model):
    """Write a model that was read again, and ask it and what it holds: only suffice's errors may come out."""
    data = dumps(model)
    assert dumps(loads(data)) == data
    inner = [getattr(model, name, None) for name in ("distribution", "distribution_", "belief", "best", "prior")]
    for one in [model, *(one for one in inner if one is not None and not callable(one))]:
        for ask in questions(one):
            try:
                ask()
            except (sf.SufficeError, NotFittedError):
                pass
            except TypeError as error:
                if "required positional argument" not in str(error):
                    raise


def main(directory, count, seed):
    rng = random.Random(seed)  # noqa: S311 (changes, not secrets)
    documents = {path.name: path.read_bytes() for path in sorted(Path(directory).iterdir())}
    for one in documents.values():
        use(loads(one))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = {"refused": 0, "read": 0, "slowest": 0.0, "bad": []}
    names = list(documents)
    for number in range(count):
        name = names[number % len(names)]
        data = rng.choice((structure, structure, numbers, numbers, raw))(documents[name], rng)
        begun = time.process_time()  # a process that has to wait for others is not slow
        try:
            model = loads(data)
        except sf.SufficeError:
            report["refused"] += 1
        except BaseException as error:  # noqa: BLE001 (it is what is looked for)
            report["bad"].append([name, f"{type(error).__name__}: {error}", data.decode("latin-1")])
        else:
            report["read"] += 1
            try:
                use(model)
            except BaseException as error:  # noqa: BLE001
                report["bad"].append([name, f"use: {type(error).__name__}: {error}", data.decode("latin-1")])
        took = time.process_time() - begun
        if took > 2:
            report["bad"].append([name, f"{took:.1f} s", data.decode("latin-1")])
        report["slowest"] = max(report["slowest"], took)
    report["megabytes"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    report["bad"] = report["bad"][:40]
    return report


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sys.stdout.write(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))) + "\n")
