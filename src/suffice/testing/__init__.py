"""The laws that every distribution keeps, suffice's own and yours.

>>> sf.testing.check_distribution(sf.Normal(1.0, 2.0)).passed[:2]
('any split merges to the whole', 'the order of the rows does not matter')
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.core.distribution import Distribution
from suffice.errors import ParameterError
from suffice.testing import additive, asking, believing, estimating, values  # noqa: F401 (they enter their laws)
from suffice.testing.law import LAWS, DoesNotApply, Entry, LawBroken
from suffice.types import Seed

__all__ = ["DoesNotApply", "Entry", "LawBroken", "Report", "check_distribution", "laws"]


@dataclass(frozen=True)
class Report:
    """Which laws a value keeps, and which have nothing to say about it, each with the reason."""

    subject: str
    passed: tuple[str, ...]
    not_applicable: dict[str, str]

    def __repr__(self) -> str:
        """Show one line per law."""
        lines = [f"{self.subject}: {len(self.passed)} laws kept, {len(self.not_applicable)} do not apply"]
        lines += [f"  ✓ {name}" for name in self.passed]
        lines += [f"  – {name}: {reason}" for name, reason in self.not_applicable.items()]
        return "\n".join(lines)


def laws() -> list[Entry]:
    """Every law: ``entry.name`` is its sentence, ``entry.function(distribution, rng)`` raises where it is broken."""
    return list(LAWS)


def check_distribution(distribution: object, random_state: Seed = 0) -> Report:
    """Hold a distribution to every law that applies to it.

    Parameters
    ----------
    distribution : Distribution
        A value with parameters, such as ``sf.Gamma(2.0, 3.0)`` or one of your own family: data are drawn from it.
    random_state : int
        Seed of the data.

    Returns
    -------
    Report
        The laws that were kept, and those that do not apply, with the reason.

    Raises
    ------
    LawBroken
        At the first law that is broken: the message names the law, the numbers and the likely suspects.
    """
    if not isinstance(distribution, Distribution):
        msg = f"check_distribution takes a distribution with parameters, such as sf.Normal(0, 1); got {distribution!r}."
        raise ParameterError(msg)
    passed, skipped = [], {}
    for entry in LAWS:
        try:
            entry.function(distribution, np.random.default_rng(random_state))
        except DoesNotApply as reason:
            skipped[entry.name] = str(reason)
        else:
            passed.append(entry.name)
    return Report(repr(distribution), tuple(passed), skipped)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
