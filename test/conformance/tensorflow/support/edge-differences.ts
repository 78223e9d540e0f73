// Edge cases in which the importer differs from TensorFlow, each with its reason. They must keep
// differing: a case that no longer does is removed from this list.

interface EdgeDifference {
  readonly group: string;
  /** Matches the case's text. */
  readonly text: RegExp;
  readonly why: string;
}

const EDGE_DIFFERENCES: readonly EdgeDifference[] = [
  {
    group: 'Cast',
    text: /DstT=uint(32|64) /,
    why: 'a float that the unsigned integer cannot hold becomes any number: C++ leaves it open',
  },
  {
    group: 'MaxPool3D',
    text: /NaN at/,
    why: 'TensorFlow answers by the number of channels and the place of the NaN; ours leave it out',
  },
];

export const knownEdge = (group: string, text: string): EdgeDifference | undefined =>
  EDGE_DIFFERENCES.find((one) => one.group === group && one.text.test(text));

/** Returns the reasons in a group that no longer match any difference. */
export const staleEdges = (group: string, differing: readonly { text: string }[]): string[] =>
  EDGE_DIFFERENCES.filter(
    (one) => one.group === group && !differing.some(({ text }) => one.text.test(text)),
  ).map(({ why }) => why);
