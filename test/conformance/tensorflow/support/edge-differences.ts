// Edge cases in which the importer does not answer as TensorFlow does, each with its reason. They
// must go on differing: one that does not is taken out of here.

interface EdgeDifference {
  readonly group: string;
  /** Of the case's text. */
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

/** The reasons of those of a group that nothing differs by any more. */
export const staleEdges = (group: string, differing: readonly { text: string }[]): string[] =>
  EDGE_DIFFERENCES.filter(
    (one) => one.group === group && !differing.some(({ text }) => one.text.test(text)),
  ).map(({ why }) => why);
