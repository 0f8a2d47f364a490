"""Search for problems that break a law: python -m tests.search --seconds N [--seed S], or --case SEED for one."""

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from tests.io import mutate
from tests.io.test_safety import write_models
from tests.search.laws import FITS, check
from tests.search.problems import make

SLOW = 20  # seconds


def main(arguments=None):
    """Go through problems until the time is over; print each that breaks a law, with how to see it again."""
    parser = argparse.ArgumentParser(prog="python -m tests.search", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to search")
    parser.add_argument("--seed", type=int, default=0, help="the first problem")
    parser.add_argument("--case", type=int, help="look at one problem alone")
    parser.add_argument("--files", type=int, metavar="COUNT", help="mutate so many model files instead, and ask them")
    asked = parser.parse_args(arguments)
    if asked.files is not None:
        return mutate_files(asked.files, asked.seed)
    os.environ["SUFFICE_STRICT"] = "1"
    end, seed, failures = time.monotonic() + asked.seconds, asked.seed, 0
    while time.monotonic() < end or asked.case is not None:
        problem = make(seed if asked.case is None else asked.case)
        begun = time.monotonic()
        broken = check(problem)
        took, again = time.monotonic() - begun, f"  {problem!r:.200}\n  python -m tests.search --case {problem.seed}\n"
        if broken is not None:
            failures += 1
            law, seen = broken
            sys.stdout.write(f"{law}: {seen[:300]}\n{again}")
        if took > SLOW:
            sys.stdout.write(f"slow: {took:.0f} s\n{again}")
        seed += 1
        if (seed - asked.seed) % 1000 == 0:
            sys.stdout.write(f"{seed - asked.seed} problems, {len(FITS)} fits, {failures} broke a law so far\n")
        sys.stdout.flush()
        if asked.case is not None:
            sys.stdout.write(f"{problem!r}\n{'broken' if broken else 'every law holds'}\n")
            break
    else:
        sys.stdout.write(f"{seed - asked.seed} problems, {len(FITS)} fits, {failures} broke a law\n")
    return int(failures > 0)


def mutate_files(count, seed):
    """Read and ask so many mutated model files; print what is neither refused by suffice nor a model that answers."""
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        write_models(Path(place))
        report = mutate.main(place, count, seed)
    for name, seen, document in report["bad"]:
        sys.stdout.write(f"{name}: {seen[:300]}\n  {document[:2000]}\n")
    sys.stdout.write(f"{report['read']} of {count} files read, {len(report['bad'])} findings\n")
    return int(bool(report["bad"]))


if __name__ == "__main__":
    sys.exit(main())
