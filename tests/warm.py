"""The project's commands in a process of their own each, without half a second of imports each.

One process for each of pytest's workers loads pyinfra and the project, and forks a copy for every command. A copy
has the streams, environment, folder and words that it is given, and ends with an exit code, as the installed one
does. A test of start-up, imports, a terminal or signals needs the program itself, by `subprocess`.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 300
NO_PACKAGES = ("models", "templates")  # data, and programs of hosts


def run(
    program: str,
    *words: str,
    cwd: Path = ROOT,
    env: Mapping[str, str | None] | None = None,
    stdin: str = "",
    streams: Mapping[int, str | None] | None = None,
    gone: bool = False,
    timeout: float = TIMEOUT_S,
    server: Server | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `pyinfra` or `sparkrig` with these words, as `subprocess.run` would, with its output captured.

    env: added to this process's own, or taken out of it where it is None; streams: by number, a file in place of a
    standard stream, or None for one that is closed; gone: the working folder is removed under the command; server:
    another one than the usual. Raises TimeoutExpired, after the command was killed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "0").write_text(stdin)
        files = {**{fd: str(folder / str(fd)) for fd in range(3)}, **(streams or {})}
        whole = {key: value for key, value in {**os.environ, **(env or {})}.items() if value is not None}
        order = {
            "argv": [program, *words],
            "cwd": str(cwd),
            "env": whole,
            "streams": [files[fd] for fd in range(3)],
            "gone": gone,
        }
        code = (server or _server()).ask(order, timeout)
        out, err = (_text(folder / stream) for stream in "12")
    if code is None:
        raise subprocess.TimeoutExpired([program, *words], timeout, out, err)
    return subprocess.CompletedProcess([program, *words], code, out, err)


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


class Server:
    """A loaded process, over its standard streams: an order in, the copy's exit code out.

    program: Python that changes what is loaded, before the first order.
    """

    def __init__(self, program: str = "") -> None:
        words = [sys.executable, "-c", f"from tests import warm; warm.load()\n{program}\nwarm.serve()"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process: subprocess.Popen[str] = subprocess.Popen(words, cwd=ROOT, text=True, **pipes)  # type: ignore[call-overload]

    def ask(self, order: Mapping[str, Any], timeout: float) -> int | None:
        """The exit code of a copy that was given this order; None where its time was up."""
        assert self._process.stdin and self._process.stdout
        print(json.dumps({**order, "timeout": timeout}), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, "the process that runs the project's commands has ended"
        code: int | None = json.loads(answer)
        return code


@cache
def _server() -> Server:
    return Server()


@cache
def keep_catalogue() -> None:
    """Read the catalogue of the repository once in a process; any other folder is read each time."""
    files: Any = import_module("sparkrig.serving.io.catalogue_files")
    read, once = files.shipped, cache(files.shipped)
    kept = files.FOLDER
    files.shipped = lambda folder: once(folder) if folder == kept else read(folder)


def load() -> None:
    """Load what the commands load on their way, and read what they read of the repository."""
    metadata.entry_points = cache(metadata.entry_points)  # type: ignore[assignment] # pyinfra asks for each host
    import_module("pyinfra_cli.main")  # the first: it patches what all others import
    connectors = import_module("pyinfra.api.connectors")
    keep_catalogue()
    import_module("sparkrig.serving.io.catalogue_files").catalogue()
    known = import_module("sparkrig.serving.io.vllm_flags").knowledge()
    for release in known.releases:
        known.table(release)
    import_module("sparkrig.serving.io.lint_rules").rules()
    spare_pyinfra()
    _compile_once()
    depths = ("*.py", "*/*.py", "*/*/*.py")
    for file in sorted(file for depth in depths for file in (ROOT / "sparkrig").glob(depth)):
        name = file.relative_to(ROOT).with_suffix("")
        if name.parts[1] not in NO_PACKAGES and file.stem != "__init__":
            import_module(".".join(name.parts))
    connectors.get_all_connectors()
    inspect.stack()  # it looks through all modules once, and pyinfra asks for it at each operation
    gc.freeze()  # a copy that collects garbage would copy every page of this
    gc.set_threshold(50_000)


@cache
def spare_pyinfra() -> None:
    """Have pyinfra do once what it does again and again in one process with the same outcome.

    It imports nothing of pyinfra's command, which patches the threads of the process that it is in.
    """
    connectors: Any = import_module("pyinfra.api.connectors")
    connectors.entry_points = cache(connectors.entry_points)  # of each host
    arguments: Any = import_module("pyinfra.api.arguments")
    arguments.all_global_arguments = cache(arguments.all_global_arguments)  # of each operation
    util: Any = import_module("pyinfra.api.util")
    # of each frame, at each operation: it takes the file and the number, and not the lines around
    util.stack, util.getframeinfo = partial(inspect.stack, 0), partial(inspect.getframeinfo, context=0)


def _compile_once() -> None:
    cli: Any = import_module("pyinfra_cli.util")
    inventory: Any = import_module("pyinfra_cli.inventory")
    inventory._get_imported_names = cache(inventory._get_imported_names)  # for each setting, of one file
    cli.compile = cache(compile)  # by its text, of the deploys of the repository that most runs carry out
    for file in (ROOT / "deploys").glob("*.py"):
        for name in (str(file), f"deploys/{file.name}"):
            cli.compile(file.read_text(encoding="utf-8"), name, "exec")


def serve() -> None:
    """Fork a copy for each order on standard input, and print how it ended."""
    from gevent.monkey import get_original
    from gevent.os import fork

    wait = get_original("os", "waitpid")
    for line in sys.stdin:
        order = json.loads(line)
        pid = fork()
        if not pid:
            _become(order)
        print(json.dumps(_waited(pid, order["timeout"], wait)), flush=True)


def _waited(pid: int, timeout: float, wait: Any) -> int | None:
    """The exit code of a copy, negative for a signal; None where its time was up, and it was killed."""

    def kill(*_: object) -> None:
        os.kill(pid, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.setitimer(signal.ITIMER_REAL, timeout)
    _, status = wait(pid, 0)
    late = signal.setitimer(signal.ITIMER_REAL, 0)[0] == 0
    return None if late else os.waitstatus_to_exitcode(status)


def _become(order: Mapping[str, Any]) -> NoReturn:
    """Be the program that was ordered, and end as it does."""
    program, *_ = sys.argv[:] = order["argv"]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever began the tests may have ignored
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    if order["gone"]:
        Path(order["cwd"]).rmdir()
    sys.stdin, sys.stdout, sys.stderr = (_stream(fd, file) for fd, file in enumerate(order["streams"]))
    code = 1
    try:
        if program == "pyinfra":
            from pyinfra_cli.main import main
        else:
            from sparkrig.cli.main import main
        main()
        code = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(_flushed(code))


def _stream(fd: int, file: str | None) -> Any:
    """A standard stream, as Python makes it of a file, or of one that is closed."""
    if file is None:
        os.close(fd)
        return None
    handle = os.open(file, os.O_WRONLY | os.O_CREAT if fd else os.O_RDONLY, 0o600)
    os.dup2(handle, fd)
    os.close(handle)
    return os.fdopen(fd, "rww"[fd], -1, os.environ.get("PYTHONIOENCODING", "utf-8"))


def _flushed(code: int) -> int:
    """The exit code of a process whose last words may go nowhere: Python's own is 120 then."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream:
                stream.flush()
    except OSError:
        return 120
    return code
