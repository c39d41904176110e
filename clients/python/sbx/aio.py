"""The client for asyncio. The same words as the other one, with await."""

from __future__ import annotations

import asyncio
import subprocess
from types import TracebackType
from typing import (Any, AsyncIterator, Awaitable, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union)

from . import _wire
from ._wire import Argv, Credit, Json, Lines, Manifest, Result
from .errors import ConnectionLostError, SbxError, UnavailableError

_READ = 64 * 1024
Listener = Callable[[bytes], Union[None, Awaitable[None]]]


class Output:
    """What a box writes: an asynchronous iterator of bytes. What is not taken stops the box."""

    def __init__(self, run: "Run", stream: str, window: int) -> None:
        self._run, self._stream, self._credit = run, stream, Credit(window)
        self._queue: "asyncio.Queue[Optional[bytes]]" = asyncio.Queue()  # bounded by the credit
        self._over = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        data = None if self._over and self._queue.empty() else await self._queue.get()
        if data is None:
            if self._run._error is not None:
                raise self._run._error
            raise StopAsyncIteration
        owed = self._credit.taken(len(data))
        if owed and not self._over:
            self._run._client._notify("run.credit", {"run": self._run.id, "stream": self._stream, "bytes": owed})
        return data

    async def read(self) -> bytes:
        """All that is left."""
        return b"".join([data async for data in self])

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._queue.put_nowait(None)


class Run:
    """A command in a box. As a context manager it is cancelled when it is left before its end."""

    def __init__(self, client: "Client", answer: Json, tty: bool) -> None:
        self._client = client
        self._error: Optional[SbxError] = None
        self._end: "asyncio.Future[Result]" = asyncio.get_running_loop().create_future()
        self._end.add_done_callback(lambda end: end.cancelled() or end.exception())
        self._room = int(client.limits["stdinWindow"])
        self._more = asyncio.Event()
        self.id: str = answer["run"]
        self.backend: str = answer.get("backend", "")
        self.digest: str = answer.get("digest", "")
        self.warm: bool = bool(answer.get("warm"))
        self.pid: Optional[int] = None
        self.evidence: Any = None
        self.denials: List[Json] = []
        window = int(client.limits["window"])
        self.stdout = Output(self, "tty" if tty else "stdout", window)
        self.stderr = Output(self, "stderr", window)
        if tty:
            self.stderr._end()

    @property
    def ended(self) -> bool:
        return self._end.done()

    async def write(self, data: bytes) -> None:
        """Waits until the service has room for it."""
        view = memoryview(data)
        while view:
            while self._room <= 0 and not self.ended:
                self._more.clear()
                await self._more.wait()
            if self.ended:
                raise self._error or SbxError("the run has ended: its input is closed", data={"name": "ended"})
            part = bytes(view[:min(_wire.INPUT_CHUNK, self._room)])
            self._room -= len(part)
            view = view[len(part):]
            await self._client._ask("run.stdin", _wire.stdin_params(self.id, part))

    async def close_stdin(self) -> None:
        if not self.ended:
            await self._client._ask("run.stdin", {"run": self.id, "data": "", "eof": True})

    async def kill(self, signal: str = "TERM") -> None:
        signal = signal[3:] if signal.startswith("SIG") else signal
        await self._client._ask("run.signal", {"run": self.id, "signal": signal})

    async def resize(self, rows: int, cols: int) -> None:
        await self._client._ask("run.resize", {"run": self.id, "rows": rows, "cols": cols})

    async def cancel(self) -> None:
        """Ends it; wait() then says how it ended."""
        if not self.ended:
            await self._client._ask("run.cancel", {"run": self.id})

    async def wait(self) -> Result:
        """The outcome; any number of times."""
        return await asyncio.shield(self._end)

    async def __aenter__(self) -> "Run":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        if not self.ended:
            try:
                await self.cancel()
            except SbxError:
                pass

    def _take(self, method: str, params: Json) -> None:
        source = self.stderr if params.get("stream") == "stderr" else self.stdout
        if method == "output":
            source._queue.put_nowait(_wire.bytes_of(params))
        elif method == "closed":
            source._end()
        elif method == "stdin":
            self._room += int(params["bytes"])
            self._more.set()
        elif method == "started":
            self.pid, self.evidence = params.get("pid"), params.get("evidence")
        elif method == "denied":
            self.denials.append(params)
        elif method == "exited":
            self._finish()
            if not self._end.done():
                self._end.set_result(Result(params["result"]))

    def _finish(self) -> None:
        self.stdout._end()
        self.stderr._end()
        self._more.set()

    def _lost(self, error: SbxError) -> None:
        self._error = error
        if not self._end.done():
            self._end.set_exception(error)
        self._finish()


