// The way to a service: its socket or pipe, or a service of our own on stdin and stdout. Lines in, lines out.
'use strict';
const net = require('node:net');
const path = require('node:path');
const {spawn} = require('node:child_process');
const {ConnectionLostError, ProtocolError, UnavailableError} = require('./errors.cjs');

const LINE_MAX = 1 << 20;
const STDERR_KEPT = 4096;
const LAST_WORDS_MS = 2000;

/** Where a service may listen, in the order in which they are tried. */
function places(env = process.env) {
  if (env.SBX_SOCKET) return [env.SBX_SOCKET];
  if (process.platform === 'win32') return ['\\\\.\\pipe\\sbx'];
  const runtime = env.XDG_RUNTIME_DIR || `/run/user/${process.getuid()}`;
  return [path.join(runtime, 'sbx', 'sbx.sock'), '/run/sbx/sbx.sock'];
}

/** Splits bytes into lines; an endless one is a broken service. */
class Lines {
  constructor() {
    this.parts = [];
    this.length = 0;
  }

  * take(bytes) {
    for (let at = 0; at < bytes.length;) {
      const end = bytes.indexOf(10, at);
      const part = bytes.subarray(at, end < 0 ? bytes.length : end);
      this.parts.push(part);
      this.length += part.length;
      if (this.length > LINE_MAX) throw new ProtocolError('the service sent a line of more than 1 MiB');
      if (end < 0) return;
      const line = this.parts.length === 1 ? part : Buffer.concat(this.parts, this.length);
      this.parts = [];
      this.length = 0;
      at = end + 1;
      yield line;
    }
  }
}

/** A connection: `onLine(Buffer)` for each line, `onEnd(Error)` once, after which nothing comes. */
class Link {
  constructor(reader, writer, what) {
    this.reader = reader;
    this.writer = writer;
    this.what = what;
    this.child = null;
    this.said = '';
    this.ended = null;
    this.losing = false;
    this.childClosed = false;
    this.onLine = () => {};
    this.onEnd = () => {};
  }

  start() {
    const lines = new Lines();
    this.reader.on('data', (bytes) => {
      try {
        for (const line of lines.take(bytes)) this.onLine(line);
      } catch (error) {
        this.end(error);
      }
    });
    this.reader.on('error', (error) => this.lost(error));
    this.reader.on('close', () => this.lost());
    this.reader.on('end', () => this.lost());
    if (this.writer !== this.reader) this.writer.on('error', (error) => this.lost(error));
  }

  write(line) {
    if (this.ended) throw this.ended;
    this.writer.write(line);
  }

  /** The service is gone. What one of our own said last tells why, so that is waited for. */
  lost(cause) {
    if (this.losing || this.ended) return;
    this.losing = true;
    const tell = () => {
      const told = this.said.trim().split('\n').slice(-2).join('; ');
      const why = told ? `: ${told}` : cause ? `: ${cause.message}` : '';
      this.end(new ConnectionLostError(`the connection to ${this.what} ended${why}`, {cause}));
    };
    if (!this.child || this.childClosed) return tell();
    this.child.once('close', tell);
    setTimeout(tell, LAST_WORDS_MS).unref();
    return undefined;
  }

  end(error) {
    if (this.ended) return;
    this.ended = error;
    this.writer.end();
    this.reader.destroy();
    this.onEnd(error);
  }
}

function connectTo(place) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({path: place});
    const fail = (error) => reject(error);
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.removeListener('error', fail);
      resolve(new Link(socket, socket, place));
    });
  });
}

/** A service of our own, which ends with its input. */
function startOwn(command, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), {stdio: ['pipe', 'pipe', 'pipe'], env, windowsHide: true});
    const link = new Link(child.stdout, child.stdin, command.join(' '));
    link.child = child;
    child.once('close', () => { link.childClosed = true; });
    child.stderr.on('data', (bytes) => { link.said = (link.said + bytes).slice(-STDERR_KEPT); });
    child.once('error', (error) => reject(new UnavailableError(
        `cannot start "${command[0]}": ${error.message}`,
        {cause: error, data: {name: 'unavailable', hint: 'install sbx, or name it with the option "program"'}})));
    child.once('spawn', () => resolve(link));
  });
}

/**
 * Opens a link as the options say: a socket that is named, or any that answers, or a service of our own.
 * @param {{socket?: string, start?: 'auto'|'never'|'always', program?: string, command?: string[], env?: object}} options
 */
async function openLink(options) {
  const env = options.env ?? process.env;
  const mode = options.start ?? 'auto';
  const tried = [];
  for (const place of mode === 'always' ? [] : options.socket ? [options.socket] : places(env)) {
    try {
      return await connectTo(place);
    } catch (error) {
      tried.push(`${place} (${error.code ?? error.message})`);
    }
  }
  if (mode === 'never' || options.socket) {
    throw new UnavailableError(`no sbx service answers: ${tried.join(', ')}`, {
      data: {name: 'unavailable', retryable: true, hint: 'start it with "sbx serve", or let the client start one'},
    });
  }
  return startOwn(options.command ?? [options.program ?? env.SBX_PROGRAM ?? 'sbx', 'serve', '--stdio'], env);
}

module.exports = {openLink, places, LINE_MAX};
