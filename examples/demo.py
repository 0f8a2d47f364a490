"""The command line at work on 344 penguins, as `suffice demo` shows it; what it writes is in build/demo."""

from __future__ import annotations

from suffice.cli import cli

if __name__ == "__main__":
    cli(["demo", "--dir", "build/demo"], prog_name="suffice")
