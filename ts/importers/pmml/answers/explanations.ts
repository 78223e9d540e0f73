// Explanations of PMML's models that are made of those of other models: by Targets, by a regression
// over results of segments, by sums of segments. Importer's worker thread; pure.
import type { PlanBuilder } from '../../plan/builder.js';
import { rescaled, scoreCount, summed } from '../../plan/explain.js';
import type { PmmlExplanation } from '../context.js';

/** The explanation of factor * score + offset. */
export const rescaledExplanation = (
  { of, ...rest }: PmmlExplanation,
  factor: number,
  offset: number,
): PmmlExplanation => ({ ...rest, of: rescaled(of, factor, offset) });

export interface ExplainedTerm {
  readonly explanation: PmmlExplanation;
  readonly weight: number;
  /** By its score: that of the sum. */
  readonly scores: readonly number[];
}

/** The names, each once: in the order of the request's fields if all are such. */
export function inFieldOrder(builder: PlanBuilder, names: readonly string[]): readonly string[] {
  const fields = builder.fieldNames;
  const known = [...new Set(names)];
  if (!known.every((name) => fields.includes(name))) return known;
  return fields.filter((name) => known.includes(name));
}

/** The explanation of sums of models, whose features are the union of theirs. */
export function summedExplanation(
  builder: PlanBuilder,
  terms: readonly ExplainedTerm[],
  bias: readonly number[],
): PmmlExplanation {
  const features = inFieldOrder(
    builder,
    terms.flatMap(({ explanation }) => explanation.features),
  );
  const parts = terms.map(({ explanation, weight, scores }) => ({
    of: explanation.of,
    weight,
    features: explanation.features.map((name) => features.indexOf(name)),
    scores,
  }));
  const of = summed({ parts, features: features.length, scores: bias.length, bias });
  return { of, features };
}

export interface ExplainedSegment {
  readonly explanation: PmmlExplanation | undefined;
  readonly weight: number;
  readonly scores: readonly number[];
  /** It runs in every row, with the same weight. */
  readonly isPlain: boolean;
}

/**
 * The explanation of a weighted sum or mean of segments. undefined: not all segments run in
 * every row, or have an explanation of what is summed.
 */
export function segmentSum(
  builder: PlanBuilder,
  segments: readonly ExplainedSegment[],
  method: string,
  size: number,
): PmmlExplanation | undefined {
  const terms: ExplainedTerm[] = [];
  const isMean = method === 'average' || method === 'weightedAverage';
  const total = isMean ? segments.reduce((sum, { weight }) => sum + weight, 0) : 1;
  for (const { explanation, weight, scores, isPlain } of segments) {
    if (!isPlain || explanation === undefined || explanation.isLimited === true) return undefined;
    if (explanation.isMargin === true || scoreCount(explanation.of) !== scores.length) {
      return undefined;
    }
    terms.push({ explanation, weight: weight / total, scores });
  }
  return summedExplanation(builder, terms, new Array<number>(size).fill(0));
}
