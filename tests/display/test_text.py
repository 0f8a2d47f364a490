"""Pages say what the fit knows, in the width that is asked for, whatever columns and levels are called."""

import pickle
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate
from scipy import stats as law

import suffice as sf
from suffice.display.names import display_name, fitted, places, sentence
from suffice.display.summary import summarize
from suffice.display.text import line_width
from suffice.display.values import percent, rounded
from suffice.models import column_information

RNG = np.random.default_rng(0)
WHO = RNG.integers(3, size=300)
TABLE = {
    "size": np.array([0.0, 4.0, 9.0])[WHO] + RNG.normal(size=300),
    "noise": RNG.normal(size=300),
    "kind": np.array(["a", "b", "c"], dtype=object)[np.where(RNG.random(300) < 0.9, WHO, RNG.integers(3, size=300))],
    "many": RNG.poisson([1.0, 1.0, 8.0], size=(300, 3))[np.arange(300), WHO],
    "yes": (RNG.random(300) < np.array([0.9, 0.5, 0.1])[WHO]).astype(int),
}
TABLE["size"][:7] = np.nan
SCHEMA = sf.infer(TABLE, many=sf.Poisson())
ONE = np.concatenate([RNG.normal(0, 1, 60), RNG.normal(5, 1, 60)])
WILD = {
    "line\nbreak": 0,
    "\x1b[31mred": 1,
    "long " * 2000: 2,
    "名前" * 40: 3,
    "שלום עולם": 4,
    "\u202eevil\u202c": 5,
    "<script>alert('x')</script>": 6,
    "\u0301" * 300: 7,
    "": 8,
    "&amp;\"'": 9,
}
LEVELS = ("<b>bold</b>\n", "\u202elevel\t", "L" * 10_000, "漢字" * 30)


@pytest.fixture(scope="module")
def mixture():
    return sf.fit(sf.Mixture(SCHEMA, 3), TABLE, random_state=0, n_init=4)


@pytest.fixture(scope="module")
def wild():
    rng = np.random.default_rng(1)
    who = rng.integers(2, size=200)
    columns = {name: rng.normal(size=200) + who * place / 2 for name, place in WILD.items() if place < 7}
    labels = np.array(LEVELS, dtype=object)
    columns |= {name: labels[rng.integers(2, size=200) + 2 * who] for name, place in WILD.items() if place >= 7}
    return columns, np.array(["<i>one</i>\n" * 20, "\u202etwo"], dtype=object)[who]


def line_of(page, name):
    return next(line for line in page.splitlines() if line.startswith(f"  {name} "))


