"""Errors: one class per thing a caller can do something about."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Type


class SbxError(Exception):
    """code: the number on the wire, 0 for an error of the client; kind: its stable name."""

    def __init__(self, message: str, code: int = 0, data: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(message)
        self.code = code
        self.data: Dict[str, Any] = dict(data or {})
        self.kind: str = self.data.get("name", "client")
        self.hint: Optional[str] = self.data.get("hint")
        self.retryable: bool = self.data.get("retryable") is True


class RefusedError(SbxError):
    """No sandbox, or the policy refuses: nothing ran."""

    @property
    def outcome(self) -> Optional[Dict[str, Any]]:
        return self.data.get("outcome")


class PolicyInvalidError(SbxError):
    """The manifest has errors."""

    @property
    def findings(self) -> List[Dict[str, Any]]:
        return list(self.data.get("findings") or [])


class NotFoundError(SbxError):
    """There is no such command."""


class NotExecutableError(SbxError):
    """The command cannot be executed."""


class LimitError(SbxError):
    """More than the service allows."""


class OverloadedError(SbxError):
    """Later it may work."""


class CancelledError(SbxError):
    """The request was cancelled."""


class ProtocolError(SbxError):
    """Client and service do not understand each other."""


class ConnectionLostError(SbxError):
    """The service vanished; its runs ended."""


class UnavailableError(SbxError):
    """No service answers, and none could be started."""


_BY_CODE: Dict[int, Type[SbxError]] = {
    -33000: RefusedError, -33001: PolicyInvalidError, -33002: NotFoundError, -33003: NotExecutableError,
    -33006: LimitError, -32001: OverloadedError, -33010: CancelledError, -33009: ProtocolError,
    -32700: ProtocolError, -32600: ProtocolError, -32601: ProtocolError,
}


def from_answer(error: Mapping[str, Any]) -> SbxError:
    """The error member of an answer, as an exception."""
    code = int(error.get("code", 0))
    return _BY_CODE.get(code, SbxError)(str(error.get("message", "")), code, error.get("data"))
