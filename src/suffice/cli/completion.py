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
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    from suffice.cli import cli

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    click.echo(kind(cli, {}, "suffice", "_SUFFICE_COMPLETE").source())
