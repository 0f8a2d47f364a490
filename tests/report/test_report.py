"""The report says what is true, in one file that asks nothing of anyone, the same every time."""

import pickle
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import suffice as sf
from suffice.plot.component_columns import without
from suffice.plot.model_view import ModelView
from suffice.report import classes, simulated, strange
from suffice.tables.frame import Frame
from suffice.tables.subsample import subsample

SECTIONS = [
    *("Overview", "Alerts", "Runners-up", "Components", "Fitted and observed", "Pairs", "Profile"),
    *("Simulated and real", "Strangest rows", "Convergence", "Provenance"),
]


class Seen(HTMLParser):
    """Elements, their attributes, and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.values, self.ids, self.words, self.headings = [], [], [], [], []
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        for name, value in attrs:
            self.values.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.words.append(data)
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(chosen, geyser):
    return sf.report.render(chosen, np.column_stack(list(geyser.values())), seed=4, command="suffice fit f.csv")


@pytest.fixture(scope="module")
def mixed_page(mixed_fit, mixed):
    return sf.report.render(mixed_fit, mixed)


def test_the_sections_come_in_order_and_every_name_is_used_once(page):
    seen = Seen(page)
    assert seen.headings == SECTIONS
    assert len(seen.ids) == len(set(seen.ids))
    targets = {value[1:] for _, name, value in seen.values if name == "href" and value.startswith("#")}
    used = set(re.findall(r"url\(#([^)]+)\)", page))
    assert targets | used <= set(seen.ids)


def test_nothing_runs_and_nothing_is_asked_of_the_network(page):
    seen = Seen(page)
    assert not {"script", "iframe", "object", "embed", "link", "base", "form"} & set(seen.tags)
    assert not [name for _, name, _ in seen.values if name.startswith("on")]
    assert "http:" not in page
    assert "https:" not in page
    assert "@import" not in page
    for tag, name, value in seen.values:
        if name in {"src", "href", "xlink:href", "data", "action"}:
            assert value.startswith(("#", "data:image/png;base64,")), (tag, name, value[:60])
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert ("meta", "content", policy) in seen.values
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_every_figure_says_what_it_shows(page):
    seen = Seen(page)
    labels = [value for tag, name, value in seen.values if tag == "svg" and name == "aria-label"]
    assert len(labels) == seen.tags.count("svg")
    assert all(labels)


def test_it_tells_the_numbers_of_the_fit(page, chosen):
    text = Seen(page).text
    assert f"{chosen.best.bic:.1f}" in text
    assert f"{len(chosen.table)} candidates" in text
    for row in chosen.table:
        assert f"{row['aic']:.1f}" in text
    for weight in chosen.best.params["weights"]:
        assert f"{100 * weight:.0f} %" in text
    assert "suffice fit f.csv" in text
    assert "with seed 4" in text


def test_the_same_input_gives_the_same_bytes(mixed_fit, mixed, mixed_page, tmp_path):
    assert sf.report.write(mixed_fit, mixed, tmp_path / "a.html").read_bytes() == mixed_page.encode()
    assert sf.report.render(mixed_fit, mixed, seed=1) != mixed_page  # other rows are drawn


def test_frames_mappings_and_the_rows_of_the_fit_make_one_report(mixed_fit, mixed, mixed_page):
    polars = pytest.importorskip("polars")
    assert sf.report.render(mixed_fit, polars.DataFrame({**mixed, "kind": mixed["kind"].tolist()})) == mixed_page
    assert Seen(sf.report.render(mixed_fit)).headings == Seen(mixed_page).headings


def test_a_fit_without_rows_asks_for_them(mixed_fit, mixed):
    again = pickle.loads(pickle.dumps(mixed_fit))  # noqa: S301 (our own)
    with pytest.raises(sf.DataError, match="needs the rows"):
        sf.report.render(again)
    assert "Strangest rows" in sf.report.render(again, mixed)


def test_what_is_missing_is_named(monkeypatch, mixed_fit):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(sf.plot.MissingExtraError, match=r"jinja2.*pip install 'suffice\[plot,app\]'"):
        sf.report.render(mixed_fit)


def test_wrong_arguments_are_refused(mixed_fit, mixed):
    with pytest.raises(sf.ParameterError, match=r"selection= is what sf\.select"):
        sf.report.render(mixed_fit, mixed, selection=mixed_fit)
    with pytest.raises(sf.ParameterError, match="Fit it first"):
        sf.report.render(sf.Normal, mixed)


@pytest.mark.parametrize(
    ("prototype", "rows"),
    [
        (sf.Normal(), [1.0, 2.0, 4.0]),
        (sf.Normal(), [1.0]),
        (sf.Categorical(), list("abca")),
        (sf.Mixture(sf.Poisson(), 2), [0, 1, 0, 9, 8, 11, 1]),
        (sf.Dirichlet(), [[0.2, 0.3, 0.5], [0.1, 0.6, 0.3], [0.4, 0.4, 0.2]]),
        (sf.Mixture([sf.Normal(), sf.Laplace()]), [0.0, 0.3, 5.0, 5.1, 9.0, 0.2]),
    ],
    ids=["normal", "one row", "labels", "counts", "vectors", "unlike components"],
)
def test_models_of_every_kind_have_a_report(prototype, rows):
    fit = sf.fit(prototype, rows, **({"random_state": 0} if isinstance(prototype, sf.Mixture) else {}))
    seen = Seen(sf.report.render(fit, rows))
    assert seen.headings[0] == "Overview"
    assert seen.headings[-1] == "Provenance"
    assert fit.summarize().title in seen.text


def test_alerts_are_shown():
    fit = sf.fit(sf.Bernoulli(), [1, 1, 1])
    seen = Seen(sf.report.render(fit, [1, 1, 1]))
    assert fit.alerts
    for code, text in fit.alerts:
        assert code in seen.text
        assert " ".join(text.split())[:60] in seen.text


# ---- hostile names --------------------------------------------------------------------------------------------------
def test_hostile_names_are_text_and_nothing_else(hostile):
    table, fit = hostile
    made = {"title": "</title><script>alert(3)</script>", "command": "'><script>alert(4)</script>{{7*7}}"}
    text = sf.report.render(fit, table, **made)
    seen = Seen(text)
    assert "script" not in seen.tags
    assert "img" not in seen.tags
    for part in (
        "<script>alert(1)</script>",
        "<script>alert(3)</script>",
        "<script>alert(4)</script>",
        "{{7*7}}",
        "$x_$",
    ):
        assert part in seen.text
    assert "49" not in re.findall(r"<h1>.*?</h1>", text, flags=re.DOTALL)[0]
    assert not set("\u202e\u200f\u2066\x00") & set(text)
    assert "x" * 200 not in text


# ---- what it computes -----------------------------------------------------------------------------------------------
def test_the_surprise_of_a_cell_is_what_the_row_loses_by_it(mixed_fit, mixed):
    exhibit = ModelView.of(mixed_fit, mixed).at(np.arange(40))
    found = strange.surprises(exhibit)
    for place, column in enumerate(exhibit.columns):
        holed = {name: np.array(values[:40]) for name, values in mixed.items()}
        hole = None if holed[column.name].dtype == object else np.nan
        holed[column.name] = holed[column.name].astype(object if hole is None else float)
        holed[column.name][:] = hole
        some = {name: values[:40] for name, values in mixed.items()}
        wanted = mixed_fit.log_prob(holed) - mixed_fit.log_prob(some)
        there = column.seen
        np.testing.assert_allclose(found[there, place], wanted[there], atol=1e-10)
        assert (found[~there, place] == 0).all()


def test_a_cell_of_a_joint_block_can_be_left_out(geyser):
    table = np.column_stack(list(geyser.values()))
    fit = sf.fit(sf.MultivariateNormal(), table)
    exhibit = ModelView.of(fit, table)
    rest = exhibit.log_prob(without(exhibit.model, exhibit.rows, 1))
    alone = sf.Normal(fit.params["mean"][0], float(np.sqrt(fit.params["cov"][0, 0])))
    np.testing.assert_allclose(rest, alone.log_prob(table[:, 0]), rtol=1e-10)


def test_the_strangest_row_is_the_one_that_was_made_so(mixed):
    table = {name: values.copy() for name, values in mixed.items()}
    table["noise"][17] = 25.0
    fit = sf.fit(sf.Mixture(sf.infer(mixed), 2), mixed, random_state=0)
    first = strange.strangest(ModelView.of(fit, table))[0]
    assert first["row"] == "17"
    assert first["cells"][0]["name"] == "noise"
    assert first["cells"][0]["value"] == "25"


def test_simulated_rows_are_those_of_the_seed_and_close_to_the_model(mixed_fit, mixed):
    exhibit = ModelView.of(mixed_fit, mixed)
    drawn, n = simulated.simulate(exhibit, 11)
    assert n == 300
    rows = mixed_fit.sample(300, 11)
    by_name = {column.name: column for column in drawn.columns}
    np.testing.assert_array_equal(by_name["size"].cells, rows["size"])
    kind = by_name["kind"]
    assert [kind.levels[i] for i in kind.cells] == list(rows["kind"])
    table = simulated.comparison(exhibit, drawn, 60)
    assert [row["name"] for row in table["amounts"]] == ["size", "noise", "visits"]
    assert not any(row["far"] for row in table["amounts"])
    shares = {row["level"]: row["real"] for row in table["labels"]}
    assert shares["a"] == f"{100 * np.mean(mixed['kind'] == 'a'):.0f} %"


def test_what_a_model_misses_is_reported(geyser):
    table = np.column_stack(list(geyser.values()))
    fit = sf.fit(sf.MultivariateNormal(), table)  # one component for two
    exhibit = ModelView.of(fit, table)
    found = simulated.comparison(exhibit, simulated.simulate(exhibit, 0)[0], 60)
    assert all(row["far"] for row in found["amounts"])
    real = np.corrcoef(table.T)[0, 1]
    np.testing.assert_allclose(found["correlations"]["real"][0, 1], real, rtol=1e-12)


# ---- classifiers ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def classifier(mixed):
    target = np.where(np.nan_to_num(mixed["size"]) > 2, "large", "small")
    X = {name: mixed[name] for name in ("kind", "visits", "noise")}
    return sf.NaiveBayes().fit(X, target), X, target


def test_confusion_counts_what_predict_does(classifier):
    model, X, target = classifier
    exhibit = ModelView.of(model, X)
    table = classes.confusion(exhibit, classes.codes(exhibit, target))
    guess = model.predict(X)
    for row, true in zip(table["rows"], model.classes_, strict=True):
        assert row["cells"] == [int(np.sum((target == true) & (guess == other))) for other in model.classes_]
    assert table["right"] == f"{100 * np.mean(guess == target):.1f} %"


def test_the_evidence_is_that_of_explain(classifier):
    model, X, target = classifier
    exhibit = ModelView.of(model, X)
    row, found = classes.doubtful(exhibit, classes.codes(exhibit, target))
    assert model.predict(X)[row] != target[row]
    wanted = model.explain({name: values[row] for name, values in X.items()})
    assert found.terms == pytest.approx(wanted.terms)
    assert found.label == wanted.label


def test_a_classifier_has_classes_and_no_components(classifier):
    model, X, target = classifier
    seen = Seen(sf.report.render(model, X, target=target))
    assert "Classes" in seen.headings
    assert "Taken for" in seen.text
    assert "Taken for" not in Seen(sf.report.render(model, X)).text
    with pytest.raises(sf.DataError, match="one for each row"):
        sf.report.render(model, X, target=target[:-1])


# ---- files ----------------------------------------------------------------------------------------------------------
class Pieces:
    """Rows in two pieces, as a scan of files has them."""

    def __init__(self, table, cut):
        self.table, self.cut = table, cut

    def __len__(self):
        return len(next(iter(self.table.values())))

    def frames(self):
        for part in (slice(0, self.cut), slice(self.cut, None)):
            yield Frame({name: values[part] for name, values in self.table.items()}, len(self.table["size"][part]))


def test_rows_in_pieces_are_read_as_one(mixed_fit, mixed, mixed_page):
    assert sf.report.render(mixed_fit, Pieces(mixed, 120)) == mixed_page


def test_of_many_rows_in_pieces_a_share_is_taken(mixed):
    few, _ = subsample(Pieces(mixed, 120), size=100)
    assert {len(values) for values in few.values()} == {100}
    pairs = set(zip(mixed["noise"], mixed["visits"], strict=True))
    assert set(zip(few["noise"], few["visits"], strict=True)) <= pairs
    again, _ = subsample(Pieces(mixed, 120), size=100)
    np.testing.assert_array_equal(few["noise"], again["noise"])


@pytest.mark.slow
def test_a_wide_and_long_table_stays_small():
    rng = np.random.default_rng(0)
    who = rng.integers(0, 4, 100_000)
    table = {f"number {i}": rng.normal(who * (i % 3), 1) for i in range(18)}
    table |= {f"label {i}": np.array(list("abcdefghij"))[np.minimum(rng.poisson(1 + who), 9)] for i in range(12)}
    components = [[sf.Normal(float(j * (i % 3)), 1.0) for i in range(18)] for j in range(4)]
    levels = tuple("abcdefghij")
    probs = rng.dirichlet(np.ones(10), 4)
    parts = [
        sf.Product({
            **{f"number {i}": components[j][i] for i in range(18)},
            **{f"label {i}": sf.Categorical(levels, probs[j]) for i in range(12)},
        })
        for j in range(4)
    ]  # fmt: skip
    text = sf.report.render(sf.Mixture(parts), table)
    assert len(text.encode()) < 2_000_000
