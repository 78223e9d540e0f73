// The defaults of --memory-limit, half of the memory that the process may still use at startup, and
// of --models-memory-limit, the other half. The
// bound is the cgroup (a container's limit), the address space (ulimit -v) or the machine. Control
// plane, start-up only. Source: Linux cgroups v1 and v2, proc(5).
import { readFileSync } from 'node:fs';
import { MEMORY_LIMIT_MIN } from '../../base/limits.js';

/** In bytes; Infinity where there is no such limit. */
export interface MemoryFacts {
  /** The smallest limit of the cgroup and its ancestors. */
  readonly cgroupBytes: number;
  readonly machineBytes: number;
  readonly addressBytes: number;
  /** Memory that is already resident, and already mapped. */
  readonly residentBytes: number;
  readonly mappedBytes: number;
}

/** Returns the remainder of the tightest limit. */
function memoryLeft(facts: MemoryFacts): number {
  return Math.min(
    Math.min(facts.cgroupBytes, facts.machineBytes) - facts.residentBytes,
    facts.addressBytes - facts.mappedBytes,
  );
}

/** Returns what the limit of requests leaves for models; at least 0. */
export function modelsMemoryLimit(facts: MemoryFacts, requestBytes: number): number {
  return Math.max(0, memoryLeft(facts) - requestBytes);
}

/** Returns half of what remains of the tightest limit, at least MEMORY_LIMIT_MIN. */
export function defaultMemoryLimit(facts: MemoryFacts): number {
  const left = memoryLeft(facts);
  return Number.isFinite(left)
    ? Math.max(MEMORY_LIMIT_MIN, Math.floor(left / 2))
    : Number.MAX_SAFE_INTEGER;
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function bytesIn(text: string): number {
  return /^\d+$/.test(text.trim()) ? Number(text) : Infinity;
}

function kibIn(text: string, key: string): number | undefined {
  const found = new RegExp(`^${key}:\\s*(\\d+) kB$`, 'm').exec(text)?.[1];
  return found === undefined ? undefined : Number(found) * 1024;
}

/**
 * Returns the smallest limit of the process's cgroup and its parents. `root`: the mount point;
 * `own`: the text of /proc/self/cgroup. In a container the process's own path may not exist below
 * the root: then the root's files count.
 */
export function cgroupLimit(root: string, own: string): number {
  let limit = Infinity;
  for (const line of own.split('\n')) {
    const [, controllers, path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    const unified = controllers === '';
    if (!unified && !(controllers ?? '').split(',').includes('memory')) continue;
    const base = unified ? root : `${root}/memory`;
    const file = unified ? 'memory.max' : 'memory.limit_in_bytes';
    const names = path.split('/').filter((name) => name !== '');
    for (let depth = names.length; depth >= 0; depth -= 1) {
      const folder = [base, ...names.slice(0, depth)].join('/');
      limit = Math.min(limit, bytesIn(fileText(`${folder}/${file}`)));
    }
  }
  return limit;
}

/** Reads the limits of this process and machine from Linux. */
export function readMemoryFacts(): MemoryFacts {
  const status = fileText('/proc/self/status');
  const address = /^Max address space\s+(\d+)/m.exec(fileText('/proc/self/limits'))?.[1];
  return {
    cgroupBytes: cgroupLimit('/sys/fs/cgroup', fileText('/proc/self/cgroup')),
    machineBytes: kibIn(fileText('/proc/meminfo'), 'MemTotal') ?? Infinity,
    addressBytes: address === undefined ? Infinity : Number(address),
    residentBytes: kibIn(status, 'VmRSS') ?? 0,
    mappedBytes: kibIn(status, 'VmSize') ?? 0,
  };
}
