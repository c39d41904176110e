"""The client for threads: a thread reads, callers wait. Use `connect`."""

from __future__ import annotations

import collections
import socket as sockets
import subprocess
import tempfile
import threading
from types import TracebackType
from typing import (IO, Any, Callable, Deque, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union)

from . import _wire
from ._wire import Argv, Credit, Json, Lines, Manifest, Result
from .errors import ConnectionLostError, SbxError, UnavailableError

_READ = 64 * 1024
_LAST_WORDS = 2.0


class _Link:
    """Bytes to and from a service."""

    def __init__(self, what: str, reader: Callable[[int], bytes], writer: Callable[[bytes], Any],
                 closer: Callable[[], None], child: Optional["subprocess.Popen[bytes]"] = None,
                 words: Optional[IO[bytes]] = None) -> None:
        self.what, self.read, self.write, self.close, self.child = what, reader, writer, closer, child
        self._words = words

    def last_words(self) -> str:
        """What a service of our own said before it ended."""
        if self._words is None or self.child is None:
            return ""
        try:
            self.child.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            pass
        with self._words as words:
            words.seek(0)
            said = words.read(4096).decode("utf-8", "replace").strip().splitlines()
        self._words = None
        return ": " + "; ".join(said[-2:]) if said else ""


def _from_socket(place: str) -> _Link:
    sock = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
    try:
        sock.connect(place)
    except OSError:
        sock.close()
        raise

    def close() -> None:
        try:
            sock.shutdown(sockets.SHUT_RDWR)
        except OSError:
            pass
        sock.close()
    return _Link(place, sock.recv, sock.sendall, close)


def _from_child(command: Sequence[str], env: Optional[Mapping[str, str]]) -> _Link:
    words = tempfile.TemporaryFile()
    try:
        child = subprocess.Popen(list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words,
                                 bufsize=0, env=None if env is None else dict(env))
    except OSError as error:
        words.close()
        raise UnavailableError(f'cannot start "{command[0]}": {error}',
                               data={"name": "unavailable", "hint": "install sbx, or name it with program="}) from error
    assert child.stdin is not None and child.stdout is not None
    source, sink = child.stdout, child.stdin

    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[sink.write(view) or 0:]

    def close() -> None:
        try:
            sink.close()
        except OSError:
            pass
    return _Link(" ".join(command), source.read, write, close, child, words)


def _open(socket: Optional[str], start: str, program: Optional[str], command: Optional[Sequence[str]],
          env: Optional[Mapping[str, str]]) -> _Link:
    tried: List[str] = []
    listed = [] if start == "always" else [socket] if socket else _wire.places(env)
    for place in listed:
        try:
            return _from_socket(place)
        except OSError as error:
            tried.append(f"{place} ({error.strerror or error})")
    if start == "never" or socket:
        raise UnavailableError("no sbx service answers: " + ", ".join(tried),
                               data={"name": "unavailable", "retryable": True,
                                     "hint": 'start it with "sbx serve", or let the client start one'})
    return _from_child(_wire.own_command(program, command), env)


class Output:
    """What a box writes: an iterator of bytes. What is not taken stops the box."""

    def __init__(self, run: "Run", stream: str, window: int) -> None:
        self._run, self._stream, self._credit = run, stream, Credit(window)
        self._waiting: Deque[bytes] = collections.deque()
        self._over = False

    def __iter__(self) -> Iterator[bytes]:
        while True:
            data = self.take()
            if data is None:
                return
            yield data

    def read(self) -> bytes:
        """All that is left."""
        return b"".join(self)

    def take(self) -> Optional[bytes]:
        """The next piece, None at the end."""
        run = self._run
        with run._changed:
            run._changed.wait_for(lambda: self._waiting or self._over)
            if not self._waiting:
                if run._error is not None:
                    raise run._error
                return None
            data = self._waiting.popleft()
        self._give(len(data))
        return data

    def _give(self, count: int) -> None:
        owed = self._credit.taken(count)
        if owed and not self._over:
            self._run._client._notify("run.credit", {"run": self._run.id, "stream": self._stream, "bytes": owed})


