// --http-threads 2 against 1 with the same 64 connections, and the spread over the listeners. The
// server may use every core but the load's; with two cores it shares the load's core.
import { threadCpuNs } from '../../machine.mjs';
import { wrkLoad } from '../../load/wrk.mjs';
import { planV1 } from '../json-small.mjs';
import { openServalHttp } from '../sides.mjs';

const MODEL = 'half_plus_three';
const CONNECTIONS = 64;
const LISTENERS = 2;

/** The busier thread's share of the CPU time of the two busiest threads, 0.5..1. Pure. */
export function busierShare(before, after) {
  const spent = [...after].map(([id, ns]) => ns - (before.get(id) ?? 0));
  const [first = 0, second = 0] = spent.sort((a, b) => b - a).slice(0, LISTENERS);
  return first + second === 0 ? 1 : first / (first + second);
}

function serverCores({ all, load }) {
  const others = all.filter((cpu) => !load.includes(cpu)).slice(0, LISTENERS);
  return others.length === LISTENERS ? others : all;
}

async function open(context, root, threads) {
  const side = await openServalHttp(context, root, {
    model: MODEL,
    plan: planV1,
    load: (...args) => wrkLoad(...args, CONNECTIONS),
    args: ['--http-threads', String(threads)],
    cores: serverCores(context.cores),
  });
  const measure = async (seconds) => {
    const before = threadCpuNs(side.server.pid);
    const sample = await side.measure(seconds);
    const after = threadCpuNs(side.server.pid);
    return threads === 1 ? sample : { ...sample, busierShare: busierShare(before, after) };
  };
  return { ...side, measure };
}

export const httpThreads = [
  {
    id: 'http-threads-2',
    title: '--http-threads 2, V1 JSON, 64 connections',
    reference: '--http-threads 1',
    metric: 'rate',
    target: null,
    note: 'server on two cores; on a machine with only two, the load shares one of them',
    openServal: (context, root) => open(context, root, LISTENERS),
    openReference: (context) => open(context, context.root, 1),
  },
];
