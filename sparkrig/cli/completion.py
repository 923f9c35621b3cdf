"""`sparkrig completion`: what a shell has to know to complete this command."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from sparkrig.terminal import terminal

_SHELLS: dict[str, type[ShellComplete]] = {each.name: each for each in (BashComplete, FishComplete, ZshComplete)}


@click.command()
@click.argument("shell", type=click.Choice([*_SHELLS]))
def completion(shell: str) -> None:
    """Print a script that completes verbs, options, inventories and other words in your shell.

    \b
    To load it in every new shell:
      bash  echo 'eval "$(sparkrig completion bash)"' >>~/.bashrc
      fish  sparkrig completion fish >~/.config/fish/completions/sparkrig.fish
      zsh   echo 'eval "$(sparkrig completion zsh)"' >>~/.zshrc

    The script asks sparkrig itself, which must be on the PATH. So it needs no update when a verb is added.
    """
    name = "sparkrig"
    terminal.echo(_SHELLS[shell](click.Command(name), {}, name, "_SPARKRIG_COMPLETE").source())