class Run:
    """A command in a box. As a context manager it is cancelled when it is left before its end."""

    def __init__(self, client: "Client", answer: Json, tty: bool, stdin: bool) -> None:
        self._client = client
        self._changed = threading.Condition()
        self._error: Optional[SbxError] = None
        self._result: Optional[Result] = None
        self._room = int(client.limits["stdinWindow"])
        self._order: Deque[Output] = collections.deque()
        self.id: str = answer["run"]
        self.backend: str = answer.get("backend", "")
        self.digest: str = answer.get("digest", "")
        self.warm: bool = bool(answer.get("warm"))
        self.pid: Optional[int] = None
        self.evidence: Any = None
        self.denials: List[Json] = []
        self.has_stdin = stdin or tty
        window = int(client.limits["window"])
        self.stdout = Output(self, "tty" if tty else "stdout", window)
        self.stderr = Output(self, "stderr", window)
        self.stderr._over = tty

    def output(self) -> Iterator[Tuple[str, bytes]]:
        """Both streams as they come: ("stdout" or "stderr", bytes). Not together with reading one of them."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._order or (self.stdout._over and self.stderr._over))
                if not self._order:
                    if self._error is not None:
                        raise self._error
                    return
                source = self._order.popleft()
                data = source._waiting.popleft()
            source._give(len(data))
            yield ("stderr" if source is self.stderr else "stdout"), data

    def write(self, data: bytes) -> None:
        """Waits until the service has room for it."""
        view = memoryview(data)
        while view:
            with self._changed:
                self._changed.wait_for(lambda: self._room > 0 or self.ended)
                if self.ended:
                    raise self._error or SbxError("the run has ended: its input is closed", data={"name": "ended"})
                part = bytes(view[:min(_wire.INPUT_CHUNK, self._room)])
                self._room -= len(part)
            view = view[len(part):]
            self._client._ask("run.stdin", _wire.stdin_params(self.id, part))

    def close_stdin(self) -> None:
        if not self.ended:
            self._client._ask("run.stdin", {"run": self.id, "data": "", "eof": True})

    def kill(self, signal: str = "TERM") -> None:
        """INT, TERM, HUP, QUIT, KILL, USR1 or USR2."""
        self._client._ask("run.signal", {"run": self.id, "signal": signal[3:] if signal.startswith("SIG") else signal})

    def resize(self, rows: int, cols: int) -> None:
        self._client._ask("run.resize", {"run": self.id, "rows": rows, "cols": cols})

    def cancel(self) -> None:
        """Ends it; wait() then says how it ended."""
        if not self.ended:
            self._client._ask("run.cancel", {"run": self.id})

    @property
    def ended(self) -> bool:
        return self._result is not None or self._error is not None

    def wait(self, timeout: Optional[float] = None) -> Result:
        """The outcome; any number of times. TimeoutError when it still runs after so many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.ended, timeout):
                raise TimeoutError(f"run {self.id} has not ended")
        if self._result is None:
            assert self._error is not None
            raise self._error
        return self._result

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if not self.ended:
            try:
                self.cancel()
            except SbxError:
                pass

    def _take(self, method: str, params: Json) -> None:
        with self._changed:
            source = self.stderr if params.get("stream") == "stderr" else self.stdout
            if method == "output":
                source._waiting.append(_wire.bytes_of(params))
                self._order.append(source)
            elif method == "closed":
                source._over = True
            elif method == "stdin":
                self._room += int(params["bytes"])
            elif method == "started":
                self.pid, self.evidence = params.get("pid"), params.get("evidence")
            elif method == "denied":
                self.denials.append(params)
            elif method == "exited":
                self.stdout._over = self.stderr._over = True
                self._result = Result(params["result"])
            self._changed.notify_all()

    def _lost(self, error: SbxError) -> None:
        with self._changed:
            self._error = error
            self.stdout._over = self.stderr._over = True
            self._changed.notify_all()


