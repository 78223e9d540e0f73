// Which labels can be used now. Pure; control plane, any thread.
// A label applies when its version becomes available; until then it stays where it was, as long as
// that version is available. A label to a missing version never blocks anything.
// Source: tfserving.md 9 (ruling; TensorFlow Serving refuses such labels at start).

export type Labels = Readonly<Record<string, string>>;

/** `previous`: what this function answered last. Labels and versions as decimal text. */
export function applyLabels(
  wanted: Labels, available: ReadonlySet<string>, previous: Labels,
): Labels {
  const applied = new Map<string, string>();
  for (const [label, version] of Object.entries(wanted)) {
    const before = Object.hasOwn(previous, label) ? previous[label] : undefined;
    if (available.has(version)) {
      applied.set(label, version);
    } else if (before !== undefined && available.has(before)) {
      applied.set(label, before);
    }
  }
  return Object.fromEntries(applied);
}
