// Servers of several processes: their processor time and memory, and how they start and end.
// Control plane.
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { start, stop } from '../children.mjs';
import { processCpuNs } from '../machine.mjs';

const POLL_MS = 100;
const READY_MS_MAX = 180_000;
const ANSWER_MS_MAX = 2000;
const STOP_POLL_MS = 50;

// Servers that run. If this process ends early, their workers would outlive them: this hook runs
// before the one of children.mjs, which ends the servers only.
const roots = new Set();
process.on('exit', () => {
  for (const root of roots) for (const pid of processTree(root)) end(pid);
});

/** The parent in the text of /proc/PID/stat. The name before it may contain anything. Pure. */
export function parentOf(stat) {
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/** `root` and its descendants. `parents`: a Map of process id -> its parent's. Pure. */
export function descendants(root, parents) {
  const found = [root];
  for (const pid of found) {
    for (const [child, parent] of parents) if (parent === pid) found.push(child);
  }
  return found;
}

// Returns what `read` does, or `gone` if the process has ended.
function ofProcess(read, gone) {
  try {
    return read();
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return gone;
    throw error;
  }
}

function processTree(root) {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = ofProcess(() => readFileSync(`/proc/${name}/stat`, 'utf8'), '');
    if (stat !== '') parents.set(Number(name), parentOf(stat));
  }
  return descendants(root, parents);
}

/** CPU time in ns of `pid` and the processes that it started. */
export function treeCpuNs(pid) {
  return sumOver(pid, (one) => processCpuNs(one));
}

/** Memory of `pid` and the processes that it started, in bytes; shared pages count once. */
export function treeBytes(pid) {
  return sumOver(pid, (one) => {
    const text = readFileSync(`/proc/${one}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s*(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
  });
}

function sumOver(pid, read) {
  return processTree(pid).reduce((sum, one) => sum + ofProcess(() => read(one), 0), 0);
}

/** A TCP port of 127.0.0.1 that nobody listens on. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

const pause = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

function answers(url) {
  return fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) }).then(
    (response) => response.arrayBuffer().then(() => response.ok),
    () => false,
  );
}

/**
 * Starts a server of one or more processes and waits until each URL of `ready` answers with a
 * status of success. `place`: see start(). Resolves to {pid, readyMs, cpuNs(), bytes(), ended(),
 * stop()}; rejects with the end of its output if it ends first or is not ready in time.
 */
export async function startTree({ command, args, cores, place, ready }) {
  const startedMs = performance.now();
  const { child, pid, tail } = start(command, args, cores, place);
  roots.add(pid);
  child.once('exit', () => roots.delete(pid));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output = (output + text).slice(-4000);
  });
  let failure = '';
  child.once('error', (error) => {
    failure = error.message;
  });
  const ended = () => {
    const how = failure || (child.exitCode ?? child.signalCode);
    return how === null ? '' : `${command} ended with ${how}:\n${output}${tail()}`;
  };
  const stopAll = () => stopTree(child);
  for (const url of ready) {
    while (!(await answers(url))) {
      const late = performance.now() - startedMs > READY_MS_MAX;
      if (ended() === '' && !late) await pause(POLL_MS);
      else {
        const why = ended() || `${url} does not answer:\n${output}${tail()}`;
        await stopAll();
        throw new Error(why);
      }
    }
  }
  const readyMs = performance.now() - startedMs;
  return {
    pid,
    readyMs,
    cpuNs: () => treeCpuNs(pid),
    bytes: () => treeBytes(pid),
    ended,
    stop: stopAll,
  };
}

/** Stops a server; ends those of its processes that outlive it. */
async function stopTree(child) {
  const pids = processTree(child.pid).filter((pid) => pid !== child.pid);
  await stop(child);
  await pause(STOP_POLL_MS);
  for (const pid of pids) end(pid);
  roots.delete(child.pid);
}

function end(pid) {
  ofProcess(() => process.kill(pid, 'SIGKILL'), undefined);
}
