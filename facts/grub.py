"""What decides which kernel GRUB boots next: its menu and its variables."""

from sparkrig import programs

GRUB = programs.text("facts/grub.sh").removesuffix("\n")
