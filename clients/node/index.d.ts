import {Readable, Writable} from 'node:stream';

export const VERSION: string;

export type Signal = 'INT' | 'TERM' | 'HUP' | 'QUIT' | 'KILL' | 'USR1' | 'USR2';

export interface ConnectOptions {
  /** A socket or named pipe instead of SBX_SOCKET, the user's and the system's. */
  socket?: string;
  /** auto: start a service when none answers; never; always: one of our own. */
  start?: 'auto' | 'never' | 'always';
  /** The sbx that is started, instead of SBX_PROGRAM or the one in PATH. */
  program?: string;
  /** The whole command that is started, instead of `sbx serve --stdio`. */
  command?: string[];
  env?: NodeJS.ProcessEnv;
  /** What the service calls this client. */
  name?: string;
  version?: string;
}

export interface StartOptions {
  cwd?: string;
  /** The caller's whole environment; the manifest decides what passes. Default: this process'. */
  env?: Record<string, string>;
  manifest?: Record<string, unknown>;
  manifestFile?: string;
  mode?: string;
  profile?: string;
  stdin?: 'null' | 'pipe';
  tty?: {rows: number; cols: number};
  timeoutMs?: number;
  session?: string;
  /** Bytes per stream that may come before any were taken. Default: the service's window. */
  credit?: number;
  evidence?: boolean;
  label?: string;
  sandbox?: string;
  allowNoSandbox?: boolean;
  /** Ends the run. */
  signal?: AbortSignal;
}

export interface RunOptions extends StartOptions {
  /** What the command reads. */
  input?: string | Uint8Array;
  /** Called with each piece instead of collecting it; a promise is waited for, and slows the box. */
  onStdout?: (bytes: Buffer) => void | Promise<void>;
  onStderr?: (bytes: Buffer) => void | Promise<void>;
  /** Bytes kept of each stream, 16 MiB by default. */
  maxOutput?: number;
}

export interface Denial {
  kind: string;
  operation?: string;
  path?: string;
  host?: string;
  call?: string;
  rule?: string | null;
  because?: string | null;
  allow?: string | null;
  flag?: string | null;
  note?: string | null;
  exact?: boolean;
}

/** The outcome of a run, as `sbx run --json` writes it. */
export interface Outcome {
  status: number;
  started: boolean;
  origin: 'command' | 'sbx';
  exit_code?: number | null;
  signal?: number | null;
  limit?: string | null;
  denials?: Denial[];
  error?: {code: string; text: string; hint: string | null} | null;
  [member: string]: unknown;
}

export interface Collected extends Outcome {
  stdout: Buffer;
  stderr: Buffer;
  /** More came than maxOutput. */
  truncated: boolean;
}

export class Run {
  readonly id: string;
  readonly backend: string;
  readonly digest: string;
  readonly warm: boolean;
  readonly pid: number | null;
  readonly evidence: unknown;
  /** Told while it runs; the outcome has them all. */
  readonly denials: Denial[];
  readonly ended: boolean;
  /** With a terminal, all of it. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly stdin: Writable | null;
  wait(): Promise<Outcome>;
  kill(signal?: Signal | `SIG${Signal}`): Promise<void>;
  resize(rows: number, cols: number): Promise<void>;
  cancel(): Promise<void>;
}

export interface RunInfo {
  run: string;
  state: string;
  argv0: string;
  label?: string;
  session?: string;
  backend: string;
  ms: number;
}

export class Client {
  readonly server: {name: string; version: string};
  readonly platform: string;
  readonly connection: string;
  readonly limits: {
    line: number; runs: number; runsPerClient: number; pending: number; window: number; stdinWindow: number;
  };
  start(argv: readonly string[], options?: StartOptions): Promise<Run>;
  run(argv: readonly string[], options?: RunOptions): Promise<Collected>;
  explain(argv: readonly string[], options?: StartOptions): Promise<{text: string; plan: Record<string, unknown>}>;
  verify(manifest: string | Record<string, unknown>): Promise<{ok: boolean; findings: Record<string, unknown>[]}>;
  doctor(): Promise<Record<string, unknown>>;
  ping(): Promise<Record<string, never>>;
  list(): Promise<RunInfo[]>;
  openSession(options?: {name?: string; sharedNetwork?: boolean}): Promise<string>;
  closeSession(session: string): Promise<void>;
  close(): Promise<void>;
}

export function connect(options?: ConnectOptions): Promise<Client>;
export function run(argv: readonly string[], options?: ConnectOptions & RunOptions): Promise<Collected>;
/** Where a service may listen, in the order in which they are tried. */
export function places(env?: NodeJS.ProcessEnv): string[];

export class SbxError extends Error {
  /** The number on the wire; 0 for an error of the client. */
  readonly code: number;
  /** Its stable name. */
  readonly kind: string;
  readonly hint: string | null;
  readonly retryable: boolean;
  readonly data: Record<string, unknown>;
}
/** No sandbox, or the policy refuses: nothing ran. */
export class RefusedError extends SbxError {
  readonly outcome: Outcome | null;
}
export class PolicyInvalidError extends SbxError {
  readonly findings: Record<string, unknown>[];
}
export class NotFoundError extends SbxError {}
export class NotExecutableError extends SbxError {}
export class LimitError extends SbxError {}
export class OverloadedError extends SbxError {}
export class CancelledError extends SbxError {}
export class ProtocolError extends SbxError {}
/** The service vanished. */
export class ConnectionLostError extends SbxError {}
/** No service answers, and none could be started. */
export class UnavailableError extends SbxError {}
