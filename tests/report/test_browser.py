"""The report in a browser: nothing overflows, nothing is empty, nothing complains, on wide and narrow screens."""

import pytest

import suffice as sf

SIZES = """return [...document.querySelectorAll('svg, img, svg image')].map(one => {
    const box = one.getBoundingClientRect(); return [box.width, box.height]; })"""
# what sticks out of the page, and is not inside a box that scrolls by itself
OUT = """return [...document.querySelectorAll('body *')].filter(one => {
    if (one.closest('.scroll, .wide, svg')) return false;
    return one.getBoundingClientRect().right > window.innerWidth + 1; }).map(one => one.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def files(tmp_path_factory, chosen, mixed, mixed_fit, hostile):
    folder = tmp_path_factory.mktemp("reports")
    table, fit = hostile
    return {
        "chosen": sf.report.write(chosen, None, folder / "chosen.html", command="suffice fit faithful.csv"),
        "mixed": sf.report.write(mixed_fit, mixed, folder / "mixed.html"),
        "hostile": sf.report.write(fit, table, folder / "hostile.html", title="<script>alert(5)</script>" + "y" * 500),
    }


@pytest.mark.parametrize("dress", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("which", ["chosen", "mixed", "hostile"])
def test_it_fits_the_window_without_a_complaint(files, shown_at, which, width, dress):
    browser = shown_at(files[which], width, dress)
    script = browser.execute_script
    assert script("return window.innerWidth") == width
    assert script("return document.scrollingElement.scrollWidth") <= width
    assert script(OUT) == []
    sizes = script(SIZES)
    assert len(sizes) >= 8
    assert all(wide > 0 and tall > 0 for wide, tall in sizes)
    assert browser.get_log("browser") == []
    assert script("return document.scripts.length") == 0


def test_headings_come_in_order(files, shown_at):
    browser = shown_at(files["chosen"], 1280)
    heads = browser.execute_script("return [...document.querySelectorAll('h1, h2')].map(one => one.innerText)")
    assert heads[0].startswith("A report on 3 × MultivariateNormal") or heads[0].startswith("A report on 2 ×")
    assert heads[1:4] == ["Overview", "Alerts", "Runners-up"]
    assert heads[-1] == "Provenance"


def test_ink_stands_out_from_paper_in_both_dresses(files, shown_at):
    for dress in ("light", "dark"):
        browser = shown_at(files["mixed"], 1280, dress)
        ink, paper = browser.execute_script(
            "const one = document.querySelector('section svg text');"
            "return [getComputedStyle(one).fill, getComputedStyle(one.closest('section')).backgroundColor]"
        )
        light, dark = (sum(int(part) for part in text[4:-1].split(",")[:3]) for text in (paper, ink))
        assert abs(light - dark) > 250, (dress, ink, paper)


def test_hostile_names_run_nothing(files, shown_at):
    browser = shown_at(files["hostile"], 1280)
    text = browser.execute_script("return document.body.innerText")
    assert "<script>alert(1)</script>" in text
    assert "{{7*7}}" in text
    assert browser.title.startswith("<script>alert(5)</script>")
    figures = browser.execute_script("return [...document.querySelectorAll('svg text')].map(one => one.textContent)")
    assert "$x_$" in figures  # and not as mathematics
    assert "<script>alert(1)</script>" in figures
