"""A report on a fit: one HTML file that needs nothing else, neither a network nor a script.

Needs the extras ``plot`` and ``app``.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

from suffice.display.names import display_name
from suffice.errors import ParameterError
from suffice.plot.canvas import MissingExtraError
from suffice.schema.infer import Schema
from suffice.selection.select import Selection
from suffice.types import Data

__all__ = ["render", "write"]


def write(
    fit: object,
    data: Data,
    path: Any,
    *,
    selection: Selection | None = None,
    command: str | None = None,
    seed: int | None = None,
    title: str | None = None,
    target: Data = None,
    schema: Schema | None = None,
    date: str | None = None,
) -> Path:
    """Write a report on a fit to one HTML file, and return where it is.

    Parameters
    ----------
    fit
        A fit, a fitted estimator, a distribution with its parameters, or what ``sf.select`` gives.
    data
        The rows: a frame, a mapping of columns, an array, or a scan of files, of which 100,000 rows are looked at.
        None: those that the fit has.
    path
        The file, usually ``report.html``.
    selection
        What ``sf.select`` gave, for the runners-up.
    command, date
        What made the fit, and when, for the provenance. Nothing is written that is not given: the same input gives the
        same bytes.
    seed
        Of the rows that the model draws to be compared with the real ones; 0 by default.
    title
        The headline.
    target
        The classes of the rows, for a classifier: the report then has its confusion and calibration.
    schema
        What ``sf.infer`` gave, for the reasons why columns have their families; else they are looked at again.

    Examples
    --------
    >>> fit = sf.fit(sf.Mixture(sf.infer(df), 3), df, random_state=0)  # doctest: +SKIP
    >>> sf.report.write(fit, df, "report.html")  # doctest: +SKIP
    """
    text = render(
        fit, data, selection=selection, command=command, seed=seed, title=title, target=target, schema=schema, date=date
    )
    where = Path(path)
    where.write_text(text, encoding="utf-8")
    return where


def render(
    fit: object,
    data: Data = None,
    *,
    selection: object = None,
    command: str | None = None,
    seed: int | None = None,
    title: str | None = None,
    target: Hashable = None,
    schema: Schema | None = None,
    date: str | None = None,
) -> str:
    """The report as HTML; see :func:`write`."""
    template = _template()
    from suffice.report.page import Page

    if isinstance(fit, Selection):
        fit, selection = fit.best, fit
    if selection is not None and not isinstance(selection, Selection):
        msg = f"selection= is what sf.select(…) gives; got {type(selection).__name__}."
        raise ParameterError(msg)
    page = Page(fit, data, 0 if seed is None else int(seed), target)
    return str(template.render(
        title=display_name(title, 120) if title else f"A report on {page.kind}",
        page=page, selection=selection, schema=schema, command=command, date=date,
    ))  # fmt: skip


def require_extras() -> None:
    """Refuse, before any work is done, where what a report needs is not installed."""
    _template()


def _template() -> Any:
    try:
        import jinja2
        import matplotlib  # noqa: F401, ICN001 (it is used where figures are drawn)
    except ImportError as error:
        msg = (
            f"a report needs {error.name}, which is not installed. Install the extras: pip install 'suffice[plot,app]'."
        )
        raise MissingExtraError(msg) from error
    loader = jinja2.PackageLoader("suffice.report", ".")
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return made.get_template("report.html.jinja")
