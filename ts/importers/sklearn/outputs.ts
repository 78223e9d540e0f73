// The outputs of a scikit-learn model: the methods of the estimator, named as MLServer's
// scikit-learn runtime names them. Importer's worker thread; pure. Source: MLServer's
// runtimes/sklearn/mlserver_sklearn/sklearn.py.
import { call, type Column, columnRef, constant, type Expression } from '../plan/builder.js';
import { addMatrix, addOutput, PREDICT } from '../plan/outputs.js';
import type { Type } from '../plan/generated/plan.js';
import type { Frame, Lowering } from './frame/frame.js';
import { kindOf, numbersOf, valueOf } from './frame/frame.js';
import { labelColumn } from './frame/labels.js';
import { signIndex, valuesOf } from './frame/scores.js';
import type { Clustered, Result, Scores } from './frame/step.js';

const PROBABILITIES = 'predict_proba';
const DECISION = 'decision_function';
const SAMPLES = 'score_samples';
const TRANSFORM = 'transform';
const PLACE = 'outputs';

/** `isMatrix`: every answer is a matrix, as MLServer's are. */
export function addOutputs(lowering: Lowering, result: Result, isMatrix: boolean): void {
  const writer = new OutputWriter(lowering, isMatrix);
  switch (result.role) {
    case 'transformer':
      writer.frame(result.frame, false);
      return;
    case 'regressor':
      writer.scores(PREDICT, result.values, false);
      return;
    case 'classifier': {
      const { classes, index, probability, decision } = result;
      const { type, value } = labelColumn(lowering.builder, index, classes, PLACE);
      writer.values(PREDICT, type, [value], false);
      const size = classes.values.length;
      if (probability !== undefined) {
        writer.scores(PROBABILITIES, { column: probability, size, isMatrix: true }, true);
      }
      if (decision !== undefined) writer.scores(DECISION, decision, true);
      return;
    }
    case 'detector': {
      const { decision, samples, isStrict = false } = result;
      const test = isStrict ? 'sql.greater' : 'sql.greater_equal';
      const isInlier = signIndex(lowering.builder, decision, PLACE, test);
      const signed = call('sql.subtract', call('sql.multiply', columnRef(isInlier), two), one);
      writer.values(PREDICT, 'int64', [call('sql.cast', signed, constant('bigint'))], false);
      writer.scores(DECISION, { column: decision, size: 1 }, true);
      writer.scores(SAMPLES, { column: samples, size: 1 }, true);
      return;
    }
    case 'clusterer':
      writer.cluster(result);
  }
}

const one = constant(1);
const two = constant(2);

class OutputWriter {
  readonly #lowering: Lowering;
  readonly #isMatrix: boolean;

  constructor(lowering: Lowering, isMatrix: boolean) {
    this.#lowering = lowering;
    this.#isMatrix = isMatrix;
  }

  values(name: string, type: Type, values: readonly Expression[], extra: boolean): void {
    const add = this.#isMatrix ? addMatrix : addOutput;
    add(this.#lowering.builder, name, type, values, { place: PLACE, extra });
  }

  scores(name: string, { column, size, isMatrix = false }: Scores, extra: boolean): void {
    const { builder } = this.#lowering;
    const isVector = builder.typeOf(column) === 'vector';
    const columns = isVector ? valuesOf(builder, column, size, PLACE) : [column];
    const add = this.#isMatrix || isMatrix ? addMatrix : addOutput;
    add(builder, name, 'double', columns.map(columnRef), { place: PLACE, extra });
  }

  cluster({ index, frame }: Clustered): void {
    const number = call('sql.cast', columnRef(index), constant('int'));
    this.values(PREDICT, 'int32', [number], false);
    if (frame !== undefined) this.frame(frame, true);
  }

  /** Errors: RangeError: texts and numbers. */
  frame(frame: Frame, extra: boolean): void {
    const kinds = new Set(frame.map((element) => kindOf(this.#lowering, element) ?? 'number'));
    if (frame.length === 0) throw new RangeError('transform() returns no columns');
    if (kinds.has('text') && kinds.size > 1) {
      throw new RangeError('transform() returns texts beside numbers: no tensor has both');
    }
    const isText = kinds.has('text');
    const columns: readonly Column[] = isText
      ? frame.map((element) => valueOf(this.#lowering, element, 'text', PLACE))
      : numbersOf(this.#lowering, frame, PLACE);
    const type = isText ? 'string' : 'double';
    // A list has no missing numbers.
    const values = columns.map((column) =>
      isText ? columnRef(column) : call('sql.coalesce', columnRef(column), constant(Number.NaN)),
    );
    addMatrix(this.#lowering.builder, TRANSFORM, type, values, { place: PLACE, extra });
  }
}
