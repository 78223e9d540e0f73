// Operators on one number of a row. Importer's worker thread; pure.
import type { Column, PlanBuilder } from '../builder.js';
import type { MathBinary, MathUnary } from '../generated/stages.js';
import type { HandleInvalid } from './common.js';

/**
 * Double to Double: the bucket among ascending `splits`; the last one is closed. 'keep': NaN gets a
 * separate bucket. Missing stays missing; a value outside all buckets is refused.
 */
export function bucketizer(
  builder: PlanBuilder,
  op: {
    readonly input: Column;
    readonly output: Column;
    readonly splits: Float64Array;
    readonly handleInvalid: HandleInvalid;
    readonly dropsMissing?: boolean;
  },
  place: string,
): void {
  const attributes = {
    splits: op.splits,
    keep: op.handleInvalid === 'keep',
    // Spark drops a row whose value is missing, too; in the other modes it passes.
    skip: op.dropsMissing === true,
  };
  builder.stage('bucketizer', [op.input], [op.output], attributes, place);
}

/**
 * A number -> Double, a Vector -> Vector: 1 where a value is greater than `threshold`, else 0.
 * `missingIsZero`: of a number (Spark), else a missing one is refused.
 */
export function binarizer(
  builder: PlanBuilder,
  op: {
    readonly input: Column;
    readonly output: Column;
    readonly threshold: number;
    readonly missingIsZero: boolean;
  },
  place: string,
): void {
  const attributes = { threshold: { real: op.threshold }, missingIsZero: op.missingIsZero };
  builder.stage('binarizer', [op.input], [op.output], attributes, place);
}

/**
 * A number where it is missing or equals `missingValue` (NaN equals NaN): `surrogate`, cast to the
 * column's type. The output has the input's type.
 */
export function imputer(
  builder: PlanBuilder,
  op: {
    readonly input: Column;
    readonly output: Column;
    readonly surrogate: number;
    readonly missingValue: number;
  },
  place: string,
): void {
  const attributes = {
    surrogate: { real: op.surrogate },
    missingValue: { real: op.missingValue },
  };
  builder.stage('imputer', [op.input], [op.output], attributes, place);
}

/**
 * The first input that is there, or missing. Inputs of one type of any sort (Vectors too), or
 * numbers of several, which become Doubles.
 */
export function coalesce(
  builder: PlanBuilder,
  op: { readonly inputs: readonly Column[]; readonly output: Column },
  place: string,
): void {
  builder.stage('coalesce', op.inputs, [op.output], {}, place);
}

/** MLeap: Double -> Double. A missing one is refused. */
export function mathUnary(
  builder: PlanBuilder,
  op: { readonly input: Column; readonly output: Column; readonly operation: MathUnary },
  place: string,
): void {
  const attributes = { operation: op.operation };
  builder.stage('math_unary', [op.input], [op.output], attributes, place);
}

/**
 * MLeap: two Doubles -> Double. `da`, `db`: what stands for a missing or left out a or b; without
 * it a missing one is refused.
 */
export function mathBinary(
  builder: PlanBuilder,
  op: {
    readonly a?: Column | undefined;
    readonly b?: Column | undefined;
    readonly output: Column;
    readonly operation: MathBinary;
    readonly da?: number | undefined;
    readonly db?: number | undefined;
  },
  place: string,
): void {
  const inputs = [op.a, op.b].filter((column) => column !== undefined);
  const attributes = {
    operation: op.operation,
    hasA: op.a !== undefined,
    hasB: op.b !== undefined,
    da: op.da === undefined ? undefined : { real: op.da },
    db: op.db === undefined ? undefined : { real: op.db },
  };
  builder.stage('math_binary', inputs, [op.output], attributes, place);
}
