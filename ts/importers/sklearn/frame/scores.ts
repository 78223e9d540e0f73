// Scores of classes: which is the greatest, and what probabilities they become. Importer's worker
// thread; pure.
import {
  call,
  type Column,
  columnRef,
  constant,
  type Expression,
  type PlanBuilder,
} from '../../plan/builder.js';
import { type Link, classify } from '../../plan/ops/classify.js';
import { vectorAssembler, vectorElement } from '../../plan/ops/vectors.js';

/** The position of the first greatest value of a Vector, a Double. */
export function greatestIndex(builder: PlanBuilder, scores: Column, place: string): Column {
  const index = builder.column('greatest score', 'double');
  builder.stage('greatest', [scores], [index], { roles: ['index'] }, place);
  return index;
}

/** 1 where the value is above (or at) 0, else 0. */
export function signIndex(
  builder: PlanBuilder,
  decision: Column,
  place: string,
  test: 'sql.greater' | 'sql.greater_equal' = 'sql.greater',
  threshold = 0,
): Column {
  const isSecond = call(test, columnRef(decision), constant(threshold));
  const value = call('sql.case', isSecond, constant(1), constant(0));
  return builder.derive('class of two', 'double', value, place);
}

/** Probabilities (a Vector) of a Vector of scores. */
export function linked(builder: PlanBuilder, raw: Column, link: Link, place: string): Column {
  const probability = builder.column('probabilities', 'vector');
  classify(builder, { raw, probability, link }, place);
  return probability;
}

/** (1 - p, p) with p = 1 / (1 + e^-score). */
export function twoProbabilities(builder: PlanBuilder, score: Column, place: string): Column {
  return linked(builder, assembled(builder, [score, score], place), 'second_sigmoid', place);
}

/** Columns of numbers as one Vector. */
export function assembled(builder: PlanBuilder, inputs: readonly Column[], place: string): Column {
  const output = builder.column('scores', 'vector');
  vectorAssembler(builder, { inputs, output, handleInvalid: 'error' }, place);
  return output;
}

/** One value of a Vector. */
export function elementOf(
  builder: PlanBuilder,
  input: Column,
  index: number,
  place: string,
): Column {
  const output = builder.column(`value ${index} of ${builder.nameOf(input)}`, 'double');
  vectorElement(builder, { input, output, index }, place);
  return output;
}

/** All values of a Vector of this size. */
export const valuesOf = (
  builder: PlanBuilder,
  vector: Column,
  size: number,
  place: string,
): readonly Column[] =>
  Array.from({ length: size }, (_, index) => elementOf(builder, vector, index, place));

/** A derived Double. */
export const derived = (
  builder: PlanBuilder,
  name: string,
  value: Expression,
  place: string,
): Column => builder.derive(name, 'double', value, place);
