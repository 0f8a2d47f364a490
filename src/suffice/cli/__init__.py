"""The command line: `suffice` and its commands.

This module loads click and nothing else, so that help and completion come at once; a command is loaded when it is
called, and what it needs when it runs.
"""

from __future__ import annotations

import sys

from suffice.cli.group import Commands

COMMANDS = {
    "inspect": "suffice.cli.inspect:inspect",
    "fit": "suffice.cli.fit:fit",
    "show": "suffice.cli.show:show",
    "report": "suffice.cli.show:report",
    "merge": "suffice.cli.show:merge",
    "score": "suffice.cli.rows:score",
    "predict": "suffice.cli.rows:predict",
    "decode": "suffice.cli.sequences:decode",
    "forecast": "suffice.cli.sequences:forecast",
    "impute": "suffice.cli.rows:impute",
    "sample": "suffice.cli.rows:sample",
    "ask": "suffice.cli.ask:ask",
    "explain": "suffice.cli.ask:explain",
    "demo": "suffice.cli.demo:demo",
    "completion": "suffice.cli.completion:completion",
}

cli = Commands(
    "suffice",
    COMMANDS,
    help="""Learn probability distributions from tables, and ask them questions.

    \b
    suffice inspect penguins.csv
    suffice fit penguins.csv --out model.json --report report.html
    suffice ask model.json bill_length_mm --given species=Gentoo
    """,
)


def main() -> None:
    """Run the command that the arguments name."""
    if sys.stdout is None:  # closed, as by >&-
        sys.exit("suffice: standard output is closed; send it to a file, or to /dev/null.")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a sign shows another
            stream.reconfigure(errors="replace")
    cli.main(prog_name="suffice")
