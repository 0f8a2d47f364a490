"""BIC tables of `sf.select` beside those of mclust, cell by cell: ``python -m benchmarks.mclust``.

R with mclust runs on data sets of R and of some of its packages (those that are installed), and `sf.select` on the same
rows. Cells are -BIC = 2 log L - p log n, as mclust defines it. Each cell that is worse than mclust's by more than 0.5
is followed by an EM run from mclust's responsibilities, and by how `suffice` ranks its end: "spurious" where its
components are degenerate or explained by chance, so that ours is kept, and "missed" where ours should have found it.

Options: ``--data iris swiss``, ``--structures EEE VVV``, ``--sizes 2 3 4``, ``--seed 1``. Without Rscript or mclust it
says so and ends.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import suffice as sf
from suffice.em.restarts import robust_objective_of

DATA = {  # what R evaluates to a matrix; those of packages that are not installed are skipped
    "iris": "iris[, -5]",
    "faithful": "faithful",
    "thyroid": "{data(thyroid, package = 'mclust'); thyroid[, -1]}",
    "diabetes": "{data(diabetes, package = 'mclust'); diabetes[, -1]}",
    "banknote": "{data(banknote, package = 'mclust'); banknote[, -1]}",
    "swiss": "swiss",
    "mtcars": "mtcars[, c('mpg', 'disp', 'hp', 'drat', 'wt', 'qsec')]",
    "trees": "trees",
    "rock": "rock",
    "savings": "LifeCycleSavings",
    "state": "state.x77",
    "arrests": "USArrests",
    "stackloss": "stackloss",
    "quakes": "quakes[, 1:4]",
    "wreath": "{data(wreath, package = 'mclust'); wreath}",
    "chevron": "{data(chevron, package = 'mclust'); chevron[, -1]}",
    "cross": "{data(cross, package = 'mclust'); cross[, -1]}",
    "gvhd": "{data(GvHD, package = 'mclust'); GvHD.control[seq(1, nrow(GvHD.control), 12), ]}",
    "crabs": "MASS::crabs[, 4:8]",
    "logcrabs": "log(MASS::crabs[, 4:8])",
    "glass": "{data(Glass, package = 'mlbench'); unique(Glass[, -10])}",
    "vehicle": "{data(Vehicle, package = 'mlbench'); Vehicle[, -19]}",
}
STRUCTURES = ("EEI", "VVI", "EEE", "VEV", "VVV")
SIZES = (1, 2, 3, 4, 5)
EQUAL = 0.5  # of -BIC
SCRIPT = """
suppressWarnings(suppressMessages(library(mclust)))
given <- commandArgs(trailingOnly = TRUE)
x <- as.matrix({expression})
write.table(x, "rows.csv", sep = ",", row.names = FALSE, col.names = FALSE)
names <- strsplit(given[1], ",")[[1]]; sizes <- as.integer(strsplit(given[2], ",")[[1]])
table <- mclustBIC(x, G = sizes, modelNames = names, verbose = FALSE)
cells <- file("cells.csv", "w")
for (s in names) for (k in sizes) {{
  value <- table[as.character(k), s]
  if (is.na(value)) next
  cat(s, k, format(value, digits = 15), sep = ",", file = cells); cat("\\n", file = cells)
  z <- Mclust(x, G = k, modelNames = s, x = table, verbose = FALSE)$z
  write.table(z, sprintf("z_%s_%d.csv", s, k), sep = ",", row.names = FALSE, col.names = FALSE)
}}
close(cells)
"""


def run_mclust(expression: str, structures: list[str], sizes: list[int], folder: Path) -> str | None:
    """Write mclust's table and responsibilities into the folder; what went wrong, or None."""
    script = folder / "run.R"
    script.write_text(SCRIPT.format(expression=expression))
    command = ["Rscript", str(script), ",".join(structures), ",".join(map(str, sizes))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 (our script)
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed"])[-1]


def compare(name: str, folder: Path, structures: list[str], sizes: list[int], seed: int) -> list[int]:
    """Print the comparison of one data set; how many cells are better, equal, spurious there, missed, or not there."""
    x = np.loadtxt(folder / "rows.csv", delimiter=",")
    with (folder / "cells.csv").open() as file:
        theirs = {(s, int(k)): float(value) for s, k, value in csv.reader(file)}
    clock = time.process_time()
    found = sf.select(
        sf.MultivariateNormal(), x, n_components=sizes, structures=structures, random_state=seed, n_jobs=1
    )
    seconds = time.process_time() - clock
    ours = {(row["structure"], row["n_components"]): fit for row, fit in zip(found.table, found.fits, strict=True)}
    counts, lines = [0] * 5, []
    for cell, fit in sorted(ours.items()):
        if cell not in theirs:
            counts[4] += 1
            continue
        gain = -fit.bic - theirs[cell]
        if abs(gain) <= EQUAL or gain > 0:
            counts[int(gain <= EQUAL)] += 1
            continue
        spurious, line = judge(x, cell, fit, np.loadtxt(folder / f"z_{cell[0]}_{cell[1]}.csv", delimiter=",", ndmin=2))
        counts[2 if spurious else 3] += 1
        lines.append(f"    {cell[0]} {cell[1]}: ours {-fit.bic:.2f}, mclust {theirs[cell]:.2f}; {line}")
    print(f"{name} {x.shape}: {_said(counts)}; {seconds:.0f} s of CPU", *lines, sep="\n", flush=True)
    return counts


def judge(x: np.ndarray, cell: tuple[str, int], ours: Any, z: np.ndarray) -> tuple[bool, str]:
    """Whether the end of an EM run from mclust's responsibilities is ranked below ours, and what it looks like."""
    structure, k = cell
    there = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=structure), k), x, start=z, random_state=0)
    spurious = bool(there.distribution.is_spurious(there.statistics)) and robust_objective_of(
        there
    ) <= robust_objective_of(ours)
    sizes = np.sort(np.bincount(z.argmax(axis=1), minlength=k))
    return spurious, (
        f"{'spurious' if spurious else 'missed'}: {', '.join(map(str, sizes))} rows, from there {-there.bic:.2f}, "
        f"log L {there.log_likelihood:.2f}, "
        f"{there.log_likelihood - robust_objective_of(there):.2f} of it discounted; ours "
        f"{ours.log_likelihood:.2f}, {ours.log_likelihood - robust_objective_of(ours):.2f}"
    )


def _said(counts: list[int]) -> str:
    words = ("better", "equal", "worse than a spurious one", "worse", "that mclust has not")
    return ", ".join(f"{count} {word}" for count, word in zip(counts, words, strict=True))


def main(arguments: list[str] | None = None) -> None:
    """Compare the tables of all data sets, or of those that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mclust")
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--structures", nargs="+", default=list(STRUCTURES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    if shutil.which("Rscript") is None:
        print("Rscript is not installed; nothing to compare with. Debian: apt-get install r-base-core r-cran-mclust")
        return
    total = np.zeros(5, int)
    for name in asked.data:
        with tempfile.TemporaryDirectory() as folder:
            failed = run_mclust(DATA[name], asked.structures, asked.sizes, Path(folder))
            if failed is not None:
                print(f"{name} is skipped: R says {failed}", flush=True)
                continue
            total += compare(name, Path(folder), asked.structures, asked.sizes, asked.seed)
    print(f"all: {_said(total.tolist())}")


if __name__ == "__main__":
    main(sys.argv[1:])
