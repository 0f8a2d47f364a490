"""`suffice completion`: what a shell needs to complete commands, options and files."""

from __future__ import annotations

import click

SHELLS = ("bash", "fish", "zsh")
USE = """\b
eval "$(suffice completion bash)"      in ~/.bashrc
eval "$(suffice completion zsh)"       in ~/.zshrc
suffice completion fish > ~/.config/fish/completions/suffice.fish"""


@click.command(epilog=USE)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class

    from suffice.cli import cli

    kind = get_completion_class(shell)
    if kind is None:  # pragma: no cover (click has the three)
        msg = f"click has no completion for {shell}."
        raise click.UsageError(msg)
    click.echo(kind(cli, {}, "suffice", "_SUFFICE_COMPLETE").source())
