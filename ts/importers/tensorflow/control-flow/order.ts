// Topological order of nodes. Uses a work list instead of recursion, because the model determines
// the graph's depth. Importer's worker thread; pure.
import { modelInvalid } from '../../../base/errors.js';

/**
 * Calls `visit` once for every name that the roots need, after all of that name's dependencies.
 * Errors: ModelInvalid if a name depends on itself.
 */
export function visitInOrder(
  roots: Iterable<string>,
  needs: (name: string) => readonly string[],
  visit: (name: string) => void,
): void {
  const done = new Set<string>();
  const open = new Set<string>();
  const work: { name: string; needs: readonly string[]; next: number }[] = [];
  const enter = (name: string): void => {
    if (done.has(name)) return;
    if (open.has(name))
      throw modelInvalid(`node '${name}' depends on its own output outside of a loop`);
    open.add(name);
    work.push({ name, needs: needs(name), next: 0 });
  };
  for (const root of roots) {
    enter(root);
    for (let top = work.at(-1); top !== undefined; top = work.at(-1)) {
      const need = top.needs[top.next];
      top.next += 1;
      if (need !== undefined) {
        enter(need);
        continue;
      }
      work.pop();
      open.delete(top.name);
      done.add(top.name);
      visit(top.name);
    }
  }
}