class Client:
    """A connection to a service. As a context manager it is closed when it is left."""

    def __init__(self, what: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter,
                 child: Optional["asyncio.subprocess.Process"]) -> None:
        self._what, self._reader, self._writer, self._child = what, reader, writer, child
        self._lines = Lines()
        self._asked: Dict[int, "asyncio.Future[Any]"] = {}
        self._runs: Dict[str, Run] = {}
        self._early: Dict[str, List[Tuple[str, Json]]] = {}
        self._error: Optional[SbxError] = None
        self.limits: Dict[str, int] = {}
        self.server: Dict[str, str] = {}
        self.platform = ""
        self.connection = ""
        self._task = asyncio.get_running_loop().create_task(self._read())

    async def _hello(self, name: str, version: str) -> None:
        answer = await self._ask("hello", _wire.hello(name, version))
        self.server, self.platform, self.connection = answer["server"], answer["platform"], answer["connection"]
        self.limits = answer["limits"]
        self._lines.line_max = min(int(self.limits["line"]), _wire.LINE_MAX)

    async def start(self, argv: Argv, *, stdin: bool = False, tty: Optional[Tuple[int, int]] = None,
                    **options: Any) -> Run:
        """Starts a command, with the options of sbx.Client.start. What is not read stops the box."""
        params = _wire.start_params(argv, options)
        if stdin:
            params["stdin"] = "pipe"
        if tty:
            params["tty"] = {"rows": tty[0], "cols": tty[1]}
        run = Run(self, await self._ask("run.start", params), tty is not None)
        self._runs[run.id] = run
        for method, told in self._early.pop(run.id, []):
            self._notified(method, told)
        if self._error is not None:
            run._lost(self._error)
        return run

    async def run(self, argv: Argv, *, input: Union[bytes, str, None] = None, max_output: int = _wire.OUTPUT_MAX,
                  on_stdout: Optional[Listener] = None, on_stderr: Optional[Listener] = None, **options: Any) -> Result:
        """Runs a command to its end and collects what it wrote; cancelling the task ends the run."""
        async with await self.start(argv, stdin=input is not None, **options) as run:
            data = input.encode() if isinstance(input, str) else input
            out, err, _ = await asyncio.gather(_collect(run.stdout, on_stdout, max_output),
                                               _collect(run.stderr, on_stderr, max_output), _feed(run, data))
            result = await run.wait()
        result.stdout, result.stderr, result.truncated = out[0], err[0], out[1] or err[1]
        return result

    async def explain(self, argv: Argv = (), **options: Any) -> Json:
        return dict(await self._ask("plan.explain", _wire.start_params(argv, options)))

    async def verify(self, manifest: Manifest) -> Json:
        return dict(await self._ask("manifest.verify", _wire.verify_params(manifest)))

    async def doctor(self) -> Json:
        return dict(await self._ask("doctor", {}))

    async def ping(self) -> None:
        await self._ask("ping", {})

    async def close(self) -> None:
        """Ends what still runs, and the connection."""
        if self._error is None:
            try:
                await self._ask("shutdown", {})
            except SbxError:
                pass
            self._lost(ConnectionLostError("the client was closed", data={"name": "closed"}))
        if self._child is not None:
            await self._child.wait()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    async def _ask(self, method: str, params: Json) -> Any:
        if self._error is not None:
            raise self._error
        number = self._lines.next_id()
        answer: "asyncio.Future[Any]" = asyncio.get_running_loop().create_future()
        line = self._lines.encode(method, params, number)
        self._asked[number] = answer
        try:
            self._writer.write(line)
            return await answer
        except asyncio.CancelledError:
            self._notify("cancel", {"id": number})
            raise
        finally:
            self._asked.pop(number, None)

    def _notify(self, method: str, params: Json) -> None:
        if self._error is None:
            self._writer.write(self._lines.encode(method, params))

    async def _read(self) -> None:
        error: Optional[SbxError] = None
        try:
            while True:
                data = await self._reader.read(_READ)
                if not data:
                    break
                for message in self._lines.feed(data):
                    self._take(message)
        except SbxError as problem:
            error = problem
        except OSError as problem:
            error = ConnectionLostError(f"the connection to {self._what} ended: {problem}")
        self._lost(error or ConnectionLostError(f"the connection to {self._what} ended"))

    def _take(self, message: Json) -> None:
        if "method" in message:
            self._notified(message["method"], message.get("params") or {})
            return
        result, error = _wire.answer_of(message)
        number = message.get("id")
        answer = self._asked.get(number) if number is not None else None
        if answer is not None and not answer.done():
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)
        elif number is None and error is not None:
            raise error

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
        if self._error is not None:
            return
        self._error = error
        for answer in self._asked.values():
            if not answer.done():
                answer.set_exception(error)
        for run in list(self._runs.values()):
            run._lost(error)
        self._runs.clear()
        self._writer.close()


