// Servers with isolated models, and information about their processes from /proc. Test time only.
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/polling.js';
import type { ServalProcess } from '../support/serval-process.js';

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

const entries = (path: string): readonly string[] => {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
};

/** The running processes that the server started. */
export function processesOf(server: ServalProcess): readonly number[] {
  const tasks = `/proc/${server.child.pid}/task`;
  const texts = entries(tasks).map((task) => read(join(tasks, task, 'children')));
  return texts.flatMap((text) => text.split(' ').filter(Boolean).map(Number));
}

/** True if it exists and is not a zombie. */
export function isThere(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/^State:\s+[ZX]/m.test(read(`/proc/${pid}/status`));
}

/** The running processes of a process group. */
export function groupOf(group: number): readonly number[] {
  const pids = entries('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  return pids.filter((pid) => {
    // The fields after the name, which may contain anything: state, parent, group.
    const [, , number] = read(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(number) === group && isThere(pid);
  });
}

/** The number of slots that a process serves: each has a thread, from its first request on. */
export function slotsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  return entries(tasks).filter((task) => read(join(tasks, task, 'comm')) === 'sv-channel\n').length;
}

/** The targets of a process's descriptors: "socket:[123]". */
export function descriptorsOf(pid: number): readonly string[] {
  return entries(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
}

/** Resolves to the only process, when there is one other than `before`. */
export function oneProcess(server: ServalProcess, before = 0): Promise<number> {
  return until(
    'one process of models',
    () => {
      const pids = processesOf(server);
      return pids.length === 1 && pids[0] !== before ? pids[0] : undefined;
    },
    () => `${processesOf(server).join(' ')}; ${server.stderr}`,
  );
}

/** The log lines that contain a text. */
export function linesOf(server: ServalProcess, text: string): readonly Record<string, unknown>[] {
  const lines = server.stderr.split('\n').filter((line) => line.includes(text));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Writes a model of the null backend that returns `x` after `delayUs`. */
export function addWaiting(repository: string, name: string, delayUs: number, more: string): void {
  mkdirSync(join(repository, name, '1'), { recursive: true });
  const tensor = (of: string): string => `[{ name: "${of}" data_type: TYPE_FP32 dims: [ -1 ] }]`;
  writeFileSync(
    join(repository, name, 'config.pbtxt'),
    `backend: "serval_null" input ${tensor('x')} output ${tensor('y')} ${more}
     parameters { key: "mode" value: { string_value: "delay" } }
     parameters { key: "delay_us" value: { string_value: "${delayUs}" } }`,
  );
}

/** The configuration text of an isolated model, in a group or alone. */
export function isolated(group?: string): string {
  const one = (key: string, value: string): string =>
    `parameters { key: "${key}" value: { string_value: "${value}" } }\n`;
  return one('isolation', 'process') + (group === undefined ? '' : one('isolation_group', group));
}
