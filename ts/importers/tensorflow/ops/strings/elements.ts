// Operations on single strings: case, blanks, length, substrings, base64, regular expressions. All
// use Serval's own operators. Importer's worker thread. Source: tensorflow/core/ops/string_ops.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import type { TensorValue } from '../../lower/values.js';
import type { Dtype, Shape } from '../../types.js';

export const flag = (value: boolean): { int: number } => ({ int: value ? 1 : 0 });

/** One output, by Serval's operator with the node's name, or with the given one. */
export function emit(
  cx: OpContext,
  inputs: readonly TensorValue[],
  dtype: Dtype,
  shape: Shape,
  attributes: OnnxAttributes = {},
  type = cx.node.op,
): TensorValue {
  const [value] = cx.custom(type, inputs, [{ dtype, shape }], attributes);
  return value ?? cx.fail(`${type} has no output`);
}

/** Maps inputs to the same number of outputs, with the input's shape. */
function map(
  attributes: (cx: OpContext) => OnnxAttributes = () => ({}),
  dtype: Dtype = 'string',
): Lowering {
  return (cx) => {
    const text = cx.tensor(0);
    return emit(cx, [text], dtype, text.shape, attributes(cx));
  };
}

/** The broadcast shape of two tensors; undefined if unknown. */
export function broadcastShape(a: Shape, b: Shape): Shape {
  if (a === undefined || b === undefined) return undefined;
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, i) => {
    const dim = (shape: readonly (number | undefined)[]): number | undefined =>
      i + shape.length < rank ? 1 : shape[i + shape.length - rank];
    const [x, y] = [dim(a), dim(b)];
    if (x === 1) return y;
    return y === 1 || x !== undefined ? x : y;
  });
}

const letters = map((cx) => ({ encoding: { string: cx.bytes('encoding', new Uint8Array()) } }));

const unit = (cx: OpContext): OnnxAttributes => ({ unit: { string: cx.text('unit', 'BYTE') } });

const substr: Lowering = (cx) => {
  const [text, position] = [cx.tensor(0), cx.tensor(1)];
  const shape = broadcastShape(text.shape, position.shape);
  return emit(cx, [text, position, cx.tensor(2)], 'string', shape, unit(cx));
};

/** The string of a constant scalar input. */
function constantText(cx: OpContext, index: number): Uint8Array | undefined {
  const strings = cx.strings(index);
  return cx.tensor(index).shape?.length === 0 && strings?.length === 1 ? strings[0] : undefined;
}

const staticReplace = map((cx) => ({
  pattern: { string: cx.bytes('pattern') },
  rewrite: { string: cx.bytes('rewrite') },
  replace_global: flag(cx.bool('replace_global', true)),
}));

/** A constant pattern is compiled once, when the model is loaded. */
const replace: Lowering = (cx) => {
  const text = cx.tensor(0);
  const all = { replace_global: flag(cx.bool('replace_global', true)) };
  const [pattern, rewrite] = [constantText(cx, 1), constantText(cx, 2)];
  if (pattern === undefined || rewrite === undefined) {
    return emit(cx, cx.tensors(0, 3), 'string', text.shape, all);
  }
  const texts = { pattern: { string: pattern }, rewrite: { string: rewrite } };
  return emit(cx, [text], 'string', text.shape, { ...texts, ...all }, 'StaticRegexReplace');
};

const match: Lowering = (cx) => {
  const text = cx.tensor(0);
  const pattern = constantText(cx, 1);
  if (pattern === undefined) return emit(cx, [text, cx.tensor(1)], 'bool', text.shape);
  const attributes = { pattern: { string: pattern } };
  return emit(cx, [text], 'bool', text.shape, attributes, 'StaticRegexFullMatch');
};

export const STRING_ELEMENTS: Operators = {
  StringLower: { lower: letters, dtypes: 'string' },
  StringUpper: { lower: letters, dtypes: 'string' },
  StringStrip: { lower: map(), dtypes: 'string' },
  StringLength: { lower: map(unit, 'int32'), dtypes: 'string' },
  Substr: { lower: substr, dtypes: 'string' },
  EncodeBase64: { lower: map((cx) => ({ pad: flag(cx.bool('pad', false)) })), dtypes: 'string' },
  DecodeBase64: { lower: map(), dtypes: 'string' },
  RegexReplace: { lower: replace, dtypes: 'string' },
  StaticRegexReplace: { lower: staticReplace, dtypes: 'string' },
  RegexFullMatch: { lower: match, dtypes: 'string' },
  StaticRegexFullMatch: {
    lower: map((cx) => ({ pattern: { string: cx.bytes('pattern') } }), 'bool'),
    dtypes: 'string',
  },
};
