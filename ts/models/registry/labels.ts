// Decides which labels to accept and which can be used now. Pure; control plane, any thread. A
// label applies when its version becomes available; until then it keeps its old version, as long as
// that is available. A label of a missing version never blocks anything. Source: tfserving.md 3.2,
// 9 (ruling; TensorFlow Serving refuses such labels at start, and never applies at once a
// configuration that adds a version and moves a label to it).

export type Labels = Readonly<Record<string, string>>;

/** Shared by the models without labels: most of many. */
export const NO_LABELS: Labels = Object.freeze({});

/** `previous`: the last result of this function. Labels and versions as decimal text. */
export function applyLabels(
  wanted: Labels,
  available: ReadonlySet<string>,
  previous: Labels,
): Labels {
  if (Object.keys(wanted).length === 0) return NO_LABELS;
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

/** The labels that were accepted when a configuration was first applied. */
export interface TakenLabels {
  /** Labels as the configuration has them. */
  readonly requested: Labels;
  readonly labels: Labels;
  readonly problems: readonly string[];
}

/**
 * Implements --allow_version_labels_for_unavailable_models=false: refuses a label whose version is
 * neither available nor requested by the same configuration, and keeps its old version; accepts the
 * others. Unchanged labels keep their first result (`previous`). `present`: versions that are
 * available, or that the configuration requests and that exist.
 */
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
