// Finds ensembles that are steps of each other. Pure; control plane.

/** `stepsOf`: ensemble -> names of its steps' models. Returns ensemble -> its cycle, as text. */
export function ensembleCycles(
  stepsOf: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlyMap<string, string> {
  const left = withoutOrder(stepsOf);
  const cycles = new Map<string, string>();
  for (const name of left) {
    if (cycles.has(name)) continue;
    const walk = [name];
    const at = new Map([[name, 0]]);
    for (;;) {
      const steps = stepsOf.get(walk.at(-1) ?? '') ?? new Set<string>();
      const next = [...steps].find((step) => left.has(step)) ?? name;
      const first = at.get(next);
      if (first === undefined) {
        at.set(next, walk.length);
        walk.push(next);
        continue;
      }
      const cycle = walk.slice(first);
      cycle.forEach((one, i) => {
        const names = [...cycle.slice(i), ...cycle.slice(0, i), one];
        cycles.set(one, names.map((member) => `'${member}'`).join(' -> '));
      });
      break;
    }
  }
  return cycles;
}

/** Ensembles that are in a cycle, or have a step that is. */
function withoutOrder(stepsOf: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const users = new Map<string, string[]>();
  const open = new Map<string, number>();
  for (const [name, steps] of stepsOf) {
    const inner = [...steps].filter((step) => stepsOf.has(step));
    open.set(name, inner.length);
    for (const step of inner) {
      const list = users.get(step);
      if (list === undefined) users.set(step, [name]);
      else list.push(name);
    }
  }
  const ready = [...open].filter(([, count]) => count === 0).map(([name]) => name);
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    open.delete(name);
    for (const user of users.get(name) ?? []) {
      const count = (open.get(user) ?? 0) - 1;
      open.set(user, count);
      if (count === 0) ready.push(user);
    }
  }
  return new Set(open.keys());
}
