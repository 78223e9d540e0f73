// Which labels are taken and which can be used now. Pure; control plane, any thread.
// A label applies when its version becomes available; until then it stays where it was, as long as
// that version is available. A label to a missing version never blocks anything.
// Source: tfserving.md 3.2, 9 (ruling; TensorFlow Serving refuses such labels at start, and never
// applies a configuration that adds a version and moves a label to it at once).

export type Labels = Readonly<Record<string, string>>;

/** `previous`: what this function answered last. Labels and versions as decimal text. */
export function applyLabels(
  wanted: Labels,
  available: ReadonlySet<string>,
  previous: Labels,
): Labels {
  const applied = new Map<string, string>();
  for (const [label, version] of Object.entries(wanted)) {
    const before = labelOf(previous, label);
    if (available.has(version)) {
      applied.set(label, version);
    } else if (before !== undefined && available.has(before)) {
      applied.set(label, before);
    }
  }
  return Object.fromEntries(applied);
}

/** What a configuration's labels came to when it was first applied. */
export interface TakenLabels {
  /** As the configuration has them. */
  readonly requested: Labels;
  readonly labels: Labels;
  readonly problems: readonly string[];
}

/** For --allow_version_labels_for_unavailable_models=false: a label to a version that is neither
 * available nor asked for by the same configuration is refused and stays where it was; the others
 * are taken. Labels that have not changed keep their first answer (`previous`).
 * `present`: versions that are available or that the configuration asks for and has. */
export function takeLabels(
  model: string,
  requested: Labels,
  present: ReadonlySet<string>,
  previous: TakenLabels | undefined,
): TakenLabels {
  if (previous !== undefined && sameLabels(previous.requested, requested)) return previous;
  const labels = new Map<string, string>();
  const problems: string[] = [];
  for (const [label, version] of Object.entries(requested)) {
    if (present.has(version)) {
      labels.set(label, version);
      continue;
    }
    problems.push(
      `Request to assign label to version ${version} of model ${model}, ` +
        `which is not currently available for inference (label '${label}')`,
    );
    const before = labelOf(previous?.labels ?? {}, label);
    if (before !== undefined) labels.set(label, before);
  }
  return { requested, labels: Object.fromEntries(labels), problems };
}

function labelOf(labels: Labels, label: string): string | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined;
}

function sameLabels(a: Labels, b: Labels): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((label) => labelOf(a, label) === labelOf(b, label))
  );
}
