// Ranked lists, for includes of C++ and imports of TypeScript. Test time only.

// Reads a list from low to high; an entry is a name or {apart: names} or {knot: names}, which have
// the same rank. Returns name -> {rank, group: 'apart' | 'knot' | undefined}.
export function ranksOf(list) {
  const ranks = new Map();
  for (const [rank, entry] of list.entries()) {
    const [[group, names]] =
      typeof entry === 'string' ? [[undefined, [entry]]] : Object.entries(entry);
    for (const name of names) ranks.set(name, { rank, group });
  }
  return ranks;
}

// Returns why the list refuses that `from` uses `to`; undefined if it does not.
export function refusal(ranks, from, to) {
  if (from === to) return undefined;
  const [lower, upper] = [ranks.get(to), ranks.get(from)];
  if (lower === undefined) return `${to} is not in the ranked list`;
  if (upper === undefined) return `${from} is not in the ranked list`;
  if (lower.rank < upper.rank || (lower.rank === upper.rank && upper.group === 'knot')) {
    return undefined;
  }
  return lower.rank === upper.rank
    ? `${from} and ${to} do not see each other`
    : `${to} ranks above ${from}`;
}