class Reader(HTMLParser):
    """Collects tags and text, and holds that tags close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    assert not {"script", "b", "i", "iframe", "img"} & set(reader.tags)
    return reader


# ---- what a page says ------------------------------------------------------------------------------------------------
def test_the_first_lines_say_what_how_how_much_and_how_well(mixture):
    lines = mixture.summary(width=120).splitlines()
    assert lines[0] == "Mixture of 3 components by maximum likelihood, 300 rows × 5 columns, 7 cells missing"
    proba = mixture.predict_proba(TABLE)
    entropy = -np.sum(proba * np.log(np.maximum(proba, 1e-300))) / (300 * np.log(3))
    icl = mixture.bic - 2 * np.log(proba.max(axis=1)).sum()
    assert lines[1] == (
        f"log-likelihood −{-mixture.log_likelihood:.1f} · {mixture.n_parameters} parameters · BIC {mixture.bic:.1f}"
        f" · AIC {mixture.aic:.1f} · ICL {icl:.1f} · entropy {entropy:.2f}"
    )
    assert mixture.icl == pytest.approx(icl)
    statistics = {one.name: one.value for one in mixture.summarize().statistics}
    assert statistics["entropy"] == pytest.approx(entropy, abs=1e-6)
    assert list(statistics) == ["log-likelihood", "parameters", "BIC", "AIC", "ICL", "entropy"]
    assert lines[-1] == "alerts: none" or lines[-1].startswith("    ")


def test_starts_that_ended_as_high_as_the_best_are_counted(mixture):
    rng = np.random.default_rng(0)
    fits = [sf.fit(sf.Mixture(SCHEMA, 3), TABLE, random_state=rng) for _ in range(4)]
    heights = [one.log_likelihood for one in fits]
    alike = int(np.sum(np.array(heights) > max(heights) - 1e-6 * abs(max(heights))))
    assert (mixture.trace.starts, mixture.trace.agreeing) == (4, alike)
    assert f"; {alike} of 4 starts agree; the likelihood rose at every step" in mixture.summary(width=120)
    assert f"converged after {mixture.n_iter} passes" in mixture.summary(width=120)


def test_starts_that_differ_do_not_agree():
    x = np.concatenate([RNG.normal(m, 0.1, 30) for m in range(6)])
    fit = sf.fit(sf.Mixture(sf.Normal(), 5), x, random_state=3, n_init=6, start="random")
    rng = np.random.default_rng(3)
    alone = [sf.fit(sf.Mixture(sf.Normal(), 5), x, random_state=rng, start="random") for _ in range(6)]
    heights = [one.trace.objective[-1] for one in alone]
    merits = [
        height - one.distribution.spurious_gain(one.statistics) for height, one in zip(heights, alone, strict=True)
    ]
    best, least = int(np.argmax(merits)), 1e-6 * (1 + abs(heights[int(np.argmax(merits))]))
    alike = sum(
        height > heights[best] - least and merit > merits[best] - least
        for height, merit in zip(heights, merits, strict=True)
    )
    assert 1 <= alike < 6
    assert fit.trace.agreeing == alike
    assert fit.trace.tries == 1  # the caller named the start


def test_one_start_says_how_many_were_tried():
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, random_state=0)
    assert "from the best of 8 short starts" in fit.summary(width=120)
    given = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, start=fit.distribution)
    assert "start" not in given.summary(width=120)


def test_a_fall_is_not_called_a_rise(mixture):
    heights = np.array([-10.0, -5.0, -6.0, -4.0])
    fell = replace(mixture, trace=replace(mixture.trace, objective=heights, log_likelihood=heights))
    assert "the likelihood fell at 1 of 3 steps" in fell.summary(width=120)


def test_weights_and_priors_are_named():
    weights = np.linspace(0.5, 2.0, 300)
    fit = sf.fit(sf.Mixture(SCHEMA, 2), TABLE, weights=weights, prior="weak", random_state=0)
    lines = fit.summary(width=160).splitlines()
    assert "by maximum a posteriori under a weak prior, 300 rows × 5 columns of weight 375 in all" in lines[0]
    assert f"log posterior −{-fit.log_posterior:.1f}" in lines[1]
    assert lines[2].startswith("prior: weights Dirichlet(alpha=[1.5]); components of ")
    assert "the log posterior rose" in lines[3]
    coin = str(sf.fit(sf.Bernoulli(), [1, 0, 1], prior=sf.Beta(2, 2)))
    assert "\nprior: Beta(a=2, b=2)\n" in coin


def test_components_are_columns_and_cells_are_read_as_their_family_is(mixture):
    page, parts = mixture.summary(width=120), mixture.distribution.parts
    head = next(line for line in page.splitlines() if "0: " in line and "info" in line)
    assert head.split() == [word for j, w in enumerate(mixture.weights) for word in (f"{j}:", *percent(w).split())] + [
        "info"
    ]
    sizes = [one.marginal("size") for one in parts]
    digits = max(int(1 - np.floor(np.log10(one.std))) for one in sizes)
    cells = [f"{rounded(one.mean, digits)} ± {rounded(one.std, digits)}" for one in sizes]
    assert [cell in line_of(page, "size") for cell in cells] == [True] * 3
    assert [f"mean {one.marginal('many').rate:.3g}" in line_of(page, "many") for one in parts] == [True] * 3
    assert [f"yes {one.marginal('yes').p:.2f}" in line_of(page, "yes") for one in parts] == [True] * 3
    kinds = [one.marginal("kind") for one in parts]
    tops = [f"{one.mode} {one.probs.max():.2f}" for one in kinds]
    assert [top in line_of(page, "kind") for top in tops] == [True] * 3


def test_a_summary_holds_the_numbers_of_the_page(mixture):
    seen = summarize(mixture)
    rows = {row.column: row for row in seen.rows}
    assert [head.share for head in seen.components] == mixture.weights.tolist()
    np.testing.assert_allclose([head.rows for head in seen.components], mixture.statistics.count)
    means = [cell.numbers["mean"] for cell in rows["noise"].cells]
    np.testing.assert_allclose(means, [one.marginal("noise").mean for one in mixture.parts])
    kinds = rows["kind"].cells[0].numbers
    assert sum(kinds.values()) == pytest.approx(1.0)
    assert list(seen.information) == [row.column for row in seen.rows]
    assert list(seen.information.values()) == sorted(seen.information.values(), reverse=True)
    assert list(seen.information)[-1] == "noise"
    assert seen.rows[0].note == "separates components best"


def test_a_skewed_amount_is_a_median_and_a_factor():
    wide, narrow = sf.LogNormal([[1.0], [3.0]], [[0.9], [0.1]]), sf.LogNormal([[5.0], [6.0]], [[0.1], [0.2]])
    assert wide.column_summaries()[0][0].pieces == (f"{np.e:.3g} ×÷ {np.exp(0.9):.3g}",)
    assert wide.column_summaries()[0][1].numbers["factor"] == pytest.approx(np.exp(0.1))
    assert narrow.column_summaries()[0][1].numbers == {"mean": narrow.mean[1, 0], "std": narrow.std[1, 0]}


def test_correlations_of_columns_that_are_described_together():
    cov = np.array([[4.0, 1.9, 0.0], [1.9, 1.0, 0.1], [0.0, 0.1, 1.0]])
    mixed = sf.Mixture(
        [sf.MultivariateNormal(np.zeros(3), cov), sf.MultivariateNormal(np.ones(3), np.eye(3))], weights=[0.4, 0.6]
    )
    first, second = mixed.summarize(("a", "b", "c")).correlations
    assert first[0][:2] == ("a", "b")
    assert first[0][2] == pytest.approx(0.95)
    assert second == ()
    shared = sf.Mixture(sf.MultivariateNormal(np.arange(6.0).reshape(2, 3), np.stack([cov, cov]), structure="EEE"))
    assert shared.summarize(("a", "b", "c")).correlations == (first,)
    fit = sf.fit(sf.MultivariateNormal(), np.random.default_rng(0).multivariate_normal(np.zeros(3), cov, 500))
    r = np.corrcoef(fit._data[0].T)[0, 1]
    assert f"strongest correlations: column 0 × column 1 +{r:.2f}" in str(fit)


def test_products_have_a_line_for_each_column_with_standard_errors():
    fit = sf.fit(SCHEMA, TABLE)
    errors = fit.standard_errors
    page = fit.summary(width=120)
    mean, error = fit.params["size"]["mean"], errors["size"]["mean"]
    assert line_of(page, "size").split()[:5] == ["size", "Normal", "mean", f"{mean:.2f}", "±"]
    assert f"{mean:.2f} ± {error:.2f}" in line_of(page, "size")
    assert page.splitlines()[0].startswith("Product by maximum likelihood, 300 rows × 5 columns, 7 cells missing")
    assert {one.column for one in fit.summarize().parameters} == set(TABLE)


def test_unlike_components_and_mixtures_of_mixtures():
    unlike = sf.Mixture([sf.Normal(0.0, 1.0), sf.Gamma(50.0, 2.0)], weights=[0.25, 0.75])
    heads = unlike.summarize().components
    assert [(one.share, one.family) for one in heads] == [(0.25, "Normal"), (0.75, "Gamma")]
    nested = sf.fit(sf.Mixture(sf.Mixture(sf.Normal(), 2), 2), ONE, random_state=0, max_iter=50)
    cell = nested.summarize().rows[0].cells[0]
    inner = nested.parts[0]
    order = np.argsort(-inner.weights)
    assert [piece.partition(" %")[0] for piece in cell.pieces] == [percent(inner.weights[j])[:-2] for j in order]


# ---- the information of a column ----
def exactly(densities, weights, low, high, breaks):
    """D(component‖all) of one number, by the definition."""

    def integrand(x, j):
        logs = np.array([one(x) for one in densities])
        return np.exp(logs[j]) * (logs[j] - np.log(weights @ np.exp(logs)))

    ends = [low, *breaks, high]
    pairs = list(pairwise(ends))
    return [sum(integrate.quad(integrand, a, b, args=(j,))[0] for a, b in pairs) for j in range(len(densities))]


def test_numbers_tell_what_the_definition_says():
    weights = np.array([0.3, 0.7])
    normal = exactly([law.norm(0, 1).logpdf, law.norm(2, 0.5).logpdf], weights, -9, 9, [0, 1, 2, 3])
    found = column_information.divergences(sf.Normal([[0.0, 5.0], [2.0, 5.0]], [[1.0, 3.0], [0.5, 3.0]]), weights)
    np.testing.assert_allclose(found[:, 0], normal, rtol=1e-5)
    np.testing.assert_allclose(found[:, 1], 0.0, atol=1e-12)  # equal components tell nothing
    gamma = exactly([law.gamma(2, scale=1).logpdf, law.gamma(9, scale=0.5).logpdf], weights, 1e-9, 60, [1, 3, 6, 12])
    np.testing.assert_allclose(
        column_information.divergences(sf.Gamma([[2.0], [9.0]], [[1.0], [2.0]]), weights)[:, 0], gamma, rtol=1e-5
    )


def test_counts_and_labels_tell_what_the_definition_says():
    weights = np.array([0.6, 0.4])
    counts = np.arange(200)
    p = np.stack([law.poisson(2).pmf(counts), law.poisson(7).pmf(counts)])
    expected = np.nansum(np.where(p > 0, p * np.log(p / (weights @ p)), 0.0), axis=1)
    np.testing.assert_allclose(
        column_information.divergences(sf.Poisson([[2.0], [7.0]]), weights)[:, 0], expected, rtol=1e-8
    )
    probs = np.array([[[0.7, 0.2, 0.1]], [[0.1, 0.2, 0.7]]])
    expected = (probs[:, 0] * np.log(probs[:, 0] / (weights @ probs[:, 0]))).sum(axis=1)
    labels = sf.Categorical((("a", "b", "c"),), probs)
    np.testing.assert_allclose(column_information.divergences(labels, weights)[:, 0], expected, rtol=1e-12)


def test_a_column_of_which_components_are_certain_tells_who_made_the_row():
    weights = np.array([0.2, 0.5, 0.3])
    seen = sf.Mixture(
        [sf.Product({"who": sf.Categorical(["a", "b", "c"], np.eye(3)[j]), "x": sf.Normal(0, 1)}) for j in range(3)],
        weights=weights,
    ).summarize()
    entropy = -np.sum(weights * np.log(weights))
    assert seen.information["who"] == pytest.approx(entropy)
    assert seen.information["x"] == pytest.approx(0.0, abs=1e-9)
    assert f"is worth {entropy:.2f}" in seen.measure
    assert [dict(one) for one in seen.apart] == [{"who": pytest.approx(-np.log(w))} for w in weights]


def test_unlike_components_tell_what_stacks_of_them_would():
    weights = np.array([0.3, 0.7])
    together = column_information.divergences(sf.Normal([[0.0], [2.0]], [[1.0], [0.5]]), weights)[:, 0]
    leaves = [
        [(1.0, sf.Normal([[0.0]], [[1.0]]))],
        [(0.5, sf.Normal([[2.0]], [[0.5]])), (0.5, sf.Normal([[2.0]], [[0.5]]))],
    ]
    np.testing.assert_allclose(column_information.apart(leaves, weights), together, rtol=1e-9)


# ---- widths and wild names -------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def shows(wild):
    columns, classes = wild
    model = sf.NaiveBayes().fit(columns, classes)
    return {
        "mixture": sf.fit(sf.Mixture(sf.infer(columns), 3), columns, random_state=0, max_iter=20),
        "joint": sf.fit(sf.infer(columns, joint=True), columns),
        "product": sf.fit(sf.infer(columns), columns),
        "classes": model,
        "explanation": model.explain({name: cells[0] for name, cells in columns.items()}),
        "belief": sf.posterior(sf.Product({"<b>\n": sf.Normal()}), {"<b>\n": [1.0, 2.0]}, prior="weak"),
        "selection": sf.select(sf.Normal(), ONE, n_components=[1, 2], families=sf.Laplace(), random_state=0),
        "schema": sf.infer(columns),
    }


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_asked_whatever_the_names_are(shows, width):
    pages = [one.summary(width=width) for name, one in shows.items() if name != "schema"]
    for page in [*pages, shows["mixture"].summary(width=width, errors=True)]:
        assert max(map(places, page.split("\n"))) <= width
        assert not [letter for letter in page if letter != "\n" and not letter.isprintable()]
    assert all(line.isprintable() for line in str(shows["schema"]).split("\n"))


def test_many_columns_and_many_components_are_cut_and_said():
    wide = sf.Mixture(sf.Normal(np.arange(60.0).reshape(2, 30), np.ones((2, 30))), weights=[0.5, 0.5])
    fit = sf.fit(wide, wide.sample(100, random_state=0), start=wide, max_iter=3)
    assert "\n  … and 14 more columns\n" in fit.summary(width=80)
    assert len(fit.summarize().rows) == 30
    k = 40
    crowd = sf.Mixture(sf.Normal(10 * np.arange(float(k))[:, None], np.ones((k, 1))), weights=np.full(k, 1 / k))
    page = sf.fit(crowd, crowd.sample(400, random_state=0), start=crowd, max_iter=2).summary(width=80)
    assert "… and 16 more components, " in page
    assert max(map(places, page.split("\n"))) <= 80


def test_names_are_made_visible_and_cut():
    assert display_name("a\r\n\tb\x00") == "a\\r\\n\\tb\\x00"
    assert display_name("\u202eabc\u2066") == "\\u202eabc\\u2066"
    assert display_name("e\u0301") == "e\u0301"  # a letter with its accent
    assert display_name("\u0301") == "\\u0301"
    assert display_name("") == "''"
    assert display_name(3.0) == "3"
    assert display_name("x" * 10_000, 10) == "x" * 9 + "…"
    assert places(display_name("名前" * 9, 10)) <= 10
    assert fitted("short", 5) == "short"
    assert [places(line) for line in sentence("a " + "b" * 500, 30)] == [1, 30, 30, 20]


def test_the_width_is_that_of_the_terminal_or_eighty(monkeypatch):
    assert line_width() == 80
    monkeypatch.setenv("COLUMNS", "100")
    assert line_width() == 80  # nobody prints to a terminal
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert line_width() == 100
    assert line_width(60) == 60


# ---- fits without rows, HTML, rich -----------------------------------------------------------------------------------
def test_a_fit_that_lost_its_rows_still_has_its_page():
    fresh = sf.fit(sf.Mixture(SCHEMA, 2), TABLE, random_state=0)
    copy = pickle.loads(pickle.dumps(fresh))  # noqa: S301 (our own bytes)
    mine, theirs = (one.summary(width=160).splitlines() for one in (fresh, copy))
    assert "ICL" in mine[1]
    assert "ICL" not in theirs[1]
    assert mine[2:] == theirs[2:]


def test_html_escapes_everything_and_closes_what_it_opens(shows):
    faces = [one for name, one in shows.items() if name != "classes"]  # its own face is scikit-learn's
    for one in [*faces, shows["mixture"].distribution, shows["classes"].distribution_]:
        text = "".join(read(one._repr_html_()).text)
        assert "\u202e" not in text
        assert "\x1b" not in text
    told = "".join(read(shows["mixture"]._repr_html_()).text)
    assert "<script>alert('x')</script>" in told  # as text
    assert f"Mixture of 3 components by maximum likelihood, 200 rows × {len(WILD)} columns" in told


def test_html_shows_the_components_and_their_information(mixture):
    seen = read(mixture._repr_html_())
    for j, share in enumerate(mixture.weights):
        assert f"{j}" in seen.text
        assert f": {percent(share)}" in seen.text
    assert f"{mixture.summarize().rows[0].information:.2f} " in seen.text
    assert seen.tags.count("table") == 1


def test_rich_draws_a_table_with_bars(shows):
    from rich.console import Console

    told = shows["explanation"]
    console = Console(width=100, color_system=None)
    with console.capture() as seen:
        console.print(told)
    assert f"{told.log_odds:+.4f}" in seen.get()
    assert "█" * 16 in seen.get()
    with console.capture() as page:
        for name in ("mixture", "selection", "schema", "belief"):
            console.print(shows[name])
    assert max(map(places, (seen.get() + page.get()).split("\n"))) <= 100
    assert shows["mixture"].summary(width=100) in page.get()


# ---- selections, beliefs, classifiers --------------------------------------------------------------------------------
def test_a_selection_marks_the_best_and_says_what_the_others_lack():
    found = sf.select(sf.Normal(), TABLE["size"][7:], n_components=range(1, 5), random_state=0)
    head, *rows = found.summary(width=80).splitlines()[1:]
    assert head.split()[-2:] == ["Δ", "BIC"]
    assert [row.startswith("▸ ") for row in rows] == [True, False, False, False]
    bics = np.array(found.table["bic"])
    assert [float(row.split()[-1]) for row in rows] == [round(bic - bics[0], 1) for bic in bics]
    narrow = found.summary(width=40).splitlines()
    assert max(map(places, narrow)) <= 40
    assert "BIC" in narrow[1]
    fit = found.fits[0]
    assert fit.trace.starts > 1
    assert 1 <= fit.trace.agreeing <= fit.trace.starts


def test_classes_are_columns_with_their_priors():
    labels = np.array(["low", "mid", "top"])[WHO]
    model = sf.NaiveBayes().fit(TABLE, labels)
    page = model.summary(width=120)
    assert page.startswith("NaiveBayes, 3 classes, 300 rows × 5 columns\n")
    head = next(line for line in page.splitlines() if "info" in line)
    assert [f"{name}: {percent(p)}" in head for name, p in zip(model.classes_, model.class_prior_, strict=True)] == [
        True
    ] * 3
    assert "knowing the class is worth" in page
    assert next(iter(model.summarize().information)) == "size"
    shares = [head.rows for head in model.summarize().components]
    np.testing.assert_array_equal(shares, np.bincount(WHO))


def test_beliefs_show_mean_spread_and_interval():
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=sf.Beta(1, 1))
    low, high = post.interval()
    assert str(post).splitlines()[0] == "Beta(a=3, b=2) about p of Bernoulli"
    line = next(line for line in str(post).splitlines() if line.startswith("  p"))
    assert line.split() == ["p", f"{post.mean:.5g}", f"{post.std:.5g}", f"{low:.5g}", "…", f"{high:.5g}"]
    assert f"log evidence −{-post.log_evidence:.1f}" in str(post)
    assert "\n" not in repr(post)


@pytest.mark.parametrize("width", [80, 120])
def test_names_that_begin_alike_are_distinguished(width):
    names = [f"income of the household in the year {year}, in euros" for year in range(2010, 2018)]
    x = RNG.normal(size=(60, 1)) + RNG.normal(size=(60, 8))
    page = sf.fit(sf.Product({tuple(names): sf.MultivariateNormal()}), dict(zip(names, x.T, strict=True))).summary(
        width
    )
    rows = [line.split("  ")[1] for line in page.splitlines() if line.startswith("  inc")]
    assert len(set(rows)) == len(rows) == 8
    assert max(map(places, page.splitlines())) <= width


def test_the_spread_of_a_mixture_inside_a_product_is_no_standard_error():
    fit = sf.fit(sf.Product({"size": sf.Mixture(sf.Normal(), 2), "noise": sf.Normal()}), TABLE, random_state=0)
    (line,) = (line for line in str(fit).splitlines() if line.startswith("  size"))
    assert line.count("(std ") == 2
    assert "±" not in line
    assert "2 × Normal" in line
