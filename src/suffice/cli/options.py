"""Options that several commands share."""

from __future__ import annotations

import click

MODEL = click.argument("model", type=click.Path(), metavar="MODEL")
FILES = click.argument("files", nargs=-1, required=True)
OUT = click.option("--out", type=click.Path(), metavar="FILE", help="Write a .csv, .parquet or .json file.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
LEVEL = click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="The probability that an interval holds.",
)
SEQUENCE = click.option("--sequence", metavar="COLUMN", help="Rows with the same value here are one sequence.")
ORDER = click.option("--order", metavar="COLUMN", help="The column, such as a time, that sorts the rows of a sequence.")
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Of the draws.")
