// Errors: one class per thing a caller can do something about; code, kind and hint as the service says them.
'use strict';

class SbxError extends Error {
  /** @param {string} message @param {{code?: number, data?: object, cause?: unknown}} [more] */
  constructor(message, more = {}) {
    super(message, more.cause === undefined ? undefined : {cause: more.cause});
    this.name = new.target.name;
    this.code = more.code ?? 0;
    this.data = more.data ?? {};
    this.kind = this.data.name ?? 'client';
    this.hint = this.data.hint ?? null;
    this.retryable = this.data.retryable === true;
  }
}
class RefusedError extends SbxError {
  get outcome() { return this.data.outcome ?? null; }
}
class PolicyInvalidError extends SbxError {
  get findings() { return this.data.findings ?? []; }
}
class NotFoundError extends SbxError {}
class NotExecutableError extends SbxError {}
class LimitError extends SbxError {}
class OverloadedError extends SbxError {}
class CancelledError extends SbxError {}
class ProtocolError extends SbxError {}
class ConnectionLostError extends SbxError {}
class UnavailableError extends SbxError {}

const BY_CODE = new Map([
  [-33000, RefusedError], [-33001, PolicyInvalidError], [-33002, NotFoundError], [-33003, NotExecutableError],
  [-33006, LimitError], [-32001, OverloadedError], [-33010, CancelledError], [-33009, ProtocolError],
  [-32700, ProtocolError], [-32600, ProtocolError], [-32601, ProtocolError],
]);

/** The error member of an answer, as an error. */
function fromAnswer(error) {
  const Class = BY_CODE.get(error.code) ?? SbxError;
  return new Class(error.message, {code: error.code, data: error.data});
}

module.exports = {
  SbxError, RefusedError, PolicyInvalidError, NotFoundError, NotExecutableError, LimitError, OverloadedError,
  CancelledError, ProtocolError, ConnectionLostError, UnavailableError, fromAnswer,
};
