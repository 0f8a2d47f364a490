"""Commands that are loaded when they are called, and one way for all of them to end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

EXIT = """\b
Exit codes: 0 done; 1 refused, with the reason; 2 the command line is wrong;
130 interrupted (Ctrl-C), the best so far is kept where there is one.
NO_COLOR and SUFFICE_DEBUG (tracebacks) are respected."""
REFUSED, INTERRUPTED = 1, 130
_heard: list[int] = []  # Ctrl-C, as long as nobody has answered


def listen() -> None:
    """Remember Ctrl-C: raised inside a callback of C, as while modules are loaded, it would be lost."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _hear)


def _hear(number: int, _frame: object) -> None:
    _heard.append(number)
    raise KeyboardInterrupt


def check_interrupt() -> None:
    """Raise what was lost."""
    if _heard:
        _heard.clear()
        raise KeyboardInterrupt


class Commands(click.Group):
    """A group that knows where its commands are, and imports one when it is asked for."""

    def __init__(self, name: str, where: Mapping[str, str], **settings: Any) -> None:
        """Keep the places of the commands, as ``module:name``."""
        super().__init__(name, epilog=EXIT, context_settings={"help_option_names": ["-h", "--help"]}, **settings)
        self.where = where
        self.params += [
            click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version,
                         help="Show the version and exit."),
            _traceback(),
        ]  # fmt: skip

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words of the command line, for what tells how it was made."""
        ctx.meta["suffice.words"] = tuple(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of work."""
        del ctx
        return list(self.where)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in self.where:
            return None
        module, _, name = self.where[cmd_name].partition(":")
        found: click.Command = getattr(import_module(module), name)
        if not any(option.name == "traceback" for option in found.params):
            reads = any(one.name in ("files", "file") for one in found.params)
            found.params += [*(_cells() if reads else ()), _traceback()]
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or say which one may have been meant."""
        if args and args[0] not in self.where and not args[0].startswith("-"):
            msg = f"there is no command {args[0]!r}{_meant(args[0], self.where)}"
            raise click.UsageError(msg, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; whatever it refuses becomes a message and an exit code."""
        _heard.clear()
        listen()
        with _warnings_as_notes():
            try:
                return super().invoke(ctx)
            except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
                raise
            except MemoryError:
                _problem("there is not enough memory for this; ask for fewer rows, or fewer components.")
                ctx.exit(REFUSED)
            except KeyboardInterrupt:
                _problem("interrupted, and nothing was written.")
                ctx.exit(INTERRUPTED)
            except Exception as error:  # noqa: BLE001 (each becomes a message; a developer asks for the rest)
                if _debugging():
                    traceback.print_exc(file=sys.stderr)
                _problem(explained(error))
                ctx.exit(REFUSED)


def _problem(text: str) -> None:
    from suffice.cli.terminal import problem

    problem(text)


def explained(error: BaseException) -> str:
    """What a user reads of an error: its own words where it is theirs to mend."""
    from suffice.errors import SufficeError
    from suffice.tables.frame import FrameError

    text = str(error)
    if isinstance(error, (SufficeError, FrameError)):
        return text
    if isinstance(error, OSError):
        reason = error.strerror or text
        return f"{error.filename}: {reason[:1].lower()}{reason[1:]}" if error.filename else text
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("suffice"):
        return f"{text}. This command needs it: pip install 'suffice[plot,app]'."
    return f"{type(error).__name__}: {text}\nThis looks like a fault in suffice; --traceback shows where it arose."


def _meant(word: str, known: Any) -> str:
    """A question back, where a known name is near to the word."""
    from difflib import get_close_matches

    near = get_close_matches(word, [str(one) for one in known], 1, 0.6)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(map(str, known))}."


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Show what the library warns of as notes; what other libraries warn of is for developers."""

    def shown(message: object, category: type[Warning], *place: Any, **more: Any) -> None:
        del place, more
        if category.__name__ in {"SufficeWarning", "ConvergenceWarning"} or _debugging():
            from suffice.cli.terminal import note

            note(f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = shown
        yield


def _debugging() -> bool:
    return bool(os.environ.get("SUFFICE_DEBUG"))


def _cells() -> list[click.Parameter]:
    """The options of every command that reads rows: how text files mark cells."""

    def kept(ctx: click.Context, option: click.Parameter, value: object) -> None:
        if value:
            ctx.meta[f"suffice.{option.name}"] = value

    between = "What stands between the cells of text files, where it is no comma, semicolon, tab or bar."
    absent = (
        "What means a missing cell in text files, beside an empty one; may be repeated, and '' means no word at all "
        "(default: NA, N/A, n/a, NaN, nan, null, NULL, None, #N/A and <NA>)."
    )
    return [
        click.Option(["--delimiter"], metavar="SIGN", expose_value=False, callback=kept, help=between),
        click.Option(
            ["--decimal"],
            metavar="SIGN",
            expose_value=False,
            callback=kept,
            help="The decimal sign of numbers in text files (default: a point).",
        ),
        click.Option(
            ["--encoding"],
            metavar="NAME",
            expose_value=False,
            callback=kept,
            help="The encoding of text files, such as latin1 or utf-16 (default: UTF-8).",
        ),
        click.Option(["--missing"], multiple=True, metavar="WORD", expose_value=False, callback=kept, help=absent),
    ]


def _traceback() -> click.Option:
    """The option of every command by which a developer sees where an error arose."""
    return click.Option(
        ["--traceback"],
        is_flag=True,
        expose_value=False,
        callback=_debug,
        help="Show where in the code an error arose.",
    )


def _debug(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        before = os.environ.get("SUFFICE_DEBUG")
        os.environ["SUFFICE_DEBUG"] = "1"

        def restore() -> None:
            if before is None:
                os.environ.pop("SUFFICE_DEBUG", None)

        ctx.find_root().call_on_close(restore)  # after the error was shown


def _version(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from suffice import __version__

        click.echo(f"suffice {__version__}")
        ctx.exit()
