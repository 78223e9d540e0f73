// Strings to numbers and back: decimal text, raw bytes, CSV, characters. All use Serval's own
// operators. Importer's worker thread. Source: tensorflow/core/ops/string_ops.cc, parsing_ops.cc.
import type { Lowering, OpContext, Operators } from '../../lower/context.js';
import type { OnnxAttributes } from '../../lower/graph-builder.js';
import type { Dtype } from '../../types.js';
import { typeNumber, typeNumbers } from '../features/attributes.js';
import { emit, flag } from './elements.js';

const asString: Lowering = (cx) => {
  const value = cx.tensor(0);
  return emit(cx, [value], 'string', value.shape, {
    precision: { int: cx.int('precision', -1) },
    scientific: flag(cx.bool('scientific', false)),
    shortest: flag(cx.bool('shortest', false)),
    width: { int: cx.int('width', -1) },
    fill: { string: cx.bytes('fill', new Uint8Array()) },
  });
};

const toNumber: Lowering = (cx) => {
  const text = cx.tensor(0);
  const dtype = cx.type('out_type', 'float');
  return emit(cx, [text], dtype, text.shape, { out_type: { int: typeNumber(dtype) } });
};

/** Adds one dim. */
const raw: Lowering = (cx) => {
  const text = cx.tensor(0);
  const dtype = cx.type('out_type');
  return emit(cx, cx.tensors(), dtype, text.shape && [...text.shape, undefined], {
    out_type: { int: typeNumber(dtype) },
    little_endian: flag(cx.bool('little_endian', true)),
  });
};

const format: Lowering = (cx) =>
  emit(cx, cx.tensors(), 'string', [], {
    template: { string: cx.bytes('template', Buffer.from('%s')) },
    placeholder: { string: cx.bytes('placeholder', Buffer.from('%s')) },
    summarize: { int: cx.int('summarize', 3) },
  });

const csv: Lowering = (cx) => {
  const records = cx.tensor(0);
  const types = cx.list('OUT_TYPE').types;
  const outputs = types.map((dtype) => ({ dtype, shape: records.shape }));
  return cx.custom('DecodeCSV', cx.tensors(), outputs, {
    out_types: typeNumbers(types),
    field_delim: { string: cx.text('field_delim', ',') },
    use_quote_delim: flag(cx.bool('use_quote_delim', true)),
    na_value: { string: cx.bytes('na_value', new Uint8Array()) },
    select_cols: { ints: cx.ints('select_cols') },
  });
};

const replacing = (cx: OpContext): OnnxAttributes => ({
  errors: { string: cx.text('errors', 'replace') },
  replacement_char: { int: cx.int('replacement_char', 0xfffd) },
});

const decoding = (cx: OpContext): OnnxAttributes => ({
  ...replacing(cx),
  input_encoding: { string: cx.text('input_encoding') },
  replace_control_characters: flag(cx.bool('replace_control_characters', false)),
});

const decode: Lowering = (cx) => {
  const text = cx.tensor(0);
  const splits: Dtype = cx.type('Tsplits', 'int64');
  const count = text.shape?.reduce<number | undefined>(
    (product, dim) => (product === undefined || dim === undefined ? undefined : product * dim),
    1,
  );
  const rows = { dtype: splits, shape: [count === undefined ? undefined : count + 1] };
  const characters = { dtype: 'int32', shape: [undefined] } as const;
  const offsets = { dtype: 'int64', shape: [undefined] } as const;
  const withOffsets = cx.node.op === 'UnicodeDecodeWithOffsets';
  return cx.custom(cx.node.op, [text], [rows, characters, ...(withOffsets ? [offsets] : [])], {
    ...decoding(cx),
    Tsplits: { int: typeNumber(splits) },
  });
};

const transcode: Lowering = (cx) => {
  const text = cx.tensor(0);
  return emit(cx, [text], 'string', text.shape, {
    ...decoding(cx),
    output_encoding: { string: cx.text('output_encoding') },
  });
};

const encode: Lowering = (cx) => {
  const splits = cx.tensor(1);
  const length = splits.shape?.[0];
  return emit(
    cx,
    [cx.tensor(0), splits],
    'string',
    [length === undefined ? undefined : length - 1],
    { ...replacing(cx), output_encoding: { string: cx.text('output_encoding') } },
  );
};

const ENCODINGS = 'UTF-8, UTF-16, UTF-32, US-ASCII, ISO-8859-1';

export const STRING_NUMBERS: Operators = {
  AsString: { lower: asString, dtypes: 'any except complex' },
  StringToNumber: { lower: toNumber, dtypes: 'string' },
  DecodeRaw: { lower: raw, dtypes: 'string', note: 'no complex types' },
  DecodePaddedRaw: { lower: raw, dtypes: 'string' },
  StringFormat: { lower: format, dtypes: 'any' },
  DecodeCSV: { lower: csv, dtypes: 'string' },
  UnicodeDecode: { lower: decode, dtypes: 'string', note: ENCODINGS },
  UnicodeDecodeWithOffsets: { lower: decode, dtypes: 'string', note: ENCODINGS },
  UnicodeTranscode: { lower: transcode, dtypes: 'string', note: ENCODINGS },
  UnicodeEncode: { lower: encode, dtypes: 'int32' },
};