async def _collect(stream: Output, listener: Optional[Listener], most: int) -> Tuple[bytes, bool]:
    kept = bytearray()
    truncated = False
    async for data in stream:
        if listener is not None:
            waited = listener(data)
            if waited is not None:
                await waited
            continue
        truncated = truncated or len(kept) + len(data) > most
        kept += data[:max(most - len(kept), 0)]
    return bytes(kept), truncated


async def _feed(run: Run, data: Optional[bytes]) -> None:
    if data is None:
        return
    try:
        await run.write(data)
        await run.close_stdin()
    except SbxError:
        pass  # it ended without reading it all


async def connect(socket: Optional[str] = None, *, start: str = "auto", program: Optional[str] = None,
                  command: Optional[Sequence[str]] = None, env: Optional[Mapping[str, str]] = None,
                  name: str = "sbx-python", version: str = _wire.VERSION) -> Client:
    """As sbx.connect."""
    tried: List[str] = []
    listed = [] if start == "always" else [socket] if socket else _wire.places(env)
    client: Optional[Client] = None
    for place in listed:
        try:
            reader, writer = await asyncio.open_unix_connection(place)
            client = Client(place, reader, writer, None)
            break
        except OSError as error:
            tried.append(f"{place} ({error.strerror or error})")
    if client is None and (start == "never" or socket):
        raise UnavailableError("no sbx service answers: " + ", ".join(tried), data={"name": "unavailable", "retryable": True})
    if client is None:
        words = _wire.own_command(program, command)
        try:
            child = await asyncio.create_subprocess_exec(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                         stderr=subprocess.DEVNULL, env=None if env is None else dict(env))
        except OSError as error:
            raise UnavailableError(f'cannot start "{words[0]}": {error}', data={"name": "unavailable"}) from error
        assert child.stdout is not None and child.stdin is not None
        client = Client(" ".join(words), child.stdout, child.stdin, child)
    try:
        await client._hello(name, version)
    except BaseException:
        client._lost(ConnectionLostError("the client was closed", data={"name": "closed"}))
        raise
    return client


__all__ = ["Client", "Output", "Run", "connect"]
