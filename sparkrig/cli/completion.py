"""`sparkrig completion`: what a shell has to know to complete this command."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from sparkrig.io import terminal

_SHELLS: dict[str, type[ShellComplete]] = {each.name: each for each in (BashComplete, FishComplete, ZshComplete)}


@click.command()
@click.argument("shell", type=click.Choice([*_SHELLS]))
def completion(shell: str) -> None:
    """Print a script that makes SHELL complete verbs, options, inventories and other words.

    \b
    In every new shell:
      bash  echo 'eval "$(sparkrig completion bash)"' >>~/.bashrc
      fish  sparkrig completion fish >~/.config/fish/completions/sparkrig.fish
      zsh   echo 'eval "$(sparkrig completion zsh)"' >>~/.zshrc

    It is sparkrig itself that answers, so it has to be on the PATH; the script stays good when a new verb comes.
    """
    name = "sparkrig"
    terminal.echo(_SHELLS[shell](click.Command(name), {}, name, "_SPARKRIG_COMPLETE").source())
