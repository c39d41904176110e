"""Runs commands in sbx boxes: the client of the sbx service, without dependencies.

    with sbx.connect() as box:
        done = box.run(["make", "test"])

`sbx.aio` has the same for asyncio."""

from ._wire import VERSION as __version__
from ._wire import Result, places
from .client import Client, Output, Run, connect, run
from .errors import (CancelledError, ConnectionLostError, LimitError, NotExecutableError, NotFoundError, OverloadedError,
                     PolicyInvalidError, ProtocolError, RefusedError, SbxError, UnavailableError)

__all__ = ["CancelledError", "Client", "ConnectionLostError", "LimitError", "NotExecutableError", "NotFoundError",
           "Output", "OverloadedError", "PolicyInvalidError", "ProtocolError", "RefusedError", "Result", "Run", "SbxError",
           "UnavailableError", "__version__", "connect", "places", "run"]
