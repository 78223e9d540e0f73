// A Serval server in a child process, on free loopback ports: what `serval bench MODEL` measures.
// Control plane, main thread.
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { BENCH_LINE_CHARS_MAX } from '../../../base/limits.js';
import { packageRoot } from '../../../base/package-files.js';

const HOST = '127.0.0.1';
/** Characters kept from the end of its output. */
const SAID_CHARS = 4096;
/** Delay between SIGTERM and SIGKILL. */
const END_MS = 5000;
/** Fields of /proc/PID/stat after the name in brackets: user and system time, in ticks of 10 ms. */
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;
const TICKS_A_SECOND = 100;

interface ReadyLine {
  readonly event: string;
  readonly problems?: readonly string[];
  readonly http: { readonly port: number } | null;
  readonly grpc: { readonly port: number } | null;
}

export class ChildServer {
  readonly host = HOST;
  #httpPort = 0;
  #grpcPort = 0;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #kill = (): void => {
    this.#child.kill('SIGKILL');
  };
  #said = '';
  #printed = '';
  #heard: () => void = () => undefined;

  private constructor(args: readonly string[]) {
    const program = join(packageRoot(), 'bin', 'serval.mjs');
    const ports = ['--host', HOST, '--http-port', '0', '--grpc-port', '0'];
    const quiet = ['--log-format', 'json', '--log-level', 'error', '--console', 'false'];
    const command = [...process.execArgv, program, 'serve', ...ports, ...quiet, ...args];
    this.#child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] });
    process.once('exit', this.#kill);
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (this.#printed.length < BENCH_LINE_CHARS_MAX) this.#printed += text;
      this.#heard();
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-SAID_CHARS);
    });
    this.#ended = new Promise((resolve) => {
      this.#child.on('error', (error) => {
        this.#said += error.message;
        resolve();
      });
      this.#child.on('close', () => {
        process.off('exit', this.#kill);
        resolve();
      });
    });
  }

  /** `args`: of `serval serve`. Errors: ModelInvalid with the server's message. */
  static async start(args: readonly string[]): Promise<ChildServer> {
    const server = new ChildServer(args);
    try {
      await server.#ready();
      return server;
    } catch (error) {
      await server.close();
      throw error;
    }
  }

  get httpPort(): number {
    return this.#httpPort;
  }

  get grpcPort(): number {
    return this.#grpcPort;
  }

  /** CPU seconds of its threads; undefined if unknown. */
  cpuSeconds(): number | undefined {
    try {
      const text = readFileSync(`/proc/${this.#child.pid ?? 0}/stat`, 'latin1');
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      const ticks = Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS]);
      return Number.isFinite(ticks) ? ticks / TICKS_A_SECOND : undefined;
    } catch {
      return undefined;
    }
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(this.#kill, END_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  async #ready(): Promise<void> {
    let over = false;
    void this.#ended.then(() => {
      over = true;
      this.#heard();
    });
    for (;;) {
      const lines = this.#printed.split('\n').slice(0, -1);
      for (const line of lines) if (this.#take(JSON.parse(line) as ReadyLine)) return;
      if (over) throw new ServalError(ErrorCode.ModelInvalid, this.#reason());
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  #take(line: ReadyLine): boolean {
    if (line.event === 'started') {
      const why = (line.problems ?? []).join('; ') || this.#reason();
      throw new ServalError(ErrorCode.ModelInvalid, `the server is not ready: ${why}`);
    }
    if (line.event !== 'ready') return false;
    this.#httpPort = line.http?.port ?? 0;
    this.#grpcPort = line.grpc?.port ?? 0;
    return true;
  }

  /** Its final error message, else the last error of its log. */
  #reason(): string {
    const lines = this.#said.trim().split('\n');
    const last = lines.findLast((line) => !line.startsWith('{')) ?? lines.at(-1) ?? '';
    const text = last.replace(/^serval: /, '');
    return text === '' ? 'the server ended before it was ready' : text;
  }
}
