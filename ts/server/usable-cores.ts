// The number of cores that the process may use: bounded by the machine, the cores that it is bound
// to, and its cgroup's quota, which older versions of Node ignore. Control plane, main thread, at
// start. Source: Linux cgroups v1 and v2.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Returns the cores of a quota: "QUOTA PERIOD" in microseconds; Infinity: no quota. */
function coresIn(text: string): number {
  const [, quota, period] = /^(\d+)\s+(\d+)$/.exec(text.trim()) ?? [];
  return quota === undefined || Number(period) === 0 ? Infinity : Number(quota) / Number(period);
}

/**
 * Returns the smallest quota of the process's cgroup and its parents, in cores; Infinity: none.
 * `root`: the mount point; `own`: the text of /proc/self/cgroup. In a container the process's own
 * path may not exist below the root: then the root's files count.
 */
export function cgroupCores(root: string, own: string): number {
  let cores = Infinity;
  for (const line of own.split('\n')) {
    const [, controllers, path = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    const unified = controllers === '';
    if (!unified && !(controllers ?? '').split(',').includes('cpu')) continue;
    const names = path.split('/').filter((name) => name !== '');
    for (let depth = names.length; depth >= 0; depth -= 1) {
      const folder = [unified ? root : `${root}/cpu`, ...names.slice(0, depth)].join('/');
      const text = unified
        ? fileText(`${folder}/cpu.max`)
        : `${fileText(`${folder}/cpu.cfs_quota_us`).trim()} ${fileText(`${folder}/cpu.cfs_period_us`)}`;
      cores = Math.min(cores, coresIn(text));
    }
  }
  return cores;
}

/** At least 1. Tests set SERVAL_TEST_CORES to get another number. */
export function usableCores(): number {
  const asked = Number(process.env['SERVAL_TEST_CORES']);
  if (asked > 0) return asked;
  const quota = cgroupCores('/sys/fs/cgroup', fileText('/proc/self/cgroup'));
  return Math.max(1, Math.floor(Math.min(availableParallelism(), quota)));
}
