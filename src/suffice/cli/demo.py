"""`suffice demo`: what the commands do, on penguins that come with the package."""

from __future__ import annotations

import time
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

OTHERS = ("species", "island", "sex", "year")  # beside the four measurements
FILES = {
    "model.json": "the model: any text editor shows it, sf.load reads it",
    "report.html": "a page about it, for a browser",
    "filled.csv": "the penguins without holes",
}


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False),
    default="suffice-demo",
    show_default=True,
    help="Where the demo puts its files.",
)
def demo(folder: str) -> None:
    """Show suffice at work on 344 penguins, in less than a minute."""
    from suffice.cli.terminal import heading, say

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    say("344 penguins of three species, measured on three islands of Antarctica; 19 cells are missing.")
    say(f"\n$ cd {folder}", "bold cyan")
    with chdir(place):
        _tour(heading)
        heading(f"Done in {time.monotonic() - begun:.0f} seconds")
    for name, what in FILES.items():
        if (place / name).exists():
            say(f"{place / name}  {what}")


def _tour(heading: Any) -> None:
    """All steps, in the folder of the demo."""
    from suffice.cli.terminal import note

    data = "penguins.csv"
    Path(data).write_bytes((Path(__file__).parents[1] / "data" / data).read_bytes())

    heading("1  What is in the file?")
    run(["inspect", data], "sf.infer(df)")

    heading("2  Hide the species, and let the rows fall into groups")
    page = ["--report", "report.html"] if all(map(find_spec, ("jinja2", "matplotlib"))) else []
    learn = ["fit", data, "--ignore", "species", "--out", "model.json", *page, "--quiet"]
    run(learn, "sf.select(sf.infer(df, species=None), df, n_components=range(1, 10), random_state=0).best")
    if not page:
        note("no report: it needs pip install 'suffice[plot,app]'")
    groups(data, "model.json")

    heading("3  Four measurements with their correlations, three groups")
    ignored = [word for name in OTHERS for word in ("--ignore", name)]
    learn = ["fit", data, "--joint", "--components", "3", *ignored, "--out", "three.json", "--quiet"]
    run(learn, "sf.fit(sf.Mixture(sf.infer(df[measurements], joint=True), 3), df, random_state=0)")
    agreement(data, "three.json")

    heading("4  Ask it")
    asked = ["ask", "model.json", "body_mass_g", "--given", "island=Biscoe", "--given", "sex=female"]
    run(asked, 'fit.given(island="Biscoe", sex="female").marginal("body_mass_g")')
    run(["ask", "model.json", "sex", "--given", "body_mass_g=5800"], 'fit.given(body_mass_g=5800).marginal("sex")')

    heading("5  Fill the holes")
    run(["impute", "model.json", data, "--out", "filled.csv"], "fit.impute(df)")
    holes(data, "filled.csv")

    heading("6  Penguins that never were")
    run(["sample", "model.json", "-n", "5"], 'sf.load("model.json").sample(5, random_state=0)')


def run(words: list[str], python: str) -> None:
    """Show a command and the same in Python, and do it."""
    from suffice.cli import cli
    from suffice.cli.terminal import say

    say(f"$ suffice {' '.join(words)}", "bold cyan")
    say(f"# in Python: {python}", "dim")
    say()
    code = cli.main(words, prog_name="suffice", standalone_mode=False)
    if code:
        click.get_current_context().exit(code)
    say()


def groups(data: str, model: str) -> None:
    """Who is in which group: the species were hidden."""
    import numpy as np

    from suffice.cli.terminal import say, table

    rows, components = _components(data, model)
    species, sex = (np.array(rows[name].to_pylist(), dtype=object) for name in ("species", "sex"))
    kinds = sorted(set(species))
    lines, right = [], 0
    for one in np.unique(components):
        mine = components == one
        counts = [int((mine & (species == kind)).sum()) for kind in kinds]
        right += max(counts)
        females, males = (int((mine & (sex == which)).sum()) for which in ("female", "male"))
        lines.append([str(one), *(str(count or "·") for count in counts), str(females or "·"), str(males or "·")])
    table(["component", *kinds, "female", "male"], lines, right=range(len(kinds) + 3))
    say(
        f"\n{right / len(components):.1%} of the penguins are in a group whose majority is their species, unseen.",
        "green",
    )


def agreement(data: str, model: str) -> None:
    """How well groups and species agree."""
    from sklearn.metrics import adjusted_rand_score

    from suffice.cli.terminal import say

    rows, components = _components(data, model)
    index = adjusted_rand_score(rows["species"].to_pylist(), components)
    say(f"Adjusted Rand index of the three groups against the species, unseen: {index:.3f}", "green")


def holes(data: str, filled: str) -> None:
    """Some rows that had holes, with what was filled in marked."""
    from rich.text import Text

    from suffice.cli.data import frames, opened
    from suffice.cli.terminal import banks

    (before,), (after,) = ([*frames(opened([path]))] for path in (data, filled))
    lines: list[Any] = []
    for number, (old, new) in enumerate(zip(before.to_pylist(), after.to_pylist(), strict=True)):
        if None in old.values() and len(lines) < 5:
            cells = [(_short(new[name]), "green bold" if old[name] is None else "dim") for name in old]
            lines.append([str(number), *(Text(text, style) for text, style in cells)])
    banks(["row", *before.column_names], lines, right=(0,))


def _components(data: str, model: str) -> Any:
    import suffice as sf
    from suffice.cli.data import frames, opened

    (rows,) = frames(opened([data]))
    return rows, sf.load(model).predict(rows)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
