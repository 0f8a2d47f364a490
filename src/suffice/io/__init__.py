"""Model files: versioned JSON of distributions, statistics, fits, beliefs and estimators.

A file holds numbers and names, and no code: the kinds that it may name are suffice's own, everything in it is checked,
and reading it imports, evaluates and unpickles nothing that it names. What was written comes back bit for bit, with the
statistics, so that a loaded model goes on learning, merges and explains as the one that was saved.

Pickle works for all models as well, as scikit-learn's tools expect. A pickle runs code when it is loaded: open only
those that you made yourself. Model files can be opened whoever wrote them.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from suffice.errors import ModelFileError
from suffice.io.kinds import tree_of, value_of
from suffice.io.text import LIMIT, laid_out, parsed
from suffice.storage import atomic, read_budget
from suffice.storage.plain import refused

__all__ = ["VERSION", "dumps", "load", "loads", "save"]

VERSION = 1  # of the format; a file of a later one is refused


def dumps(model: object) -> bytes:
    """A model as the bytes of a file, from which it can be read again: that is tried.

    >>> print(sf.io.dumps(sf.Normal(2.0, 0.5)).decode())
    {"suffice":"1","kind":"Normal","mean":2.0,"std":0.5}
    """
    tree = tree_of(model, "")
    if type(tree) is not dict or "kind" not in tree:
        msg = (
            f"save takes a model: a distribution, its statistics, a Fit, a posterior, a Selection or an estimator; got "
            f"{type(model).__name__} {model!r:.60}."
        )
        raise ModelFileError(msg)
    data = laid_out({"suffice": str(VERSION), **tree})
    try:
        loads(data, limit=len(data))
    except ModelFileError as error:
        msg = f"{type(model).__name__} would not come back from a file as it is, so it is not written: {error}"
        raise ModelFileError(msg) from error
    return data


def loads(data: bytes | bytearray | memoryview | str, *, limit: int = LIMIT) -> Any:
    """The model in the bytes of a file; see :func:`load`.

    >>> sf.io.loads(b'{"suffice":"1","kind":"Normal","mean":2.0,"std":0.5}')
    Normal(mean=2, std=0.5)
    """
    if not isinstance(data, (bytes, bytearray, memoryview, str)):
        msg = f"loads takes the bytes of a model file; got {type(data).__name__}. For a path use sf.load(path)."
        raise ModelFileError(msg)
    tree = parsed(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data), limit)
    if type(tree) is not dict or "suffice" not in tree:
        msg = 'the document is not a model file: it does not begin with {"suffice": "1", "kind": …}.'
        raise ModelFileError(msg)
    version = tree.pop("suffice")
    if version != str(VERSION):
        newer = isinstance(version, str) and version.isdecimal() and len(version) < 10 and int(version) > VERSION
        advice = "It was written by a newer suffice: update this one" if newer else "Is it a model file?"
        raise refused("suffice", f"the format has the version {version!r:.20}, and {VERSION} is read here. {advice}.")
    if "kind" not in tree:
        raise refused("", "it does not say of which kind it is.")
    with read_budget.reading(len(data)):
        return value_of(tree, "")


def save(model: object, path: object) -> None:
    """Write a model to a file, as JSON that a person can read and that any machine may open without fear.

    Distributions, statistics, fits, posteriors, selections and estimators can be saved, with all that they need to go
    on learning; rows are never written. The file appears as a whole or not at all: it is written beside its place and
    then moved there.

    Parameters
    ----------
    model : Distribution, fit or estimator
        What to save. What holds a Python function (a prior density, a family from u, h and A) is refused.
    path : str or path
        Where; the directory must exist, and a file that is there is replaced.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "model.json"
    >>> sf.save(sf.fit(sf.Normal(), [1.0, 3.0]), path)
    >>> sf.load(path).distribution
    Normal(mean=2, std=1)
    """
    data = dumps(model)
    place = _place(path)
    try:
        mode = place.stat().st_mode & 0o777 if place.exists() else 0o666 & ~_umask()
        if place.exists() and not stat.S_ISREG(place.stat().st_mode):
            msg = f"{place}: there is something that is not a file, such as a directory; give another path."
            raise ModelFileError(msg)
        handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent)
    except OSError as error:
        raise _unwritable(place, error) from error
    aside = Path(name)

    def write(file: Any) -> None:
        file.write(data)
        aside.chmod(mode)

    try:
        os.close(handle)
        atomic.put(place, aside, write)
    except OSError as error:
        raise _unwritable(place, error) from error


def load(path: object, *, limit: int = LIMIT) -> Any:
    """Read a model that :func:`save` wrote: the same bits, and the statistics to go on learning with.

    Nothing in the file is run or imported, and everything is checked; what is wrong is told with its place, as in
    ``distribution.components.cov``. A loaded `Fit` has no rows: what needs them (standard errors of a mixture) says so.

    Parameters
    ----------
    path : str or path
        The file.
    limit : int
        Most bytes that are read, by default 256 MB.

    Returns
    -------
    object
        The model, of the class that was saved.
    """
    place = _place(path)
    try:
        found = place.stat()
        if not stat.S_ISREG(found.st_mode):
            kind = "a directory" if stat.S_ISDIR(found.st_mode) else "no ordinary file"
            msg = f"{place} is {kind}; give the path of a model file."
            raise ModelFileError(msg)
        with place.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        msg = f"{place} cannot be read: {error.strerror or error}."
        raise ModelFileError(msg) from error
    try:
        return loads(data, limit=limit)
    except ModelFileError as error:
        msg = f"{place}: {error}"
        raise ModelFileError(msg) from error


def _place(path: Any) -> Path:
    """The path of a file; where it is a link, what that leads to."""
    try:
        place = Path(os.fsdecode(path))
        place = place.resolve() if place.is_symlink() else place
    except (TypeError, ValueError, OSError, RuntimeError) as error:
        raise _no_path(path, error) from error
    if "\0" in str(place):
        raise _no_path(path, "it holds a null byte")
    if place.is_symlink():  # Python 3.13 resolves it to itself
        raise _no_path(path, "it is a link that leads to itself, a loop")
    return place


def _no_path(path: object, why: object) -> ModelFileError:
    return ModelFileError(f"{path!r:.200} is not a path of a file: {why}.")


def _umask() -> int:
    """The permissions that new files do not get; it can only be asked for by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _unwritable(place: Path, error: OSError) -> ModelFileError:
    missing = f" There is no directory {place.parent}; make it first." if not place.parent.is_dir() else ""
    return ModelFileError(f"{place} cannot be written: {error.strerror or error}.{missing}")
