"""The parts of a report, in the order of the page: plain values that a template shows, and figures."""

from __future__ import annotations

import platform
from collections.abc import Hashable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from suffice import plot
from suffice.display.fit_summary import errors_of
from suffice.display.names import display_name
from suffice.display.summary import Summary
from suffice.display.values import many, number, percent, score
from suffice.em.result import Fit
from suffice.engines.once import cached_property
from suffice.errors import DataError, SufficeError
from suffice.models.class_explanation import Explanation
from suffice.models.columns import keyed, materialize
from suffice.plot.canvas import axes
from suffice.plot.column import Column
from suffice.plot.columns import panel
from suffice.plot.model_view import ModelView
from suffice.report import classes, components, simulated, states, strange
from suffice.report.drawing import Drawing, Sheets
from suffice.schema.infer import Schema, infer
from suffice.selection.select import Selection
from suffice.statistics.weights import Weights
from suffice.tables.sketch import fingerprint
from suffice.tables.subsample import SEED, subsample
from suffice.types import Array, Data

FITTED = 16  # columns with a figure of their own,
CURVES = 96  # as far as their curves are not more than this
POINTS = 1200  # rows of the pairs
COLUMNS = 200  # lines of the table of columns
COMPARED = 60  # columns of the tables of simulated rows
CANDIDATES = 20  # lines of the table of runners-up
PARAMETERS = 100  # numbers of a single distribution
DOUBT = 0.9  # probability of the most probable component below which a row is in doubt


