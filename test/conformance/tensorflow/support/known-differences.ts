// Cases in which the importer differs from TensorFlow, each with its reason. They must keep
// differing: a case that no longer does is removed from this list.
import type { Outcome } from './golden-runner.js';

export interface KnownDifference {
  readonly group: string;
  /** Matches the case's text. */
  readonly text: RegExp;
  readonly outcome: Outcome;
  readonly why: string;
}

const DENORMAL = 'denormal numbers: TensorFlow takes them for 0 in parts of the computation only';
const NOT_SUPPORTED = /the operator is not supported/;
const NO_OPERATOR = 'neither ONNX nor Serval has such an operator';

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  { group: 'Atan2', text: /special values/, outcome: 'failed', why: DENORMAL },
  {
    group: 'Equal',
    text: /incompatible_shape_error=False/,
    outcome: 'failed',
    why: 'shapes that do not broadcast fail the request instead of comparing unequal',
  },
  {
    group: 'NotEqual',
    text: /incompatible_shape_error=False/,
    outcome: 'failed',
    why: 'shapes that do not broadcast fail the request instead of comparing unequal',
  },
  {
    group: 'BatchToSpaceND',
    text: /number of blocks is not known/,
    outcome: 'unsupported',
    why: 'ONNX reshapes to a rank that is known',
  },
  {
    group: 'DepthwiseConv2dNative',
    text: /number of channels is not known/,
    outcome: 'unsupported',
    why: 'ONNX takes the number of groups as an attribute',
  },
  {
    group: 'Plumbing',
    text: /expected the error "(bad :|Shape of tensor)/,
    outcome: 'failed',
    why: 'CheckNumerics and EnsureShape hand their input on without a check',
  },
  {
    group: 'SpaceToBatchND',
    text: /number of blocks is not known/,
    outcome: 'unsupported',
    why: 'ONNX reshapes to a rank that is known',
  },
  ...['DecodeCompressed', 'UnicodeScript'].map((group) => ({
    group,
    text: NOT_SUPPORTED,
    outcome: 'unsupported' as const,
    why: NO_OPERATOR,
  })),
];

export const knownDifference = (
  group: string,
  outcome: Outcome,
  text: string,
): KnownDifference | undefined =>
  KNOWN_DIFFERENCES.find(
    (one) => one.group === group && one.outcome === outcome && one.text.test(text),
  );
