// Assigns cores to the server and to the load. Pure.

const LOAD_CORES_FROM = 8;
const LOAD_CORES = 2;

/**
 * The last of `all` cores runs the load, or the last two of eight and more; the server and the
 * runtime alone get the others that are not hyperthreads of these (`siblingsOf`). If there are too
 * few, they are shared.
 */
export function splitCores(all, siblingsOf) {
  const load = all.slice(-(all.length >= LOAD_CORES_FROM ? LOAD_CORES : 1));
  const taken = new Set(load.flatMap((cpu) => [cpu, ...siblingsOf(cpu)]));
  const apart = all.filter((cpu) => !taken.has(cpu));
  const rest = apart.length > 0 ? apart : all.filter((cpu) => !load.includes(cpu));
  const server = rest.length > 0 ? rest : all;
  return { server, load, all, shared: rest.length === 0 };
}