class Page:
    """All that a report shows of one model and its data."""

    def __init__(self, found: object, data: Data, seed: int, target: Hashable = None) -> None:
        """Read the data as the model does."""
        self.found, self.seed = found, seed
        self.fit = found if isinstance(found, Fit) else getattr(found, "fit_", None)
        self.chain = states.chain_of(found) is not None
        self.data, kept = (data, None) if self.chain else subsample(data)
        self.view = states.view_of(found, data) if self.chain else ModelView.of(found, self.data)
        self.total = self.view.n if self.data is data else len(data)
        if self.view.rows is None:
            msg = "a report needs the rows: the fit no longer has them, so give them: report.write(fit, data, path)."
            raise DataError(msg)
        self.named = len(getattr(self.view.model, "labels", ())) == len(self.view.parts)
        self.word = "state" if self.chain else "class" if self.named else "component"
        self.words = "classes" if self.named else f"{self.word}s"
        self.true = None if target is None or not self.named else self._classes(target, kept)
        self.sheets = Sheets()

    def _classes(self, target: Hashable, kept: Array | None) -> Array:
        """The class of each row that is shown, by its number; ``kept``: which rows these are."""
        found = classes.codes(self.view, target)
        if len(found) != self.total:
            msg = f"target has {many(len(found), 'label')} for {many(self.total, 'row')}; give one for each row."
            raise DataError(msg)
        return found if kept is None else found[kept]

    # ---- overview ----------------------------------------------------------------------------------------------------
    def overview(self) -> dict[str, Any]:
        """The sentence, the numbers, and the columns."""
        return {"sentence": self._sentence(), "statistics": self._statistics(), **self._holes()}

    @property
    def summary(self) -> Summary:
        """The summary of the fit; of what is not a fit, that of its distribution."""
        return self.view.summarize if self.fit is None else self.fit.summarize()

    def _sentence(self) -> str:
        if self.fit is not None:
            return display_name(self.summary.title, 300)
        kind = "" if self.found is self.view.model else f"{type(self.found).__name__}: "
        wide = f"{many(self.view.n, 'row')} × {many(len(self.view.names), 'column')}"
        return display_name(f"{kind}{self.summary.title}, {wide}", 300)

    def _statistics(self) -> list[tuple[str, str]]:
        found = [("rows", f"{self.view.n:,}"), ("columns", f"{len(self.view.names):,}")]
        if self.view.mixed:
            found.append((self.words, str(len(self.view.parts))))
        known = {one.name: one.value for one in self.summary.statistics}
        found.append(("parameters", f"{int(known.pop('parameters', self.view.model.n_parameters)):,}"))
        share = known.pop("entropy", None)
        found += [(name, score(value)) for name, value in known.items()]
        found += [] if share is None else [("entropy of who made a row", percent(abs(float(share))))]
        if self.view.mixed:
            found.append(("rows in doubt", percent(float(np.mean(self.view.responsibilities.max(axis=1) < DOUBT)))))
        return found

    def _holes(self) -> dict[str, Any]:
        missing = [int((~column.seen).sum()) for column in self.view.drawable]
        cells = self.view.n * max(len(missing), 1)
        return {"missing": f"{sum(missing):,}", "missing_share": percent(sum(missing) / max(cells, 1)),
                "holed": sum(1 for one in missing if one)}  # fmt: skip

    def columns(self, schema: Schema | None) -> list[dict[str, str]]:
        """A line for each column: family, why, holes, and its information; then the columns that were left out."""
        known = self._findings(schema)
        lines = []
        for column in self.view.columns:
            finding = known.pop(column.name, None)
            if finding is not None and column.family == "MultivariateNormal":
                finding = finding.together()
            same = finding is not None and finding.family is not None and finding.family.name == column.family
            few = 0.0 if column.kind == "vector" else 1.0 - float(np.mean(column.seen))
            levels = f"{len(column.levels)} levels" if column.kind == "label" else column.kind
            lines.append({
                "name": display_name(column.label), "family": column.family, "kind": levels,
                "why": display_name(finding.why, 160) if same else "", "missing": percent(few),
                "information": f"{self.view.information(column):.2f}",
            })  # fmt: skip
        for name, finding in known.items():
            why = finding.why if finding.family is None else "not in the model"
            why = f"left out: {why.removeprefix('left out ')}"
            lines.append({"name": display_name(name), "family": "–", "kind": "", "why": display_name(why, 160),
                          "missing": percent(finding.missing), "information": ""})  # fmt: skip
        if len(lines) > COLUMNS:
            rest = {
                "name": f"… {len(lines) - COLUMNS} more",
                "family": "",
                "kind": "",
                "why": "",
                "missing": "",
                "information": "",
            }
            lines = [*lines[:COLUMNS], rest]
        return lines

    def _findings(self, schema: Schema | None) -> dict[Any, Any]:
        """What was found of the columns when their families were chosen; looked at again where nobody kept it."""
        if schema is None:
            if self.data is None or self.chain or not (keyed(materialize(self.data)) or np.ndim(self.data) == 2):
                return {}
            try:
                schema = infer(self.data)
            except SufficeError:  # a table that nothing can be inferred of still has a report
                return {}
        return {one.name: one for one in schema.findings} if isinstance(schema, Schema) else {}

    def alerts(self, chosen: Selection | None) -> list[dict[str, str]]:
        """What to know before trusting it."""
        found = list(getattr(self.fit, "alerts", ()) or getattr(self.found, "alerts_", ()))
        found += [] if chosen is None else [alert for alert in chosen.alerts if alert not in found]
        found += [("identifier", text) for text in map(self.view.noisy, self.view.columns) if text]
        return [{"code": display_name(code), "text": display_name(text, 1000)} for code, text in found]

    # ---- choices -----------------------------------------------------------------------------------------------------
    def runners_up(self, chosen: Selection | None) -> dict[str, Any] | None:
        """The candidates and their curve."""
        if chosen is None:
            return None
        rows = []
        best = chosen.table[0][chosen.criterion]
        for row in chosen.table[:CANDIDATES]:
            gap = row[chosen.criterion] - best
            rows.append({
                "n": row["n_components"], "what": display_name(row["structure"] or row["family"], 40),
                "log_likelihood": score(row["log_likelihood"]), "parameters": row["n_parameters"],
                "bic": score(row["bic"]), "aic": score(row["aic"]), "icl": score(row["icl"]),
                "gap": "best" if row is chosen.table[0] else f"{gap:+.1f}".replace("-", "−"),
                "note": "spurious" if row["spurious"] else "" if row["converged"] else "not converged",
            })  # fmt: skip
        drawing = self.sheets.draw(
            f"{chosen.criterion.upper()} of the candidates by number of components",
            lambda: plot.selection(chosen, ax=axes(None, (6.0, 3.6))),
        )
        return {"rows": rows, "more": max(len(chosen.table) - CANDIDATES, 0), "drawing": drawing,
                "criterion": chosen.criterion.upper().replace("_", "-"), "count": len(chosen.table),
                "several": len({row["what"] for row in rows}) > 1}  # fmt: skip

    # ---- components
    # -----------------------------------------------------------------------------------------------------
    @cached_property
    def cards(self) -> tuple[list[dict[str, Any]], int]:
        """A card for each component, and how many components have none."""
        return components.cards(self.view)

    @property
    def key(self) -> list[dict[str, Any]]:
        """The components by name and colour; none where there is only one."""
        return self.cards[0] if self.view.mixed else []

    def parameters(self) -> list[dict[str, str]]:
        """Of a single distribution: its numbers."""
        own = self._own_parameters()
        several = len({one.column for one in own}) > 1
        return [
            {"name": display_name(f"{display_name(one.column)}: {one.label}" if several else one.label, 80),
             "value": number(one.value, 5), "error": "fixed" if one.fixed else number(one.error, 3),
             "interval": f"{number(one.low)} … {number(one.high)}" if np.isfinite(one.error) and not one.fixed else ""}
            for one in own[:PARAMETERS]
        ]  # fmt: skip

    def _own_parameters(self) -> list[Any]:
        """The numbers of a single distribution, or of the only component of a mixture, by column."""
        model = states.chain_of(self.found) or self.view.model
        numbers = model.summarize(self.view.names, self.fit).parameters
        if self.fit is not None and not any(np.isfinite(one.error) for one in numbers):
            numbers = model.numbers(self.view.names, errors_of(self.fit))
        place = {name: i for i, name in enumerate(self._in_order())}
        kept = [one for one in numbers if one.column is not None or one.label != "weight"]
        return sorted(kept, key=lambda one: place.get(one.column, len(place)))

    def _in_order(self) -> list[Any]:
        """The columns in the order of the table that was fitted, as far as that is known."""
        known = [name for name, *_ in getattr(self.fit, "layout", ())]
        return [*known, *(name for name in self.view.names if name not in known)]

    def over_time(self) -> dict[str, Any] | None:
        """Of a hidden Markov model: where its states go, and a sequence with its states."""
        return states.over_time(self.sheets, self.found, self.data, self.view) if self.chain else None

    # ---- figures -----------------------------------------------------------------------------------------------------
    def fitted(self) -> dict[str, Any]:
        """A figure for each of the most informative columns."""
        chosen = self.view.most_informative(int(np.clip(CURVES // (len(self.key) + 1), 4, FITTED)))

        def drawn(column: Column) -> Any:
            return self.sheets.draw(
                f"{display_name(column.label)}: observed and fitted",
                lambda: panel(self.view, column, axes(None, (3.7, 2.6))),
            )

        drawings = [drawn(column) for column in chosen]
        return {"drawings": drawings, "left_out": len(self.view.columns) - len(chosen)}

    def pairs(self) -> Drawing | None:
        """Pairs of the most informative columns."""
        if len(self.view.drawable) < 2:
            return None
        names = ", ".join(display_name(column.label) for column in self.view.most_informative(4))
        return self.sheets.draw(f"rows in pairs of the columns {names}", lambda: plot.pairs(self.view, rows=POINTS))

    def profile(self) -> Any:
        """The components side by side."""
        if not self.view.mixed or not self.view.drawable:
            return None
        return self.sheets.draw(f"{self.word} by {self.word}: means and probabilities", lambda: plot.profile(self.view))

    def traces(self) -> Drawing | None:
        """The log-likelihood by pass."""
        path = getattr(self.fit, "trace", None)
        if path is None or len(path.log_likelihood) < 2:
            return None
        return self.sheets.draw(
            "log-likelihood of each pass from every start", lambda: plot.traces(self.fit, ax=axes(None, (5.4, 3.2)))
        )

    def convergence(self) -> str:
        """How the passes ended, in words."""
        if self.fit is None:
            return ""
        text = str(self.summary.convergence)
        return f"{text[:1].upper()}{text[1:]}."

    def simulated(self) -> dict[str, Any]:
        """Rows drawn from the model, compared with the real ones."""
        try:
            drawn, n = simulated.simulate(self.view, self.seed)
        except (SufficeError, NotImplementedError) as error:
            return {"why": display_name(error, 300)}
        found = simulated.comparison(self.view, drawn, COMPARED)
        informative = {column.name for column in self.view.most_informative(simulated.PANELS)}

        def against(pair: simulated.Pair) -> Any:
            return self.sheets.draw(
                f"{display_name(pair.real.label)}: simulated against real", lambda: simulated.panel(pair)
            )

        panels = [against(pair) for pair in found["pairs"] if pair.real.name in informative]
        matrix = found["correlations"]
        if matrix is not None:
            matrix["drawing"] = self.sheets.draw(
                "correlations of real and simulated rows", lambda: simulated.matrix(matrix)
            )
        return {"n": f"{n:,}", "seed": self.seed, "panels": panels, **found}

    def strangest(self) -> list[dict[str, Any]]:
        """The rows with the most surprising cells."""
        return strange.strangest(self.view)

    def classified(self) -> dict[str, Any] | None:
        """Of a classifier: whom it confuses, how well it is calibrated, and the evidence of one row."""
        if not self.named:
            return None
        table = drawing = None
        true = self.true
        if true is not None and (true >= 0).any():
            table = classes.confusion(self.view, true)
            drawing = self.sheets.draw("calibration on these rows", lambda: classes.calibration(self.view, true))
        case = classes.doubtful(self.view, self.true)
        why = None
        if case is not None:
            why = self.sheets.draw(f"evidence of row {case[0]}", lambda: _explanation(case[1]))
        return {
            "table": table,
            "drawing": drawing,
            "why": why,
            "row": None if case is None else f"{case[0]:,}",
            "wrong": case is not None and self.true is not None and self.true[case[0]] != self.view.owners[case[0]],
        }

    # ---- where it comes from -----------------------------------------------------------------------------------------
    def provenance(self, command: str | None, date: str | None) -> list[tuple[str, str]]:
        """What made it, of which data, with which versions; no date but the one that is given."""
        view = self.view
        held = Weights(view.n) if view.row_weights is None else Weights.of(view.row_weights, view.n)
        facts = [("command", display_name(command, 2000))] if command else []
        facts += [("date", display_name(date, 60))] if date else []
        facts += [
            ("seed", str(self.seed)),
            ("rows × columns", f"{self.total:,} × {len(view.names):,}"),
            ("data fingerprint", f"{fingerprint(view.rows, held):016x}"),
            ("model", self.kind),
        ]
        if self.total != view.n:
            facts.append(("rows shown", f"a sample of {view.n:,}, chosen by seed {SEED}"))
        facts += [(name, _version(name)) for name in ("suffice", "numpy", "scipy", "matplotlib")]
        return [*facts, ("python", f"{platform.python_version()} on {platform.system()}")]

    @property
    def kind(self) -> str:
        """The model in few words."""
        kinds = " and ".join(dict.fromkeys(part.name for part in self.view.parts))
        d = len(self.view.names)
        columns = "" if d == 1 else f" over {d} columns"
        if not self.view.mixed:
            return kinds + columns
        count = len(self.view.parts)
        if self.chain:
            return f"a hidden Markov model of {count} {'' if kinds == 'Product' else f'{kinds} '}states{columns}"
        if kinds == "Product":
            return f"{count} {self.words}{columns}"
        return f"{count} × {kinds}{columns}"


def _explanation(case: Explanation) -> Any:
    """The evidence of a row, in a figure that a narrow page can show."""
    return plot.evidence(case, ax=axes(None, (5.4, 1.3 + 0.3 * min(len(case.terms) + 2, 16))))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from its sources
        import suffice

        return suffice.__version__ if name == "suffice" else "unknown"
