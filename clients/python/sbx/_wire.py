"""The protocol without any input or output: lines, ids, errors, places. Sync and asyncio clients share it."""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import LimitError, ProtocolError, SbxError, from_answer

LINE_MAX = 1 << 20
INPUT_CHUNK = 48 * 1024
OUTPUT_MAX = 16 << 20
VERSION = "0.1.0"
Json = Dict[str, Any]
Argv = Sequence[str]
Manifest = Union[str, "os.PathLike[str]", Mapping[str, Any]]


def places(env: Optional[Mapping[str, str]] = None) -> List[str]:
    """Where a service may listen, in the order in which they are tried. None on Windows, where one is started: its pipe
    cannot be read and written at once with what Python has."""
    env = os.environ if env is None else env
    if env.get("SBX_SOCKET"):
        return [env["SBX_SOCKET"]]
    if sys.platform == "win32":
        return []
    runtime = env.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    return [os.path.join(runtime, "sbx", "sbx.sock"), "/run/sbx/sbx.sock"]


def own_command(program: Optional[str], command: Optional[Sequence[str]]) -> List[str]:
    """What is started where no service listens."""
    return list(command) if command else [program or os.environ.get("SBX_PROGRAM") or "sbx", "serve", "--stdio"]


def hello(name: str, version: str) -> Json:
    return {"protocol": [1], "client": {"name": name, "version": version}}


_NAMES = {"manifest_file": "manifestFile", "timeout_ms": "timeoutMs", "allow_no_sandbox": "allowNoSandbox"}


def start_params(argv: Argv, options: Mapping[str, Any]) -> Json:
    """Members of run.start and plan.explain; the service refuses what it does not know."""
    params: Json = {"argv": list(argv)}
    for name, value in options.items():
        if value is not None:
            params[_NAMES.get(name, name)] = value
    params.setdefault("cwd", os.getcwd())
    params.setdefault("env", dict(os.environ))
    return params


def verify_params(manifest: Manifest) -> Json:
    if isinstance(manifest, Mapping):
        return {"manifest": dict(manifest)}
    return {"manifestFile": os.fspath(manifest)}


def stdin_params(run: str, data: bytes) -> Json:
    return {"run": run, "data": base64.b64encode(data).decode("ascii"), "encoding": "base64"}


def bytes_of(params: Mapping[str, Any]) -> bytes:
    """What an `output` carries."""
    data: str = params["data"]
    return base64.b64decode(data) if params.get("encoding") == "base64" else data.encode("utf-8")


class Lines:
    """Bytes into messages, messages into lines."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._number = 0
        self.line_max = LINE_MAX

    def feed(self, data: bytes) -> Iterator[Json]:
        """The messages that are whole now. ProtocolError: the service is broken."""
        start = len(self._rest)
        self._rest += data
        while True:
            end = self._rest.find(b"\n", start)
            if end < 0:
                break
            line = bytes(self._rest[:end])
            del self._rest[:end + 1]
            start = 0
            try:
                message = json.loads(line)
            except ValueError as error:
                raise ProtocolError(f"the service sent a line that is no JSON: {error}") from error
            if not isinstance(message, dict):
                raise ProtocolError("the service sent a line that is no object")
            yield message
        if len(self._rest) > LINE_MAX:
            raise ProtocolError("the service sent a line of more than 1 MiB")

    def next_id(self) -> int:
        self._number += 1
        return self._number

    def encode(self, method: str, params: Json, number: Optional[int] = None) -> bytes:
        message: Json = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        try:
            line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        except UnicodeEncodeError as error:
            raise SbxError(f'"{method}" has text that is not valid Unicode: {error}') from error
        if len(line) > self.line_max:
            raise LimitError(f'"{method}" does not fit into a line of {self.line_max} bytes', -33006,
                             {"name": "limit_reached"})
        return line + b"\n"


class Credit:
    """What of a stream was taken and not yet given back. A slow reader gives nothing back, and its box waits."""

    def __init__(self, window: int) -> None:
        self._step = max(1, window // 4)
        self._owed = 0

    def taken(self, count: int) -> int:
        """The credit to give back now; 0: not yet."""
        self._owed += count
        if self._owed < self._step:
            return 0
        owed, self._owed = self._owed, 0
        return owed


class Result(Dict[str, Any]):
    """The outcome of a run, as `sbx run --json` writes it; with what `run` collected."""

    stdout: bytes = b""
    stderr: bytes = b""
    truncated: bool = False

    @property
    def status(self) -> int:
        return int(self["status"])

    @property
    def denials(self) -> List[Json]:
        return list(self.get("denials") or [])


def answer_of(message: Json) -> Tuple[Any, Optional[SbxError]]:
    """The result, or the error."""
    if "error" in message:
        return None, from_answer(message["error"])
    return message.get("result"), None
