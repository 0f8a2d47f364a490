"""Model files of earlier code: each is still read, and answers what it answered when it was written."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import suffice as sf

PLACE = Path(__file__).parent / "corpus"
ATTRIBUTES = ("log_likelihood", "n_parameters", "mean", "log_evidence", "probs")
VERBS = ("predict_proba", "score_samples", "log_prob", "transform")
KNOWN = json.loads((PLACE / "answers.json").read_text())


def tables(data):
    """The rows of the corpus as models take them."""
    return {
        kind: pd.DataFrame(rows) if isinstance(rows, dict) else rows if kind == "words" else np.array(rows)
        for kind, rows in data.items()
    }


def answers(model, verb, table):
    """What a model answers, as a flat array of numbers."""
    found = getattr(model, verb) if table is None else getattr(model, verb)(table)
    found = np.concatenate([np.ravel(one) for one in found.values()]) if isinstance(found, dict) else found
    return np.ravel(np.asarray(found, float))


@pytest.mark.parametrize("file", KNOWN["models"])
def test_a_file_of_earlier_code_gives_the_same_answers(file):
    model = sf.load(PLACE / file)
    rows = tables(KNOWN["rows"])
    assert type(model).__name__ == json.loads((PLACE / file).read_text())["kind"]
    for one in KNOWN["models"][file]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = answers(model, one["verb"], rows.get(one["rows"]))
        digits = 1e-5 if "float32" in file else 1e-10
        np.testing.assert_allclose(found, one["answers"], rtol=digits, atol=digits / 100)


def test_the_corpus_is_whole():
    written = {path.name for path in PLACE.glob("*.json")} - {"answers.json"}
    assert written == set(KNOWN["models"])
    assert len(written) > 50
    assert sum(bool(found) for found in KNOWN["models"].values()) > 60
