// Starts, pins and ends the processes of a benchmark run. Control plane. Every process started here
// dies with this one: through our exit handler, or through the kernel (setpriv --pdeathsig) if we
// are killed.
import { spawn } from 'node:child_process';
import { isOnPath } from './machine.mjs';

const live = new Set();
const OUTPUT_TAIL_BYTES_MAX = 4000;
let hooked = false;

/**
 * Starts `command` pinned to `cores`. Returns {child, pid, tail()}; tail() is the end of its stderr
 * output. pid is the process itself: taskset and setpriv replace themselves by it. `place`: the
 * environment `env` and the working directory `cwd`, if they are not this process's.
 */
export function start(command, args, cores, place = {}) {
  hookExit();
  const line = ['taskset', '-c', cores.join(','), command, ...args];
  if (isOnPath('setpriv')) line.unshift('setpriv', '--pdeathsig', 'KILL');
  const child = spawn(line[0], line.slice(1), { ...place, stdio: ['pipe', 'pipe', 'pipe'] });
  live.add(child);
  child.once('exit', () => live.delete(child));
  let errors = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-OUTPUT_TAIL_BYTES_MAX);
  });
  child.stdin.on('error', () => {});
  return { child, pid: child.pid, tail: () => errors };
}

/**
 * Starts a server and waits for its ready line: one JSON object on stdout for which
 * `isReady(object)` holds. Returns {ready, readyMs, pid, ended(), stop()}; ended() describes how it
 * ended, or is '' while it runs. Rejects with the reason if it exits first or is silent too long.
 */
export async function startServer(command, args, cores, isReady, timeoutMs = 20_000) {
  const startedMs = performance.now();
  const started = start(command, args, cores);
  const ready = await waitForLine(started, isReady, timeoutMs, [command, ...args].join(' '));
  const readyMs = performance.now() - startedMs;
  const { child, pid, tail } = started;
  const ended = () => {
    const how = child.exitCode ?? child.signalCode;
    return how === null ? '' : `the server ended with ${how}: ${tail()}`;
  };
  return { ready, readyMs, pid, ended, stop: () => stop(child) };
}

function waitForLine({ child, tail }, isReady, timeoutMs, what) {
  return new Promise((resolve, reject) => {
    let pending = '';
    const settle = () => {
      clearTimeout(timer);
      child.off('exit', onExit);
      child.stdout.off('data', onData).resume();
    };
    const fail = (why) => {
      settle();
      child.kill('SIGKILL');
      reject(new Error(`${what}: ${why}\n${tail()}`));
    };
    const onExit = (code, signal) => fail(`ended with ${code ?? signal} before it was ready`);
    const onData = (text) => {
      const lines = (pending + text).split('\n');
      pending = lines.pop() ?? '';
      const found = lines.map(parseObject).find((object) => object !== null && isReady(object));
      if (found === undefined) return;
      settle();
      resolve(found);
    };
    const timer = setTimeout(() => fail(`not ready after ${timeoutMs} ms`), timeoutMs);
    child.once('error', (error) => fail(error.message));
    child.once('exit', onExit);
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', onData);
  });
}

function parseObject(line) {
  try {
    const value = JSON.parse(line);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/**
 * Runs a command to its end and returns stdout. Rejects on a non-zero status or after `timeoutMs`;
 * the error has the status as `code` and the end of `stderr`.
 */
export function runToEnd(command, args, cores, timeoutMs) {
  const { child, tail } = start(command, args, cores);
  const what = [command, ...args].join(' ');
  child.stdin.end();
  return new Promise((resolve, reject) => {
    let output = '';
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (text) => {
      output += text;
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve(output);
      else {
        const error = new Error(`${what}: ended with ${code ?? signal}\n${tail()}`);
        reject(Object.assign(error, { code, stderr: tail() }));
      }
    });
  });
}

/** SIGTERM, then SIGKILL after 3 s. Resolves when the process is gone. */
export function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), 3000);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill('SIGTERM');
  });
}

function hookExit() {
  if (hooked) return;
  hooked = true;
  process.on('exit', () => {
    for (const child of live) child.kill('SIGKILL');
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, () => process.exit(130));
  }
}
