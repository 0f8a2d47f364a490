"""How often `sf.infer` picks the family that made a column, and what a wrong choice costs.

``python -m benchmarks.families`` draws columns from known families at several numbers of rows. Each line has the share
of the columns for which `infer` chose the family, the loss of the choice in nats a row on 4000 new rows, beside a fit
of the true family to the same rows (mean over all columns, and the largest), and what was chosen instead.

``python -m benchmarks.families thresholds`` does so for other values of the thresholds of `suffice.schema.rules` and
`suffice.schema.scores`, one at a time, at 100 rows: the share and the mean loss over all families.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import suffice as sf
from suffice.schema import rules, scores

SIZES = (30, 100, 1000)
NEW_ROWS = 4000
FAMILIES: dict[str, Callable[[], Any]] = {
    "Normal": lambda: sf.Normal(50.0, 10.0),
    "LogNormal": lambda: sf.LogNormal(1.0, 0.8),
    "Gamma": lambda: sf.Gamma(2.0, 0.3),
    "StudentT": lambda: sf.StudentT(3.0, 0.0, 2.0),
    "Beta": lambda: sf.Beta(2.0, 5.0),
    "Poisson": lambda: sf.Poisson(4.0),
    "NegativeBinomial": lambda: sf.NegativeBinomial(1.5, 0.2),
    "Categorical": lambda: sf.Categorical((1, 2, 3, 4, 5), [0.4, 0.1, 0.05, 0.15, 0.3]),
}

VALUES: tuple[tuple[Any, str, tuple[Any, ...]], ...] = (
    (rules, "EVIDENCE", (1.0, 3.0, 6.0)),
    (rules, "GAIN", ({"Categorical": 0.0, "StudentT": 0.02}, rules.GAIN, {"Categorical": 0.05, "StudentT": 0.2})),
    (rules, "OF_COUNTS", (0.0, rules.OF_COUNTS, 0.1)),
    (scores, "HEAVY", (3.0, scores.HEAVY, 6.0)),
    (scores, "COARSE", (0.005, scores.COARSE, 0.1)),
)


def loss(true: Any, chosen: Any, rows: Any, new: Any) -> float:
    """Nats a row that the chosen family predicts worse than the true one; no row counts for less than −50."""
    scores = []
    for family in (true, chosen):
        found = sf.fit(family, rows, prior="weak" if hasattr(family, "levels") else None).distribution
        scores.append(float(np.mean(np.maximum(found.log_prob(new), -50.0))))
    return scores[0] - scores[1]


def choices(name: str, n: int, repeats: int) -> tuple[Counter[str], list[float]]:
    """What `infer` chose for columns of one family, and the losses."""
    picked: Counter[str] = Counter()
    losses = []
    for seed in range(repeats):
        truth = FAMILIES[name]()
        rows, new = (np.asarray(truth.sample(m, random_state=[seed, m])) for m in (n, NEW_ROWS))
        rows, new = (np.round(one, 4) if one.dtype.kind == "f" else one for one in (rows, new))
        family = sf.infer({"x": rows}).findings[0].family
        chosen = type(family).__name__ if family is not None else "left out"
        picked[chosen] += 1
        losses.append(0.0 if chosen in (name, "left out") else loss(type(truth)(), type(family)(), rows, new))
    return picked, losses


def main(repeats: int = 40) -> None:
    """Print the share of right choices and the loss of the others."""
    sys.stdout.write("family              rows  right  loss  largest  others\n")
    for name in FAMILIES:
        for n in SIZES:
            picked, losses = choices(name, n, repeats)
            others = ", ".join(f"{count} {other}" for other, count in picked.most_common() if other != name)
            right, mean, largest = picked[name] / repeats, np.mean(losses), max(losses)
            sys.stdout.write(f"{name:<18}  {n:4d}  {right:5.2f}  {mean:4.2f}  {largest:7.2f}  {others}\n")


def thresholds(repeats: int = 20, n: int = 100) -> None:
    """Print the same, over all families, where one threshold has another value."""
    sys.stdout.write("threshold                 right   loss\n")
    for module, name, values in VALUES:
        usual = getattr(module, name)
        for value in values:
            setattr(module, name, value)
            try:
                found = [(one, *choices(one, n, repeats)) for one in FAMILIES]
            finally:
                setattr(module, name, usual)
            right = np.mean([picked[one] / repeats for one, picked, _ in found])
            mean = np.mean([losses for _, _, losses in found])
            told = f"{name} = {value}" + (" (as it is)" if value == usual else "")
            sys.stdout.write(f"{told:<58}  {right:5.3f}  {mean:6.4f}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    thresholds() if sys.argv[1:] == ["thresholds"] else main(*map(int, sys.argv[1:]))
