// Facts about this machine, and about a process from /proc. Control plane of the benchmarks.
import { execFileSync } from 'node:child_process';
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { delimiter, join } from 'node:path';

const APT_PACKAGES = {
  wrk: 'wrk',
  h2load: 'nghttp2-client',
  taskset: 'util-linux',
  setpriv: 'util-linux',
};

/** '0-2,5' -> [0, 1, 2, 5]. */
export function parseCpuList(text) {
  const list = [];
  for (const part of text.trim().split(',')) {
    const [first, last = first] = part.split('-').map(Number);
    for (let cpu = first; cpu <= last; cpu += 1) list.push(cpu);
  }
  return list;
}

/**
 * Chooses the cores of a run: the server on the first core that we may use, the load on the next
 * one that is not its hyperthread. With a single core both share it, and `shared` is true.
 */
export function pickCores() {
  const status = readFileSync('/proc/self/status', 'utf8');
  const all = parseCpuList(/^Cpus_allowed_list:\s*(\S+)/m.exec(status)[1]);
  const siblings = siblingsOf(all[0]);
  const load = all.find((cpu) => !siblings.includes(cpu)) ?? all[1] ?? all[0];
  return { server: [all[0]], load: [load], all, shared: load === all[0] };
}

/** The hyperthreads of the physical core of `cpu`, including itself. */
export function siblingsOf(cpu) {
  try {
    const path = `/sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`;
    return parseCpuList(readFileSync(path, 'utf8'));
  } catch {
    return [cpu];
  }
}

/** Throws one error that names every missing program and its apt package. */
export function requireTools(names) {
  const missing = names.filter((name) => !isOnPath(name));
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map((name) => APT_PACKAGES[name] ?? name))].join(' ');
  throw new Error(`missing: ${missing.join(', ')}; install with: apt-get install ${packages}`);
}

/** True if an executable `name` is on PATH. */
export function isOnPath(name) {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** CPU time of every thread of `pid` so far, in ns: Map of thread id -> ns. */
export function threadCpuNs(pid) {
  const threads = new Map();
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    try {
      const text = readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8');
      threads.set(id, Number(text.split(' ')[0]));
    } catch (error) {
      if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error;
    }
  }
  return threads;
}

/** CPU time of the whole process in ns, without threads that have ended. */
export function processCpuNs(pid) {
  let sum = 0;
  for (const ns of threadCpuNs(pid).values()) sum += ns;
  return sum;
}

/**
 * CPU time of a server in ns. A server of several processes counts it itself: `cpuNs()`; else it is
 * that of the process `pid`.
 */
export function serverCpuNs(server) {
  return server.cpuNs === undefined ? processCpuNs(server.pid) : server.cpuNs();
}

/** Resident memory of `pid` in bytes. */
export function residentBytes(pid) {
  return statusBytes(pid, 'VmRSS');
}

/**
 * The resident memory that is not backed by a file: pages of code vary with the functions that are
 * called.
 */
export function ownBytes(pid) {
  return statusBytes(pid, 'RssAnon');
}

/** The peak resident memory of `pid`, in bytes. */
export function peakBytes(pid) {
  return statusBytes(pid, 'VmHWM');
}

function statusBytes(pid, name) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const match = new RegExp(`^${name}:\\s*(\\d+) kB`, 'm').exec(status);
  if (match === null) throw new Error(`/proc/${pid}/status has no ${name}: has it exited?`);
  return Number(match[1]) * 1024;
}

/** The facts that are printed and saved with every result. */
export function describeMachine(root) {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cpus: cpus().length,
    kernel: release(),
    node: process.version,
    load1: loadavg()[0],
    commit: commitOf(root),
    time: new Date().toISOString(),
  };
}

function commitOf(root) {
  try {
    const git = (...args) =>
      execFileSync('git', ['-C', root, ...args], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim();
    const dirty = git('status', '--porcelain', '--untracked-files=no') === '' ? '' : '+';
    return git('rev-parse', '--short=12', 'HEAD') + dirty;
  } catch {
    return 'unknown';
  }
}
