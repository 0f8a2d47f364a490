"""Write the corpus of model files: `python -m tests.io.make_corpus DIRECTORY`.

The files in `tests/io/corpus` were written by version 0.1.0 before its modules were moved. They are kept, so that later
versions are seen to read them and to give the same answers; run this only to add files of a new kind beside them.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from tests.io.test_corpus import ATTRIBUTES, VERBS, answers, tables
from tests.io.test_files import BELIEFS, COUNTS, ESTIMATORS, FITS, FRAME, KINDS, X

from suffice.io import dumps


def rows():
    """Rows that the models are asked about, as plain data."""
    cells = json.loads(FRAME.head(6).to_json(orient="columns"))
    return {
        "X": X[:6].tolist(),
        "X0": X[:6, 0].tolist(),
        "positive": np.abs(X[:6, 0]).tolist(),
        "counts": COUNTS[:6].tolist(),
        "counts0": COUNTS[:6, 0].tolist(),
        "kinds": KINDS[:6].tolist(),
        "frame": {name: list(column.values()) for name, column in cells.items()},
        "pair": {"x": X[:6, 0].tolist(), "y": np.abs(X[:6, 1]).tolist()},
        "words": ["0001", "0111", "1110"],
    }


def asked(model, data):
    """What a model answers: by itself, and about the first kind of rows that it takes."""
    for verb in ATTRIBUTES:
        found = attempt(model, verb, None)
        if found is not None:
            yield {"rows": None, "verb": verb, "answers": found.tolist()}
    for verb in VERBS:
        for kind, table in tables(data).items():
            found = attempt(model, verb, table)
            if found is not None:
                yield {"rows": kind, "verb": verb, "answers": found.tolist()}
                break


def attempt(model, verb, table):
    """The answer, or None where the model does not take such rows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = answers(model, verb, table)
    except Exception:  # noqa: BLE001 (rows of another kind)
        return None
    return found if found.size and np.isfinite(found).all() else None


def main(place):
    """Write every model and what it answers."""
    data = rows()
    known = {"rows": data, "models": {}}
    groups = {"estimator": {name: model for name, (model, _) in ESTIMATORS.items()}, "fit": FITS, "belief": BELIEFS}
    for group, models in groups.items():
        for name, model in models.items():
            file = f"{group}-{name}.json"
            (place / file).write_bytes(dumps(model))
            known["models"][file] = list(asked(model, data))
    (place / "answers.json").write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
