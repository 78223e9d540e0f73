// Starts the real command line in a separate process, on free ports, and waits for its ready line.
// Test time only.
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../../../ts/base/package-files.js';

/** The limit for a server's start and its end: generous, because the machine is shared. */
export const DEADLINE_MS = 60_000;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Ready {
  readonly event: string;
  /** null: it is off. */
  readonly http: { readonly host: string; readonly port: number } | null;
  readonly grpc: { readonly host: string; readonly port: number } | null;
  readonly admin?: { readonly host: string; readonly port: number };
  readonly pid: number;
}

/** One run of bin/serval.mjs. */
export class ServalProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';
  ready: Ready | undefined;
  private waiting: (() => void)[] = [];

  /** `before`: a program and its arguments that start it, such as prlimit. */
  constructor(
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    before: readonly string[] = [],
  ) {
    const [program = process.execPath, ...command] = [
      ...before,
      process.execPath,
      join(packageRoot(), 'bin', 'serval.mjs'),
      ...args,
    ];
    this.child = spawn(program, command, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    const keep =
      (name: 'stdout' | 'stderr') =>
      (text: string): void => {
        this[name] += text;
        this.wake();
      };
    this.child.stdout?.setEncoding('utf8').on('data', keep('stdout'));
    this.child.stderr?.setEncoding('utf8').on('data', keep('stderr'));
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        resolve({ code, signal });
        this.wake();
      });
    });
  }

  get httpPort(): number {
    return this.ready?.http?.port ?? 0;
  }

  get grpcPort(): number {
    return this.ready?.grpc?.port ?? 0;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Settles when `found` is true of the output; rejects if the process ends first. */
  async printed(found: (process: this) => boolean): Promise<void> {
    const limit = Date.now() + DEADLINE_MS;
    const timer = setInterval(() => this.wake(), 1000);
    try {
      while (!found(this)) {
        if (!this.running) throw new Error(`serval ended: ${this.stdout}${this.stderr}`);
        if (Date.now() > limit) throw new Error(`too late: ${this.stdout}${this.stderr}`);
        await new Promise<void>((resolve) => {
          this.waiting.push(resolve);
        });
      }
    } finally {
      clearInterval(timer);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Ends the server, drained or not. */
  async stop(): Promise<void> {
    if (this.running) this.signal('SIGKILL');
    await this.ended;
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/** `serval serve` of an invalid path, which ends it; settles when it has ended. */
export async function refusedServer(path: string): Promise<ServalProcess> {
  const ports = ['--http-port=0', '--grpc-port=0'];
  const server = new ServalProcess(['serve', path, ...ports, '--exit-on-error']);
  await server.ended;
  return server;
}

/** `serval serve` on 127.0.0.1 with free ports; settles when it is ready. */
export async function startServer(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  before: readonly string[] = [],
): Promise<ServalProcess> {
  const ports = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
  // Tests use any host name, except those that test host names.
  const names = args.includes('--allowed-hosts') ? [] : ['--allowed-hosts', '*'];
  const command = ['serve', ...ports, ...names, '--log-format', 'json', ...args];
  const server = new ServalProcess(command, env, before);
  try {
    await server.printed(({ stdout }) => stdout.includes('\n'));
  } catch (error) {
    await server.stop();
    throw error;
  }
  server.ready = JSON.parse(server.stdout.slice(0, server.stdout.indexOf('\n'))) as Ready;
  return server;
}

/** Runs a command to its end. */
export async function runServal(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ended & { readonly stdout: string; readonly stderr: string }> {
  const run = new ServalProcess(args, env);
  const timer = setTimeout(() => run.signal('SIGKILL'), DEADLINE_MS);
  const ended = await run.ended;
  clearTimeout(timer);
  return { ...ended, stdout: run.stdout, stderr: run.stderr };
}
