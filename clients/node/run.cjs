// One run: two streams out, one in, an end. Credit goes back as the consumer takes what came, so that a slow
// consumer slows its own box and nothing piles up here.
'use strict';
const {Readable, Writable} = require('node:stream');
const {SbxError} = require('./errors.cjs');

const INPUT_CHUNK = 48 * 1024;

/** What a box writes. Holds at most the credit that was given. */
class Output extends Readable {
  constructor(run, name, window) {
    super({highWaterMark: 64 * 1024});
    this.run = run;
    this.stream = name;
    this.step = Math.max(1, Math.floor(window / 4));
    this.waiting = [];
    this.wanted = false;
    this.owed = 0; // taken, credit not yet given back
    this.over = false;
  }

  arrived(bytes) {
    this.waiting.push(bytes);
    if (this.wanted) this._read();
  }

  complete() {
    this.over = true;
    if (this.wanted) this._read();
  }

  _read() {
    this.wanted = true;
    while (this.wanted && this.waiting.length > 0) {
      const bytes = this.waiting.shift();
      this.give(bytes.length);
      this.wanted = this.push(bytes);
    }
    if (this.over && this.waiting.length === 0 && !this.readableEnded) this.push(null);
  }

  give(count) {
    this.owed += count;
    if (this.owed < this.step || this.over) return;
    this.run.notify('run.credit', {stream: this.stream, bytes: this.owed});
    this.owed = 0;
  }

  /** Nobody wants it any more: what comes is dropped, so that the box goes on. */
  _destroy(error, done) {
    for (const bytes of this.waiting.splice(0)) this.give(bytes.length);
    this.arrived = (bytes) => this.give(bytes.length);
    this.complete = () => { this.over = true; };
    done(error);
  }
}

/** What a box reads: no more than the service has room for. */
class Input extends Writable {
  constructor(run, window) {
    super({highWaterMark: 64 * 1024});
    this.run = run;
    this.room = window;
    this.wake = null;
  }

  more(bytes) {
    this.room += bytes;
    if (this.wake) this.wake();
  }

  async send(bytes) {
    for (let at = 0; at < bytes.length;) {
      while (this.room <= 0 && !this.run.ended) await new Promise((resolve) => { this.wake = resolve; });
      this.wake = null;
      if (this.run.ended) throw new SbxError('the run has ended: its input is closed', {data: {name: 'ended'}});
      const part = bytes.subarray(at, at + Math.min(INPUT_CHUNK, this.room));
      this.room -= part.length;
      at += part.length;
      await this.run.ask('run.stdin', {data: part.toString('base64'), encoding: 'base64'});
    }
  }

  _write(bytes, encoding, done) {
    this.send(bytes).then(() => done(), done);
  }

  _final(done) {
    if (this.run.ended) return done();
    this.run.ask('run.stdin', {data: '', eof: true}).then(() => done(), () => done());
  }
}

class Run {
  constructor(client, answer, options) {
    this.client = client;
    this.id = answer.run;
    this.backend = answer.backend;
    this.digest = answer.digest;
    this.warm = answer.warm === true;
    this.denials = [];
    this.evidence = null;
    this.pid = null;
    this.ended = false;
    const window = client.limits.window;
    const isTerminal = options.tty !== undefined;
    this.stdout = new Output(this, isTerminal ? 'tty' : 'stdout', window);
    this.stderr = new Output(this, 'stderr', window);
    if (isTerminal) this.stderr.complete();
    const hasInput = options.stdin === 'pipe' || isTerminal;
    this.stdin = hasInput ? new Input(this, client.limits.stdinWindow) : null;
    // An error of the input is told to who writes; without a listener it must not end the process.
    if (this.stdin) this.stdin.on('error', () => {});
    this.end = new Promise((resolve, reject) => { this.settle = {resolve, reject}; });
    this.end.catch(() => {});
  }

  ask(method, params = {}) { return this.client.ask(method, {run: this.id, ...params}); }
  notify(method, params) { this.client.notify(method, {run: this.id, ...params}); }

  /** The outcome; any number of times, also after the end. */
  wait() { return this.end; }
  /** @param {string} [signal] INT, TERM, HUP, QUIT, KILL, USR1 or USR2 */
  async kill(signal = 'TERM') { await this.ask('run.signal', {signal: signal.replace(/^SIG/, '')}); }
  async resize(rows, cols) { await this.ask('run.resize', {rows, cols}); }
  /** Ends it; wait() then says how it ended. */
  async cancel() { if (!this.ended) await this.ask('run.cancel'); }

  /** A notification about this run. */
  take(method, params) {
    switch (method) {
      case 'started':
        this.pid = params.pid ?? null;
        this.evidence = params.evidence ?? null;
        break;
      case 'output': {
        const bytes = Buffer.from(params.data, params.encoding === 'base64' ? 'base64' : 'utf8');
        (params.stream === 'stderr' ? this.stderr : this.stdout).arrived(bytes);
        break;
      }
      case 'closed':
        (params.stream === 'stderr' ? this.stderr : this.stdout).complete();
        break;
      case 'stdin':
        if (this.stdin) this.stdin.more(params.bytes);
        break;
      case 'denied':
        this.denials.push(params);
        break;
      case 'exited':
        this.finish();
        this.settle.resolve(params.result);
        break;
      default: // of a newer service
    }
  }

  finish() {
    this.ended = true;
    this.stdout.complete();
    this.stderr.complete();
    if (this.stdin) this.stdin.more(0);
  }

  /** The connection is gone. */
  lost(error) {
    this.ended = true;
    this.stdout.destroy(error);
    this.stderr.destroy(error);
    if (this.stdin) this.stdin.more(0);
    this.settle.reject(error);
  }
}

module.exports = {Run};
