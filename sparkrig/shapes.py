"""The shapes that texts of the settings have, and how an error names them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    StringConstraints,
)

from sparkrig.parsing import grammar, hub

# what stands before the name of the host that is the machine which runs sparkrig
HERE = "@here/"

NetdevName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,15}$")]

UserName = Annotated[str, StringConstraints(pattern=rf"^{grammar.USER.pattern}$")]

DefinitionName = Annotated[str, StringConstraints(pattern=r"^[^\r\n]+$")]

# it stands in names of files, too
GroupName = Annotated[str, StringConstraints(pattern=r"^[^\r\n]{1,64}$")]

VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]

OneLine = Annotated[str, StringConstraints(pattern=r"^[^\r\n]*$")]

FlagName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$")]

ImageName = Annotated[str, StringConstraints(pattern=r"^[^\s-][^\s]*$")]

_OCTET, _FIRST = (rf"(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|{rest})" for rest in ("[1-9]?[0-9]", "[1-9][0-9]?"))
# not 0.0.0.0, which is `all`
ListenPlace = Annotated[str, StringConstraints(pattern=rf"^(local|management|all|{_FIRST}(\.{_OCTET}){{3}})$")]

# a folder by that name, so no dot in front
PART = "[A-Za-z0-9][A-Za-z0-9_.-]*"
DraftName = Annotated[str, StringConstraints(pattern=rf"^(none|{PART}/{PART}|(/{PART})+)$")]
GgufName = Annotated[str, StringConstraints(pattern=rf"^{PART}/{PART}/{PART}\.gguf$")]

Folder = Annotated[str, StringConstraints(pattern=r"^/[A-Za-z0-9._/-]*[A-Za-z0-9._-]$")]

# of units and folders (sparkrig/serving/served.py)
ServiceName = Annotated[str, StringConstraints(pattern=r"^([a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?)?$")]

Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9A-F]{40}$")]

ToolkitVersion = Annotated[str, StringConstraints(pattern=r"^[0-9][^\s]*$")]

ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][\w./-]*$")]

RecipeName = Annotated[str, StringConstraints(pattern=r"^[^\s-].*$")]


Revision = Annotated[str, StringConstraints(pattern=rf"^{hub.REVISION.pattern}$")]

Digest = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]

# Where a secret comes from on the machine that runs pyinfra: never the secret itself.
Source = Annotated[str, StringConstraints(pattern=r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:(/|~/)[^\x00\r\n]+)$")]

# What is expected, in the error about a text that does not fit.
SHAPES: dict[Any, str] = {
    NetdevName: "the name of a netdev (up to 15 letters, digits and . _ -)",
    DefinitionName: "the name of a definition, on one line",
    VariableName: "the name of a variable (letters, digits and _, no digit first)",
    OneLine: "a text on one line",
    FlagName: "the name of a flag (small letters, digits and -, no dash in front)",
    GroupName: "a name of 1 to 64 characters on one line",
    ImageName: "the name of an image, without blanks",
    DraftName: "none, OWNER/NAME or the folder of a draft model",
    GgufName: "OWNER/NAME/FILE.gguf",
    ListenPlace: "local, management, all or an IPv4 address",
    ServiceName: "the name of a service (up to 24 small letters, digits and -, none in front or at the end)",
    Folder: "a folder (/ and letters, digits and . _ -, no slash at its end)",
    Fingerprint: "a fingerprint of 40 hex digits in capitals",
    ToolkitVersion: "a version that begins with a digit, without blanks",
    ModelName: "the name of a model or checkpoint (letters, digits and . _ / -)",
    RecipeName: "the path of a file, with # and a variant behind it where it has several",
    Revision: "a commit of 40 hex digits in small letters",
    Digest: "sha256: and 64 hex digits in small letters",
    Source: "a source (env:NAME, or file:/path)",
}
