"""Files larger than memory: peak memory by size of file, passes against rows in memory, and `infer` against reading.

Run ``python -m benchmarks.scale [folder] [megabytes …]``. Without a folder the files are made in a temporary one and
removed; by default there are files of 200 and 2000 MB. Every measurement runs in a process of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

import suffice as sf

SIZES = (200, 2000)
ROWS = 500_000  # of a row group
PASSES = 5
TURNS = 5  # of infer and reading
MOST = 500  # MB of peak memory
FLAT, NEAR, SOON = 0.10, 0.60, 1.5  # goals: growth of the peak, rows/s against memory, infer against reading


def mixed() -> sf.Mixture:
    """A mixture over columns of different kinds, with holes."""
    columns = {("a", "b", "c", "d"): sf.Normal(), "visits": sf.Poisson(), "kind": sf.Categorical()}
    return sf.Mixture(sf.Product(columns), 4)


def piece(rng: np.random.Generator, n: int) -> pa.Table:
    """Rows of four groups."""
    who = rng.integers(0, 4, n)
    columns = {name: rng.normal(who * (j + 1) * 0.7, 1.0) for j, name in enumerate("abcd")}
    columns["b"][rng.random(n) < 0.05] = np.nan
    kinds = np.array(["red", "green", "blue", "black", "white"])[(who + rng.integers(0, 2, n)) % 5]
    return pa.table({
        **{name: pa.array(values, from_pandas=True) for name, values in columns.items()},
        "visits": rng.poisson(2.0 + who),
        "kind": kinds,
    })  # fmt: skip


def made(path: Path, megabytes: int) -> Path:
    """A file of about this size, made once."""
    if path.exists():
        return path
    rng, text = np.random.default_rng(0), path.suffix == ".csv"
    first = piece(rng, ROWS)
    writer = (csv.CSVWriter if text else pq.ParquetWriter)(path, first.schema)
    with writer:
        writer.write_table(first)
        while path.stat().st_size < megabytes * 1e6:
            writer.write_table(piece(rng, ROWS))
    return path


def peak() -> float:
    """The most memory of this process, in MB."""
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) / 1024


def fitted(path: str, where: str) -> dict[str, object]:
    """Passes over a file or over its rows in memory."""
    read = csv.read_csv if path.endswith(".csv") else pq.read_table
    data = sf.scan(path) if where == "file" else read(path)
    begin = time.perf_counter()
    fit = sf.fit(mixed(), data, random_state=0, max_iter=PASSES)
    seconds = fit.trace.seconds[1:]
    return {
        "rows": int(fit.n),
        "peak": peak(),
        "seconds": time.perf_counter() - begin,
        "rate": fit.n / float(np.median(seconds)),
        "means": np.asarray(fit.distribution.components.blocks["a", "b", "c", "d"].mean).tolist(),
        "log_likelihood": fit.log_likelihood,
    }


def inferred(path: str, _how: str) -> dict[str, object]:
    """How long it takes to choose families, and to read: in one process, by turns, the median of each.

    Reading is what pyarrow needs to make Arrow tables of all row groups, of the same columns, one row group after the
    other and with its own threads. Both begin with the path, and read the footer too.
    """
    sf.infer(sf.scan(Path(path).parent / "5.parquet"))  # what is loaded once
    read, chosen = [], []
    for _ in range(TURNS):
        begin = time.perf_counter()
        file = pq.ParquetFile(path, pre_buffer=False)
        for group in range(file.num_row_groups):
            file.read_row_group(group)
        middle = time.perf_counter()
        sf.infer(sf.scan(path))
        chosen.append(time.perf_counter() - middle)
        read.append(middle - begin)
    return {"read": float(np.median(read)), "infer": float(np.median(chosen)), "peak": peak()}


def apart(task: str, path: Path, how: str) -> dict[str, float]:
    """A measurement in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--task", task, str(path), how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (this file)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def verdict(*, met: bool) -> str:
    """Whether a goal was met."""
    return "ok" if met else "NOT MET"


def report(folder: Path, sizes: tuple[int, ...]) -> None:
    """Make the files and print what was measured."""
    apart("fit", made(folder / "5.parquet", 5), "file")  # kernels are compiled once
    for kind in ("parquet", "csv"):
        passes(folder, kind, sizes)
    middle = made(folder / f"{max(sizes) // 2}.parquet", max(sizes) // 2)
    found = apart("infer", middle, "")
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "suffice", "inspect", middle], capture_output=True, check=True)  # noqa: S603
    whole = time.perf_counter() - begin
    print(
        f"{max(sizes) // 2} MB Parquet: reading alone takes {found['read']:.2f} s; peak of all {found['peak']:.0f} MB"
    )
    for what, seconds in (("sf.infer", found["infer"]), ("suffice inspect, with its start,", whole)):
        ratio = seconds / found["read"]
        print(f"{what} takes {seconds:.2f} s: {ratio:.2f} times, {verdict(met=ratio <= SOON)}")


def passes(folder: Path, kind: str, sizes: tuple[int, ...]) -> None:
    """Peak memory by size, and the smallest file against its rows in memory."""
    peaks = []
    for size in sizes:
        found = apart("fit", made(folder / f"{size}.{kind}", size), "file")
        peaks.append(found["peak"])
        told = f"peak {found['peak']:.0f} MB, {found['rate']:,.0f} rows/s a pass, {found['seconds']:.1f} s in all"
        print(f"{size:5d} MB {kind}, {found['rows']:,} rows: {told}", flush=True)
    grown = max(peaks) / min(peaks) - 1
    print(f"peak grows by {grown:.1%}, largest {max(peaks):.0f} MB: {verdict(met=grown < FLAT and max(peaks) < MOST)}")
    smallest = folder / f"{min(sizes)}.{kind}"
    near, here = apart("fit", smallest, "file"), apart("fit", smallest, "memory")
    away = abs(near["log_likelihood"] / here["log_likelihood"] - 1)
    same = np.array_equal(near["means"], here["means"])
    print(f"against memory: log-likelihood differs by {away:.1e}, means {'bitwise equal' if same else 'DIFFER'}")
    share = near["rate"] / here["rate"]
    rates = f"{near['rate']:,.0f} rows/s from {kind}, {here['rate']:,.0f} in memory"
    print(f"{rates}: {share:.0%}, {verdict(met=share >= NEAR)}; peak in memory {here['peak']:.0f} MB", flush=True)


def main(arguments: list[str]) -> None:
    """Measure in a folder that is kept, or in one that is not."""
    if arguments[:1] == ["--task"]:
        task, path, how = arguments[1:]
        print(json.dumps((fitted if task == "fit" else inferred)(path, how)))
        return
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return
    kept = arguments and not arguments[0].isdecimal()
    sizes = tuple(int(one) for one in arguments[1 if kept else 0 :]) or SIZES
    folder = Path(arguments[0]) if kept else Path(tempfile.mkdtemp(prefix="suffice-scale-"))
    folder.mkdir(exist_ok=True)
    try:
        report(folder, sizes)
    finally:
        if not kept:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
