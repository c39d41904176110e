// The same for ECMAScript modules.
import sbx from './sbx.cjs';

export const {
  connect, run, places, Client, Run, VERSION, SbxError, RefusedError, PolicyInvalidError, NotFoundError,
  NotExecutableError, LimitError, OverloadedError, CancelledError, ProtocolError, ConnectionLostError, UnavailableError,
} = sbx;
