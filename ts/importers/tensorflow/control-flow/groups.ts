// Groups Merges into the outputs of one If: those of one predicate under the same conditions,
// unless one of them depends on another. Importer's worker thread; pure.
import type { FlatGraph } from '../types.js';
import type { Choice, ConditionTable } from './conditions.js';
import { keyOf, MERGES } from './kinds.js';
import { type Loops, needsOf } from './loops.js';
import { visitInOrder } from './order.js';

/** The Merges of one If. */
export interface Group {
  readonly choices: readonly Choice[];
}

/** Each Merge's group. */
export function groupChoices(
  graph: FlatGraph,
  loops: Loops,
  conditions: ConditionTable,
  needed: ReadonlySet<string>,
): ReadonlyMap<string, Group> {
  const choices = [...conditions.choices].filter(({ merge }) => needed.has(merge.name));
  const plain = grouped(choices, keyOfChoice);
  if (choices.length === plain.length || isAcyclic(graph, loops, plain, needed)) {
    return byMerge(plain);
  }
  // Several conditions with one predicate are separated by the number of Merges before each.
  const levels = levelsOf(graph, loops, needed);
  const key = (one: Choice): string => `${levels.get(one.merge.name) ?? 0} ${keyOfChoice(one)}`;
  return byMerge(grouped(choices, key));
}

function byMerge(groups: readonly Group[]): ReadonlyMap<string, Group> {
  return new Map(
    groups.flatMap((group) =>
      group.choices.map(({ merge }): [string, Group] => [merge.name, group]),
    ),
  );
}

const keyOfChoice = ({ predicate, conditions }: Choice): string =>
  JSON.stringify([keyOf(predicate), [...conditions].sort()]);

function grouped(choices: readonly Choice[], key: (one: Choice) => string): Group[] {
  const groups = new Map<string, Choice[]>();
  for (const one of choices) {
    const own = groups.get(key(one));
    if (own === undefined) groups.set(key(one), [one]);
    else own.push(one);
  }
  return [...groups.values()].map((own) => ({ choices: own }));
}

/** Whether the groups can be ordered with each as one node. */
function isAcyclic(
  graph: FlatGraph,
  loops: Loops,
  groups: readonly Group[],
  needed: ReadonlySet<string>,
): boolean {
  const unitOf = new Map<string, string>();
  for (const { choices } of groups) {
    const [first] = choices;
    for (const { merge } of choices) unitOf.set(merge.name, first?.merge.name ?? merge.name);
  }
  const unit = (name: string): string => unitOf.get(name) ?? name;
  const users = new Map<string, string[]>();
  const waiting = new Map<string, number>();
  for (const name of needed) {
    const node = graph.nodes.get(name);
    if (node === undefined) continue;
    const self = unit(name);
    waiting.set(self, waiting.get(self) ?? 0);
    for (const need of needsOf(graph, loops, node)) {
      if (!needed.has(need)) continue;
      waiting.set(self, (waiting.get(self) ?? 0) + 1);
      const own = users.get(unit(need));
      if (own === undefined) users.set(unit(need), [self]);
      else own.push(self);
    }
  }
  const ready = [...waiting].filter(([, count]) => count === 0).map(([name]) => name);
  let done = 0;
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    done += 1;
    for (const user of users.get(name) ?? []) {
      const left = (waiting.get(user) ?? 0) - 1;
      waiting.set(user, left);
      if (left === 0) ready.push(user);
    }
  }
  return done === waiting.size;
}

/** Number of consecutive Merges before each node. */
function levelsOf(
  graph: FlatGraph,
  loops: Loops,
  needed: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const levels = new Map<string, number>();
  const needs = (name: string): string[] => {
    const node = graph.nodes.get(name);
    return node === undefined ? [] : needsOf(graph, loops, node).filter((one) => needed.has(one));
  };
  visitInOrder(needed, needs, (name) => {
    const below = needs(name).reduce((most, one) => Math.max(most, levels.get(one) ?? 0), 0);
    levels.set(name, below + (MERGES.has(graph.nodes.get(name)?.op ?? '') ? 1 : 0));
  });
  return levels;
}
