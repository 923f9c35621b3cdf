"""Every file that this toolkit writes on a host, so that one look reads them all."""

from __future__ import annotations

from sparkrig.files import DECLARED, Managed
from sparkrig.resources.state import RESOURCES

# those of each resource, and what a run keeps of itself
FILES: tuple[Managed, ...] = (*(file for resource in RESOURCES for file in resource.files), Managed(DECLARED))

# what the look at files reads
OWNED = tuple(file.path for file in FILES if file.kind in ("owned", "seen"))

# Ours too, but for root alone: a look reads no content of it.
PRIVATE = tuple(file.path for file in FILES if file.kind == "private")

# Every file that a run may write; others' files among them are merged into.
WRITTEN = tuple(file.path for file in FILES if file.kind != "seen")

# The one that docker starts with: an undo asks docker first, and restarts it.
[RESTARTING] = [file.path for file in FILES if file.restarts]

# What goes with a file where an undo removes it.
BESIDE = {file.path: file.beside for file in FILES if file.beside}

# How a file is merged.
FORMS = {file.path: file.form for file in FILES}

# Packages that a deploy may install, whose coming a run notes.
PACKAGES = tuple(package for resource in RESOURCES for package in resource.packages)

# What makes a service read a file again.
RELOADS = {file.path: file.reload for file in FILES if file.reload}

# Those that can strand a host, each with what it is, in words: they change under guard alone.
GUARDED = {file.path: each.guard.what for each in RESOURCES if each.guard for file in each.files}
