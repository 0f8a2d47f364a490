"""What a person sees, what a pipe gets, and what strange data may not do to either."""

import csv
import io
import json
import os
import pty
import re
import select
import struct
import sys
import termios
from fcntl import ioctl

import pytest

from suffice.display.rich_text import styled

HOSTILE = {
    "\x1b[31mred\x1b[0m": [1.5, 2.5, 9.0, 3.5] * 5,
    "[bold]mark[/bold]": ["[red]a", "\x1b]0;title\x07", "b\u202ec", "ok"] * 5,
    "line\nbreak": [0, 1, 1, 0] * 5,
}


@pytest.fixture
def hostile(tmp_path):
    """A file whose names and values would move a cursor, set a title, turn a line, or be markup."""
    path = tmp_path / "hostile.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HOSTILE)
        writer.writerows(zip(*HOSTILE.values(), strict=True))
    return path


END = "-- end of a command --"
ONE_BY_ONE = f"""
import json, sys
from suffice.cli import main
for words in json.loads(sys.argv.pop()):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit:
        pass
    print({END!r}, flush=True)
"""


def seen(commands, environment, columns=80, **more):
    """What a terminal of some width gets, command by command; they share a process, for imports take longest."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update({**environment, "TERM": "xterm-256color", **more})
        told = json.dumps([list(map(str, words)) for words in commands])
        os.execv(sys.executable, [sys.executable, "-c", ONE_BY_ONE, told])  # noqa: S606
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    text = b""
    while select.select([terminal], [], [], 120)[0]:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.waitpid(child, 0)
    os.close(terminal)
    *pages, rest = text.decode().replace("\r\n", "\n").split(f"{END}\n")
    assert (len(pages), rest) == (len(commands), ""), text.decode()
    return pages


def test_colours_on_a_terminal_and_none_in_a_pipe(environment, process, penguins):
    assert "\x1b[1m" in seen([["inspect", penguins]], environment)[0]
    piped = process("inspect", penguins)
    assert "\x1b" not in piped.stdout
    assert all(line == line.rstrip() for line in piped.stdout.splitlines())


def test_no_color(environment, penguins):
    assert "\x1b[3" not in seen([["inspect", penguins]], environment, NO_COLOR="1")[0]


@pytest.mark.parametrize("columns", [80, 120])
def test_lines_fit_the_terminal(environment, penguins, model, columns):
    from rich.text import Text

    commands = (["inspect", penguins], ["show", model], ["ask", model, "sex"], ["explain", model, penguins])
    for page in seen(commands, environment, columns):
        assert max(map(len, Text.from_ansi(page).plain.splitlines())) <= columns


def test_a_live_line_on_a_terminal_and_a_few_lines_in_a_pipe(environment, process, penguins):
    page = seen([["fit", penguins, "--components", "3"]], environment)[0]
    assert "\x1b[2K" in page  # a line that is written again
    assert re.search(r"pass \d+ · log L", page)
    piped = process("fit", penguins, "--components", "3")
    assert "pass 1 · log L" in piped.stderr
    assert "rows/s" in piped.stderr
    assert "pass 3 ·" not in piped.stderr
    assert "pass 1" not in piped.stdout
    assert process("fit", penguins, "--components", "3", "--quiet").stderr == ""


def test_rows_are_csv_in_a_pipe_and_a_table_on_a_terminal(environment, process, penguins, model):
    piped = process("score", model, penguins).stdout
    rows = list(csv.DictReader(io.StringIO(piped)))
    assert len(rows) == 344
    assert set(rows[0]) == {"row", "log_prob"}
    page = seen([["score", model, penguins]], environment)[0]
    assert "… 334 more" in page


def test_hostile_names_and_values_are_harmless(run, environment, hostile, tmp_path):
    path = tmp_path / "m.json"
    commands = (
        ["inspect", hostile],
        ["fit", hostile, "--components", "1:2", "--out", path],
        ["show", path],
        ["predict", path, hostile, "--proba"],
        ["sample", path],
        ["ask", path, "[bold]mark[/bold]"],
        ["explain", path, hostile],
    )
    for words, page in zip(commands, seen(commands, environment, 120, NO_COLOR="1"), strict=True):
        for command in ("\x1b]0;", "\x1b[31m", "\u202e", "\x07"):
            assert command not in page, (words, page)
        if words[0] in {"inspect", "show", "ask"}:
            assert "[bold]mark[/bold]" in page, words
    assert "line\nbreak" not in run("inspect", hostile).stdout
    wrong = run("inspect", hostile, "--ignore", "\x1b[31mred", code=2)
    assert "\x1b[31m" not in wrong.stderr


def test_hostile_values_are_faithful_in_json_and_csv(run, hostile):
    found = json.loads(run("inspect", hostile, "--json").stdout)
    assert [one["name"] for one in found["columns"]] == list(HOSTILE)


def test_a_column_without_values_is_missing_as_a_whole(run, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("size,note,few\n" + "\n".join(f"{i / 7:.3f},,{i or ''}" for i in range(300)) + "\n")
    lines = {line.split()[0]: line for line in run("inspect", path).stdout.splitlines()[2:]}
    assert " 100 %  no value at all" in lines["note"]
    assert " 0.3 %  " in lines["few"]


def test_lines_that_go_on_look_like_their_beginning():
    page = styled(
        "Mixture of 2 components, 9 cells\n  missing\nconverged\n  info: how much\n  it is\n  what sets them apart:"
    )
    styles = {page.plain[span.start : span.end].strip(): str(span.style) for span in page.spans}
    assert styles == {
        "Mixture of 2 components, 9 cells": "bold",
        "missing": "bold",
        "info: how much": "dim",
        "it is": "dim",
    }