class Client:
    """A connection to a service; safe for several threads. As a context manager it is closed when it is left."""

    def __init__(self, link: _Link) -> None:
        self._link = link
        self._lines = Lines()
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._answers: Dict[int, Any] = {}
        self._asked: Dict[int, bool] = {}
        self._runs: Dict[str, Run] = {}
        self._early: Dict[str, List[Tuple[str, Json]]] = {}
        self._error: Optional[SbxError] = None
        self.limits: Dict[str, int] = {}
        self.server: Dict[str, str] = {}
        self.platform = ""
        self.connection = ""
        self._reader = threading.Thread(target=self._read, name="sbx client", daemon=True)
        self._reader.start()

    def _hello(self, name: str, version: str) -> None:
        answer = self._ask("hello", _wire.hello(name, version))
        self.server, self.platform, self.connection = answer["server"], answer["platform"], answer["connection"]
        self.limits = answer["limits"]
        self._lines.line_max = min(int(self.limits["line"]), _wire.LINE_MAX)

    # ---- runs ----

    def start(self, argv: Argv, *, stdin: bool = False, tty: Optional[Tuple[int, int]] = None,
              cwd: Optional[str] = None, env: Optional[Mapping[str, str]] = None,
              manifest: Optional[Mapping[str, Any]] = None, manifest_file: Optional[str] = None,
              mode: Optional[str] = None, profile: Optional[str] = None, timeout_ms: Optional[int] = None,
              session: Optional[str] = None, credit: Optional[int] = None, evidence: Optional[bool] = None,
              label: Optional[str] = None, sandbox: Optional[str] = None,
              allow_no_sandbox: Optional[bool] = None) -> Run:
        """Starts a command. Read its output: what is not taken stops the box."""
        params = _wire.start_params(argv, {
            "cwd": cwd, "env": None if env is None else dict(env), "manifest": manifest, "manifest_file": manifest_file,
            "mode": mode, "profile": profile, "timeout_ms": timeout_ms, "session": session, "credit": credit,
            "evidence": evidence, "label": label, "sandbox": sandbox, "allow_no_sandbox": allow_no_sandbox,
            "stdin": "pipe" if stdin else None, "tty": {"rows": tty[0], "cols": tty[1]} if tty else None})
        answer = self._ask("run.start", params)
        run = Run(self, answer, tty is not None, stdin)
        with self._changed:
            self._runs[run.id] = run
            early = self._early.pop(run.id, [])
            error = self._error
            for method, told in early:
                self._notified(method, told)
        if error is not None:
            run._lost(error)
        return run

    def run(self, argv: Argv, *, input: Union[bytes, str, None] = None, max_output: int = _wire.OUTPUT_MAX,
            on_stdout: Optional[Callable[[bytes], Any]] = None, on_stderr: Optional[Callable[[bytes], Any]] = None,
            **options: Any) -> Result:
        """Runs a command to its end and collects what it wrote, or calls on_stdout and on_stderr with each piece."""
        kept: Dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        listeners = {"stdout": on_stdout, "stderr": on_stderr}
        truncated = False
        with self.start(argv, stdin=input is not None or bool(options.pop("stdin", False)), **options) as run:
            feeder = None
            if input is not None:
                data = input.encode() if isinstance(input, str) else input
                feeder = threading.Thread(target=_feed, args=(run, data), daemon=True)
                feeder.start()
            for stream, piece in run.output():
                listener = listeners[stream]
                if listener is not None:
                    listener(piece)
                    continue
                room = max_output - len(kept[stream])
                truncated = truncated or len(piece) > room
                kept[stream] += piece[:max(room, 0)]
            result = run.wait()
            if feeder is not None:
                feeder.join()
        result.stdout, result.stderr, result.truncated = bytes(kept["stdout"]), bytes(kept["stderr"]), truncated
        return result

    # ---- the rest ----

    def explain(self, argv: Argv = (), **options: Any) -> Json:
        return dict(self._ask("plan.explain", _wire.start_params(argv, options)))

    def verify(self, manifest: Manifest) -> Json:
        """A file, or the manifest itself."""
        return dict(self._ask("manifest.verify", _wire.verify_params(manifest)))

    def doctor(self) -> Json:
        return dict(self._ask("doctor", {}))

    def ping(self) -> None:
        self._ask("ping", {})

    def list(self) -> List[Json]:
        return [dict(row) for row in self._ask("run.list", {})["runs"]]

    def open_session(self, name: Optional[str] = None, shared_network: Optional[bool] = None) -> str:
        params = {"name": name, "sharedNetwork": shared_network}
        return str(self._ask("session.open", {key: value for key, value in params.items() if value is not None})["session"])

    def close_session(self, session: str) -> None:
        self._ask("session.close", {"session": session})

    def close(self) -> None:
        """Ends what still runs, and the connection."""
        if self._error is None:
            try:
                self._ask("shutdown", {})
            except SbxError:
                pass
            self._lost(ConnectionLostError("the client was closed", data={"name": "closed"}))
        if self._link.child is not None:
            self._link.child.wait()
        if threading.current_thread() is not self._reader:
            self._reader.join()
        if self._link.child is not None and self._link.child.stdout is not None:
            self._link.child.stdout.close()
            self._link.last_words()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    # ---- lines ----

    def _send(self, method: str, params: Json, number: Optional[int] = None) -> None:
        line = self._lines.encode(method, params, number)
        try:
            with self._sending:
                self._link.write(line)
        except (OSError, ValueError) as error:
            self._reader.join(2 * _LAST_WORDS)  # it knows more
            self._lost(ConnectionLostError(f"the connection to {self._link.what} ended: {error}"))
            assert self._error is not None
            raise self._error from error

    def _ask(self, method: str, params: Json) -> Any:
        with self._changed:
            if self._error is not None:
                raise self._error
            number = self._lines.next_id()
            self._asked[number] = True
        try:
            self._send(method, params, number)
            with self._changed:
                self._changed.wait_for(lambda: number in self._answers or self._error is not None)
                if number not in self._answers:
                    assert self._error is not None
                    raise self._error
                answer, error = self._answers.pop(number)
        except KeyboardInterrupt:
            self._notify("cancel", {"id": number})
            raise
        finally:
            self._asked.pop(number, None)
        if error is not None:
            raise error
        return answer

    def _notify(self, method: str, params: Json) -> None:
        try:
            if self._error is None:
                self._send(method, params)
        except SbxError:
            pass

    def _read(self) -> None:
        error: Optional[SbxError] = None
        try:
            while True:
                data = self._link.read(_READ)
                if not data:
                    break
                for message in self._lines.feed(data):
                    self._take(message)
        except SbxError as problem:
            error = problem
        except (OSError, ValueError) as problem:
            error = ConnectionLostError(f"the connection to {self._link.what} ended: {problem}")
        if self._error is None and error is None:
            error = ConnectionLostError(f"the connection to {self._link.what} ended{self._link.last_words()}")
        if error is not None:
            self._lost(error)

    def _take(self, message: Json) -> None:
        with self._changed:
            if "method" in message:
                self._notified(message["method"], message.get("params") or {})
                return
            answer, error = _wire.answer_of(message)
            number = message.get("id")
            if number in self._asked:
                self._answers[number] = (answer, error)
                self._changed.notify_all()
            elif number is None and error is not None:
                raise error  # about a line of ours that could not be read; the service closes

    def _notified(self, method: str, params: Json) -> None:
        name = params.get("run")
        run = self._runs.get(name) if name is not None else None
        if run is not None:
            run._take(method, params)
            if method == "exited":
                del self._runs[name]
        elif name is not None:
            self._early.setdefault(name, []).append((method, params))

    def _lost(self, error: SbxError) -> None:
        with self._changed:
            if self._error is not None:
                return
            self._error = error
            runs = list(self._runs.values())
            self._runs.clear()
            self._changed.notify_all()
        for run in runs:
            run._lost(error)
        self._link.close()


def _feed(run: Run, data: bytes) -> None:
    try:
        run.write(data)
        run.close_stdin()
    except SbxError:
        pass  # it ended without reading it all


def connect(socket: Optional[str] = None, *, start: str = "auto", program: Optional[str] = None,
            command: Optional[Sequence[str]] = None, env: Optional[Mapping[str, str]] = None,
            name: str = "sbx-python", version: str = _wire.VERSION) -> Client:
    """A client of a service that listens, or of one that is started for it.

    start: "auto" starts `sbx serve --stdio` when none answers, "never" does not, "always" starts one at once."""
    client = Client(_open(socket, start, program, command, env))
    try:
        client._hello(name, version)
    except BaseException:
        client._lost(ConnectionLostError("the client was closed", data={"name": "closed"}))
        if client._link.child is not None:
            client._link.child.kill()
        client.close()
        raise
    return client


def run(argv: Argv, **options: Any) -> Result:
    """One command with a client of its own."""
    with connect() as client:
        return client.run(argv, **options)


__all__ = ["Client", "Output", "Run", "connect", "run"]
