"""Mutated model files, read under limits: run as ``python mutate.py DIRECTORY COUNT SEED``, prints a line of JSON.

Every file of the directory is changed at random, in its bytes or in its structure, and read. Whatever is not a
SufficeError or a model that can be written and asked is printed with the document.
"""

import contextlib
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


def use(model):
    """Ask a model that was read for what it can do without rows, and with a few."""
    data = dumps(model)
    assert dumps(loads(data)) == data
    if hasattr(model, "predict") and hasattr(model, "n_features_in_") and not hasattr(model, "prototype_"):
        with contextlib.suppress(sf.SufficeError, NotFittedError):
            model.predict(np.zeros((2, min(model.n_features_in_, 50))))
    distribution = getattr(model, "distribution", getattr(model, "distribution_", None))
    if distribution is not None and isinstance(distribution, sf.Distribution):
        with contextlib.suppress(sf.SufficeError):
            repr(distribution)
            rows = distribution.sample(3, 0)
            distribution.log_prob(rows)


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
        data = (structure if rng.random() < 0.6 else raw)(documents[name], rng)
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
