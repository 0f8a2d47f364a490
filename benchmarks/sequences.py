"""Hidden Markov models against hmmlearn's scaling code: passes of EM, decoding and scoring, of equal answers.

Run ``python -m benchmarks.sequences``. Both take turns in one process; answers are compared before anything is timed.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

import suffice as sf
from benchmarks.turns import absent, agree, duration, peer, repeated, take_turns
from suffice.em.training import TrainingData

CASES = (  # sequences, rows of each, columns, states
    (1, 100_000, 1, 8),
    (1000, 100, 1, 8),
    (1000, 100, 4, 8),
    *((50, 100, 1, k) for k in (2, 4, 6, 8, 10)),
)
ROUNDS = 5
EQUAL = 1e-6


def problem(count: int, length: int, columns: int, k: int) -> tuple[Any, Any, Any]:
    """Rows, their lengths, and a model with parameters to begin from."""
    rng = np.random.default_rng(k)
    means = 2.0 * rng.normal(size=(k, columns))
    emissions = [sf.Normal(m if columns > 1 else float(m[0]), np.ones(columns) if columns > 1 else 1.0) for m in means]
    model = sf.HiddenMarkov(emissions, transitions=0.8 * np.eye(k) + 0.2 / k)
    rows = [np.reshape(model.sample(length, [k, i]), (length, columns)) for i in range(count)]
    return np.concatenate(rows), [length] * count, model


def compare(hmm: Any, count: int, length: int, columns: int, k: int) -> None:
    """Print one line for each question."""
    rows, lengths, model = problem(count, length, columns, k)
    data = sf.sequences(rows, lengths=lengths)
    read = model.read(data)
    training = TrainingData(model.preprocess(read), None)
    theirs = hmm.GaussianHMM(k, covars_prior=0.0, covars_weight=0.0, implementation="scaling")
    theirs.n_features, theirs.startprob_, theirs.transmat_ = columns, model.initial, model.transitions
    theirs.means_ = np.array([np.ravel(one.mean) for one in model.parts])
    theirs.covars_ = np.ones((k, columns))
    first = theirs.startprob_, theirs.transmat_, theirs.means_, theirs._covars_

    def our_pass() -> Any:
        return training.m_step(training.e_step(model))

    def their_pass() -> None:
        theirs.startprob_, theirs.transmat_, theirs.means_, theirs._covars_ = first
        theirs._do_mstep(theirs._do_estep(rows, lengths)[0])  # noqa: SLF001

    tasks = {
        "a pass of EM": (our_pass, their_pass),
        "decode": (lambda: model.decode(data), lambda: theirs.decode(rows, lengths)),
        "score": (lambda: model.log_prob(data), lambda: theirs.score(rows, lengths)),
    }
    their_pass()
    found, width = our_pass(), (k, columns)
    answers = [found.transitions, np.reshape([one.mean for one in found.parts], width)]
    same = agree(answers, [theirs.transmat_, theirs.means_], EQUAL)
    theirs.startprob_, theirs.transmat_, theirs.means_, theirs._covars_ = first
    same = same and agree([np.sum(model.log_prob(data))], [theirs.score(rows, lengths)], EQUAL)
    same = same and bool((model.decode(data) == theirs.decode(rows, lengths)[1]).mean() > 1 - EQUAL)
    print(f"{count} × {length} rows, {columns} columns, {k} states{'' if same else ': ANSWERS DIFFER'}")
    for name, (ours, peers) in tasks.items():
        mine, other = take_turns([repeated(ours), repeated(peers)], ROUNDS)
        print(f"  {name:14} {duration(mine):>9}  hmmlearn {duration(other):>9}  {other / mine:5.1f}×")


def main() -> None:
    """Compare every case."""
    logging.disable(logging.WARNING)
    hmm = peer("hmmlearn.hmm")
    if hmm is not None:
        for case in CASES:
            compare(hmm, *case)
    absent()


if __name__ == "__main__":
    main()
