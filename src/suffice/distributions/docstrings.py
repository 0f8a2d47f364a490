"""Parameters as documentation: type, domain and default of each argument, written into the family's docstring."""

from __future__ import annotations

import inspect
from dataclasses import Field, fields
from typing import Any

KINDS = {0: "float or array", 1: "vector or array", 2: "matrix or array"}  # of parameters, by their core axes


def document(family: Any) -> None:
    """Insert a Parameters section before the references and examples of a family's docstring; once is enough."""
    if "Parameters\n" in family.__doc__:
        return
    declared = {f.name: f for f in fields(family)}
    arguments = list(inspect.signature(family.__init__).parameters)[1:]
    entries = [_entry(declared[name]) for name in arguments]
    section = "\n".join(["    Parameters", "    ----------", *entries, "", ""])
    text = family.__doc__.rstrip() + "\n\n"
    example = text.find("    >>>")
    if example >= 0:
        text = text[:example] + "    Examples\n    --------\n" + text[example:]
    ends = [at for at in (text.find("    References\n"), text.find("    Examples\n")) if at >= 0]
    at = min(ends, default=len(text))
    family.__doc__ = text[:at] + section + text[at:]


def _entry(f: Field[Any]) -> str:
    """One argument: its type, its default, and what it may be."""
    spec = f.metadata.get("parameter")
    if spec is None:
        kind, words = f.metadata["described"]
        return f"    {f.name} : {kind}\n        {words}"
    kind = "int or array" if spec.domain.integer and not spec.domain.core else KINDS[spec.domain.core]
    default = "" if f.default is None else f", default {f.default:g}"
    known = "" if spec.learned else "; known, not learned"
    return f"    {f.name} : {kind}{default}\n        {spec.domain.words[0].upper()}{spec.domain.words[1:]}{known}."
