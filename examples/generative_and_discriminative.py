"""A generative classifier and discriminative ones, where its assumption holds and where it does not."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import suffice as sf


def gaussian(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussians that share one covariance: the linear discriminant is the truth."""
    y = np.repeat([0, 1], n // 2)
    mixing = np.eye(d) + rng.normal(size=(d, d)) / np.sqrt(d)
    return (rng.normal(size=(n, d)) + 2 / np.sqrt(d) * y[:, None]) @ mixing.T, y


def waiting_times(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Exponential columns, half of them slower in one class: not Gaussian, yet the log-odds are linear."""
    y = np.repeat([0, 1], n // 2)
    slower = np.where(np.arange(d) < d // 2, 2.2, 1.0)
    return rng.exponential(size=(n, d)) * np.where(y[:, None] == 1, slower, 1.0), y


def plane(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two round classes in the plane, and a few rows of one that lie far behind it."""
    y = np.repeat([0, 1], n // 2)
    x = rng.normal(size=(n, 2)) + 1.5 * y[:, None]
    return x + 9 * ((rng.random(n) < 0.04) & (y == 1))[:, None] * [1.0, 0.2], y


def main(folder: Path) -> None:
    """Print the comparisons, and draw them where Matplotlib is installed."""
    rng = np.random.default_rng(0)
    data = {"gaussian": gaussian(3000, 15, rng), "waiting": waiting_times(4000, 24, rng), "plane": plane(800, rng)}
    for name, (x, y) in data.items():
        found = sf.compare(x, y, repeats=10, random_state=0)
        print(f"\n── {name} {'─' * (76 - len(name))}\n{found}")
        try:
            left, _ = sf.plot.comparison(found)
        except sf.plot.MissingExtraError as error:
            print(error)
        else:
            left.figure.savefig(folder / f"twins_{name}.png", dpi=110)
            print(f"drawn in {folder / f'twins_{name}.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
