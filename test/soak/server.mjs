// The server under soak: one process, its memory once a second, its exit. Test time only.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const READY_MS = 60_000;
const END_MS = 60_000;
const STDERR_KEPT = 20_000;

export class Server {
  constructor(child, verbose) {
    this.child = child;
    this.stderr = '';
    this.memory = [];
    this.expectedEnd = false;
    this.ended = new Promise((resolve) => {
      child.on('close', (code, signal) => {
        clearInterval(this.timer);
        resolve({ code, signal });
      });
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      if (verbose) process.stderr.write(text);
      this.stderr = (this.stderr + text).slice(-STDERR_KEPT);
    });
  }

  /** Resolves when it is ready; rejects, with its log, if it ends first. */
  static async start(args, verbose) {
    const child = spawn(
      process.execPath,
      [
        join(ROOT, 'bin', 'serval.mjs'),
        'serve',
        '--host',
        '127.0.0.1',
        '--http-port',
        '0',
        '--grpc-port',
        '0',
        '--log-format',
        'json',
        '--log-level',
        'warn',
        ...args,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const server = new Server(child, verbose);
    const ready = await server.readyLine();
    server.ports = { http: ready.http.port, grpc: ready.grpc.port };
    server.timer = setInterval(() => server.sampleMemory(), 1000);
    return server;
  }

  readyLine() {
    return new Promise((resolve, reject) => {
      let text = '';
      const fail = (why) => reject(new Error(`the server ${why}\n${this.stderr}`));
      const timer = setTimeout(() => fail(`is not ready after ${READY_MS} ms`), READY_MS);
      this.ended.then(({ code, signal }) => fail(`ended with ${code ?? signal} at start`));
      this.child.stdout.setEncoding('utf8').on('data', (part) => {
        text += part;
        if (!text.includes('\n')) return;
        clearTimeout(timer);
        resolve(JSON.parse(text.slice(0, text.indexOf('\n'))));
      });
    });
  }

  get running() {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  sampleMemory() {
    try {
      const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
      const kb = /^VmRSS:\s*(\d+) kB/m.exec(status)?.[1];
      if (kb !== undefined) this.memory.push({ atMs: performance.now(), bytes: Number(kb) * 1024 });
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }

  /** The minimum of the samples between two times, in bytes. */
  memoryBetween(fromMs, toMs) {
    const bytes = this.memory
      .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
      .map((sample) => sample.bytes);
    if (bytes.length === 0) throw new Error(`no memory sample between ${fromMs} and ${toMs} ms`);
    return Math.min(...bytes);
  }

  /** The number of open files, including sockets. */
  descriptors() {
    return readdirSync(`/proc/${this.child.pid}/fd`).length;
  }

  /** SIGTERM; resolves to {code, signal}. */
  async terminate() {
    this.expectedEnd = true;
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), END_MS);
    const ended = await this.ended;
    clearTimeout(timer);
    return ended;
  }

  kill() {
    this.expectedEnd = true;
    this.child.kill('SIGKILL');
  }
}
