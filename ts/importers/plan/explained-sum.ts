// Explanations of sums of models: of trees as one of all their trees where that is the same, else as
// the sum of the parts' Shapley values. Importer's worker thread; pure.
import {
  type AnyExplanation,
  type ExplainedForest,
  type ExplainedPart,
  type Explanation,
  scoreCount,
  type SummedExplanation,
} from './explain.js';

/** The explanation of factor * score + offset, for all scores. */
export function rescaled(of: AnyExplanation, factor: number, offset: number): AnyExplanation {
  if ('coefficients' in of) {
    const coefficients = of.coefficients.map((each) => each * factor);
    const intercepts = of.intercepts.map((each) => each * factor + offset);
    return { ...of, coefficients, intercepts };
  }
  const bias = Array.from(
    { length: scoreCount(of) },
    (_, score) => (of.bias?.[score] ?? 0) * factor + offset,
  );
  if ('forests' in of) return { ...of, scale: (of.scale ?? 1) * factor, bias };
  const parts = of.parts.map((part) => ({ ...part, weight: part.weight * factor }));
  return { ...of, parts, bias };
}

/** The explanation of a sum of models. */
export function summed(given: SummedExplanation): Explanation | SummedExplanation {
  return mergedForests(given) ?? given;
}

type TreePart = ExplainedPart & { readonly of: Explanation };

const isTrees = (part: ExplainedPart): part is TreePart =>
  'forests' in part.of &&
  part.of.lacks === undefined &&
  part.scores.every((score, i) => score === (part.scores[0] ?? 0) + i);

/** undefined: parts are not of trees, or have several factors. */
function mergedForests(given: SummedExplanation): Explanation | undefined {
  const { parts, features, scores } = given;
  const [first] = parts;
  if (first === undefined || !parts.every(isTrees)) return undefined;
  const trees: readonly TreePart[] = parts;
  const scaleOf = ({ of, weight }: TreePart): number => (of.scale ?? 1) * weight;
  const [scale] = trees.map(scaleOf);
  if (scale === undefined || trees.some((part) => scaleOf(part) !== scale)) return undefined;
  const forests: ExplainedForest[] = [];
  const bias = Array.from({ length: scores }, (_, score) => given.bias?.[score] ?? 0);
  for (const part of trees) {
    for (const forest of part.of.forests) {
      const sources = sourcesIn(forest, part.features);
      if (sources === undefined) return undefined;
      const { order: _, ...rest } = forest;
      forests.push({ ...rest, sources, score: (part.scores[0] ?? 0) + (forest.score ?? 0) });
    }
    part.of.bias?.forEach((each, i) => {
      const score = part.scores[i] ?? 0;
      bias[score] = (bias[score] ?? 0) + each * part.weight;
    });
  }
  const { coversName, hasMargins = true } = trees[0]?.of ?? { coversName: '' };
  return { forests, features, scores, scale, bias, coversName, hasMargins };
}

/** The features of the sum that each column of the trees is made of; undefined: not known. */
function sourcesIn(
  { sources, options: { features: own } }: ExplainedForest,
  features: readonly number[],
): readonly (readonly number[])[] | undefined {
  const width = 'vector' in own ? (own.size ?? 0) : own.length;
  const given = sources ?? Array.from({ length: width }, (_, feature) => [feature]);
  if (given.length === 0) return undefined;
  return given.map((each) => each.map((feature) => features[feature] ?? 0));
}
