"""Parameters as documentation: the domain and the default of each, written into the family's docstring."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def document(family: Any) -> None:
    """Insert a Parameters section before the examples of a family's docstring; once is enough."""
    entries = []
    for f in fields(family):
        spec = f.metadata.get("parameter")
        if spec is not None:
            default = "" if f.default is None else f", by default {f.default:g}"
            known = "" if spec.learned else "; known, not learned"
            entries.append(f"    {f.name}\n        {spec.domain.words}{default}{known}")
    if not entries or "Parameters\n" in family.__doc__:
        return
    section = "\n".join(["    Parameters", "    ----------", *entries, "", ""])
    text = family.__doc__.rstrip() + "\n\n"
    at = text.find("    >>>")
    examples = "    Examples\n    --------\n"
    family.__doc__ = text + section if at < 0 else text[:at] + section + examples + text[at:]
