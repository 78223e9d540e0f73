// Which cores serve and which load. Pure.

const LOAD_CORES_FROM = 8;
const LOAD_CORES = 2;

/** Of `all` cores the last for the load, two of eight and more; for the server and the runtime
 * alone the others that are not one with these (`siblingsOf`). Too few for that are shared. */
export function splitCores(all, siblingsOf) {
  const load = all.slice(-(all.length >= LOAD_CORES_FROM ? LOAD_CORES : 1));
  const taken = new Set(load.flatMap((cpu) => [cpu, ...siblingsOf(cpu)]));
  const apart = all.filter((cpu) => !taken.has(cpu));
  const rest = apart.length > 0 ? apart : all.filter((cpu) => !load.includes(cpu));
  const server = rest.length > 0 ? rest : all;
  return { server, load, all, shared: rest.length === 0 };
}
