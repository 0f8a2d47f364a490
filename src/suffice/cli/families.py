"""Families, numbers of components and other words of the command line as values of the library."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import click

from suffice.cli.data import known

MOST = 999  # components or states that a range may reach


def overrides(names: Sequence[Any], families: Sequence[str], ignore: Sequence[str]) -> dict[Any, Any]:
    """What ``--family`` and ``--ignore`` say of the columns."""
    found: dict[Any, Any] = {known(name, names, "--ignore"): None for name in ignore}
    for one in families:
        name, equals, text = one.rpartition("=") if one.count("(") == 0 else one.partition("=")
        if not equals or not name:
            msg = f"--family takes COLUMN=FAMILY, such as age=Gamma; got {one!r}."
            raise click.UsageError(msg)
        found[known(name, names, "--family")] = family(text)
    return found


def family(text: str) -> Any:
    """A family by its name, with known parameters where it has some: ``Poisson``, ``Binomial(trials=10)``."""
    import suffice as sf
    from suffice.core.distribution import Distribution

    try:
        tree = ast.parse(text.strip(), mode="eval").body
        call = tree if isinstance(tree, ast.Call) else None
        name = ast.unparse(call.func if call else tree)
        words = [] if call is None else call.keywords
        values = {str(one.arg): ast.literal_eval(one.value) for one in words}
        plain = not (call and call.args) and all(one.arg for one in words)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        plain, name, values = False, text, {}
    there = _names()
    if plain and name in there:
        made: Distribution = getattr(sf, name)(**values)
        return made
    near = get_close_matches(name.lower(), [one.lower() for one in there], 1, 0.6)
    meant = {one.lower(): one for one in there}
    hint = f"did you mean {meant[near[0]]}?" if near else f"families are {', '.join(there)}."
    msg = f"--family: {text!r} is not a family, such as Poisson or Binomial(trials=10); {hint}"
    raise click.UsageError(msg)


def _names() -> list[str]:
    """The families that a single column can have."""
    from suffice.distributions import load

    return sorted(name for name, kind in load().items() if not kind.row_vector and not kind.support.core)


def sizes(text: str, option: str = "--components") -> list[int]:
    """``3``, ``1:9`` (both ends included) or ``2,4,6``."""
    found: list[int] = []
    try:
        for piece in text.split(","):
            low, colon, high = piece.partition(":")
            found += range(int(low), int(high) + 1) if colon else [int(low)]
    except ValueError:
        found = []
    if not found or min(found) < 1 or max(found) > MOST:
        msg = f"{option} is a number, a range or a list, such as 3, 1:9 or 2,4,6; got {text!r}."
        raise click.UsageError(msg)
    return sorted(set(found))
