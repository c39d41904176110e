// The client of the sbx service: connect, run, explain, verify, doctor.
'use strict';
const errors = require('./errors.cjs');
const {openLink, places, LINE_MAX} = require('./link.cjs');
const {Run} = require('./run.cjs');

const VERSION = '0.1.0';
const OUTPUT_MAX = 16 << 20;
const START_MEMBERS = ['cwd', 'env', 'manifest', 'manifestFile', 'mode', 'profile', 'stdin', 'tty', 'timeoutMs', 'session',
  'credit', 'evidence', 'label', 'sandbox', 'allowNoSandbox'];

/** Members of run.start and plan.explain; the service refuses what it does not know. */
function startParams(argv, options) {
  const params = {argv: [...argv]};
  for (const name of START_MEMBERS) if (options[name] !== undefined) params[name] = options[name];
  params.cwd ??= process.cwd();
  params.env ??= Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== undefined));
  return params;
}

class Client {
  constructor(link) {
    this.link = link;
    this.number = 0;
    this.pending = new Map();
    this.runs = new Map();
    this.early = new Map(); // notifications of runs whose start is not answered yet
    this.line = LINE_MAX;
    link.onLine = (line) => this.take(line);
    link.onEnd = (error) => this.lost(error);
    link.start();
  }

  async hello(name, version) {
    const answer = await this.ask('hello', {protocol: [1], client: {name, version}});
    this.server = answer.server;
    this.platform = answer.platform;
    this.connection = answer.connection;
    this.limits = answer.limits;
    this.line = Math.min(answer.limits.line, LINE_MAX);
    return this;
  }

  // ---- lines ----

  write(message) {
    const line = JSON.stringify({jsonrpc: '2.0', ...message});
    if (Buffer.byteLength(line) > this.line) {
      throw new errors.LimitError(`"${message.method}" does not fit into a line of ${this.line} bytes`,
          {code: -33006, data: {name: 'limit_reached'}});
    }
    this.link.write(line + '\n');
  }

  /** @param {string} method @param {object} [params] @param {AbortSignal} [signal] stops a request that is not answered */
  ask(method, params = {}, signal = undefined) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const id = ++this.number;
      const abort = () => { if (!this.link.ended) this.notify('cancel', {id}); };
      const done = (settle) => (value) => {
        signal?.removeEventListener('abort', abort);
        settle(value);
      };
      this.write({id, method, params});
      this.pending.set(id, {resolve: done(resolve), reject: done(reject)});
      signal?.addEventListener('abort', abort, {once: true});
    });
  }

  notify(method, params) {
    if (!this.link.ended) this.write({method, params});
  }

  take(line) {
    let message;
    try {
      message = JSON.parse(line.toString('utf8'));
    } catch (error) {
      return this.link.end(new errors.ProtocolError(`the service sent a line that is no JSON: ${error.message}`));
    }
    if (message.method !== undefined) return this.notified(message.method, message.params ?? {});
    const waiting = this.pending.get(message.id);
    if (!waiting) {
      // Without an id it is about a line of ours that could not be read; the service closes then.
      if (message.error) this.link.end(errors.fromAnswer(message.error));
      return undefined;
    }
    this.pending.delete(message.id);
    if (message.error) waiting.reject(errors.fromAnswer(message.error));
    else waiting.resolve(message.result);
    return undefined;
  }

  notified(method, params) {
    const run = this.runs.get(params.run);
    if (run) {
      run.take(method, params);
      if (method === 'exited') this.runs.delete(params.run);
    } else if (params.run !== undefined) {
      const kept = this.early.get(params.run) ?? [];
      kept.push([method, params]);
      this.early.set(params.run, kept);
    }
  }

  lost(error) {
    for (const waiting of this.pending.values()) waiting.reject(error);
    this.pending.clear();
    for (const run of this.runs.values()) run.lost(error);
    this.runs.clear();
  }

  // ---- runs ----

  /** Starts a command; its streams are Node streams. Read them, or resume() them: unread output stops the box. */
  async start(argv, options = {}) {
    const answer = await this.ask('run.start', startParams(argv, options), options.signal);
    const run = new Run(this, answer, options);
    this.runs.set(run.id, run);
    for (const [method, params] of this.early.get(run.id) ?? []) this.notified(method, params);
    this.early.delete(run.id);
    if (options.signal) {
      const abort = () => { run.cancel().catch(() => {}); };
      if (options.signal.aborted) abort();
      options.signal.addEventListener('abort', abort, {once: true});
      run.end.catch(() => {}).finally(() => options.signal.removeEventListener('abort', abort));
    }
    return run;
  }

  /** Runs a command to its end and collects what it wrote. */
  async run(argv, options = {}) {
    const {input, onStdout, onStderr, maxOutput = OUTPUT_MAX, ...rest} = options;
    const run = await this.start(argv, {...rest, stdin: input === undefined ? rest.stdin : 'pipe'});
    const collected = [collect(run.stdout, onStdout, maxOutput), collect(run.stderr, onStderr, maxOutput)];
    if (input !== undefined) run.stdin.end(input);
    const [out, err, result] = await Promise.all([...collected, run.wait()]).catch((error) => {
      run.cancel().catch(() => {});
      throw error;
    });
    if (options.signal?.aborted) throw options.signal.reason;
    return {...result, stdout: out.bytes, stderr: err.bytes, truncated: out.truncated || err.truncated};
  }

  // ---- the rest ----

  explain(argv, options = {}) { return this.ask('plan.explain', startParams(argv, options), options.signal); }
  /** @param {string|object} manifest a file, or the manifest itself */
  verify(manifest) {
    return this.ask('manifest.verify', typeof manifest === 'string' ? {manifestFile: manifest} : {manifest});
  }
  doctor() { return this.ask('doctor'); }
  ping() { return this.ask('ping'); }
  async list() { return (await this.ask('run.list')).runs; }
  async openSession(options = {}) { return (await this.ask('session.open', options)).session; }
  async closeSession(session) { await this.ask('session.close', {session}); }

  /** Ends what still runs, and the connection. */
  async close() {
    if (!this.link.ended) {
      await this.ask('shutdown').catch(() => {});
      this.link.end(new errors.ConnectionLostError('the client was closed', {data: {name: 'closed'}}));
    }
    const child = this.link.child;
    if (child && child.exitCode === null && child.signalCode === null) {
      await new Promise((resolve) => child.once('exit', resolve));
    }
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() { await this.close(); }
}

async function collect(stream, listener, max) {
  const parts = [];
  let length = 0;
  let truncated = false;
  for await (const bytes of stream) {
    if (listener) await listener(bytes);
    else if (length + bytes.length <= max) parts.push(bytes);
    else {
      parts.push(bytes.subarray(0, max - length));
      truncated = true;
    }
    length = Math.min(max, length + bytes.length);
  }
  return {bytes: Buffer.concat(parts), truncated};
}

/** A client of a service that listens, or of one that is started for it. */
async function connect(options = {}) {
  const link = await openLink(options);
  const client = new Client(link);
  try {
    return await client.hello(options.name ?? 'sbx-client', options.version ?? VERSION);
  } catch (error) {
    link.end(error);
    throw error;
  }
}

/** One command with a client of its own. */
async function run(argv, options = {}) {
  const client = await connect(options);
  try {
    const {socket, start, program, command, name, version, ...rest} = options;
    return await client.run(argv, rest);
  } finally {
    await client.close();
  }
}

const {fromAnswer, ...classes} = errors;
module.exports = {connect, run, places, Client, Run, VERSION, ...classes};
