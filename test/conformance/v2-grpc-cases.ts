// ModelInfer messages: accepted ones with the exact response, and refused ones with the exact
// message. Data only. Source: v2-protocol.md 1.4, 10; KServe's V2 inference protocol.

export interface TakenCase {
  readonly name: string;
  readonly asked: object;
  /** [name, datatype, shape] in order. */
  readonly outputs: readonly (readonly [string, string, readonly number[]])[];
  readonly raw: readonly Buffer[];
}

export interface RefusedCase {
  readonly name: string;
  readonly asked: object;
  readonly code: number;
  readonly details: string;
}

const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;

/** 64 bits in two halves, as protobuf.js accepts them. */
const long = (low: number, high: number, unsigned: boolean): object => ({ low, high, unsigned });
const floats = (...values: number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
const half = (more: object, tensor: object = {}): object => ({
  model_name: 'half_plus_three',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [3], ...tensor }],
  ...more,
});
const TYPED = { contents: { fp32_contents: [1, 2, 5] } };
const RAW = { raw_input_contents: [floats(1, 2, 5)] };
const Y = [['y', 'FP32', [3]]] as const;
const PLUS = [floats(3.5, 4, 5.5)];

const identity = (datatype: string, count: number, contents: object, bytes: Buffer): TakenCase => ({
  name: `${datatype}, typed`,
  asked: {
    model_name: `identity_${datatype.toLowerCase()}`,
    inputs: [{ name: 'input', datatype, shape: [1, count], contents }],
  },
  outputs: [['output', datatype, [1, count]]],
  raw: [bytes],
});
const bytesOf = (array: ArrayBufferView): Buffer =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength);

export const GRPC_TAKEN_CASES: readonly TakenCase[] = [
  { name: 'typed contents, answered raw', asked: half({}, TYPED), outputs: Y, raw: PLUS },
  { name: 'raw contents', asked: half(RAW), outputs: Y, raw: PLUS },
  { name: 'an id', asked: half({ ...RAW, id: 'größer' }), outputs: Y, raw: PLUS },
  { name: 'a version', asked: half({ ...RAW, model_version: '123' }), outputs: Y, raw: PLUS },
  {
    name: 'the two largest classes',
    asked: half({
      ...RAW,
      outputs: [{ name: 'y', parameters: [{ key: 'classification', value: { int64_param: 2 } }] }],
    }),
    outputs: [['y', 'BYTES', [2]]],
    raw: [Buffer.from('\x0a\0\0\x005.500000:2\x0a\0\0\x004.000000:1', 'latin1')],
  },
  {
    name: 'parameters',
    asked: half({
      ...RAW,
      parameters: [
        { key: 'triton_enable_empty_final_response', value: { bool_param: true } },
        { key: 'sequence_id', value: { int64_param: 5 } },
        { key: 't', value: { string_param: 'x' } },
      ],
    }),
    outputs: Y,
    raw: PLUS,
  },
  {
    name: 'an output by name',
    asked: {
      model_name: 'multi_output',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4] }],
      outputs: [{ name: 'whole' }],
      raw_input_contents: [floats(1, -1, 0, 2.5)],
    },
    outputs: [['whole', 'INT64', [1, 4]]],
    raw: [bytesOf(BigInt64Array.of(1n, -1n, 0n, 2n))],
  },
  {
    name: 'inputs in any order',
    asked: {
      model_name: 'mixed_inputs',
      inputs: [
        { name: 'weights', datatype: 'FP64', shape: [1] },
        { name: 'tag', datatype: 'BYTES', shape: [1] },
        { name: 'signal', datatype: 'FP32', shape: [1, 1] },
      ],
      raw_input_contents: [
        bytesOf(Float64Array.of(0.1)),
        Buffer.from('\x01\0\0\0z', 'latin1'),
        floats(7),
      ],
    },
    outputs: [
      ['tag_out', 'BYTES', [1]],
      ['signal_out', 'FP32', [1, 1]],
      ['weights_out', 'FP64', [1]],
    ],
    raw: [Buffer.from('\x01\0\0\0z', 'latin1'), floats(7), bytesOf(Float64Array.of(0.1))],
  },
  {
    name: 'no inputs',
    asked: { model_name: 'constant' },
    outputs: [['y', 'FP32', [3]]],
    raw: [floats(1, 2, 3)],
  },
  {
    name: 'no elements',
    asked: half({}, { shape: [0] }),
    outputs: [['y', 'FP32', [0]]],
    raw: [Buffer.alloc(0)],
  },
  identity('BOOL', 2, { bool_contents: [true, false] }, Buffer.of(1, 0)),
  identity('UINT8', 2, { uint_contents: [0, 255] }, Buffer.of(0, 255)),
  identity('UINT16', 1, { uint_contents: [65535] }, Buffer.of(255, 255)),
  identity('UINT32', 1, { uint_contents: [4294967295] }, Buffer.alloc(4, 255)),
  identity('UINT64', 1, { uint64_contents: [long(-1, -1, true)] }, Buffer.alloc(8, 255)),
  identity('INT8', 2, { int_contents: [-128, 127] }, Buffer.of(128, 127)),
  identity('INT16', 1, { int_contents: [-2] }, bytesOf(Int16Array.of(-2))),
  identity('INT32', 1, { int_contents: [-2147483648] }, bytesOf(Int32Array.of(-2147483648))),
  identity(
    'INT64',
    1,
    { int64_contents: [long(0, -2147483648, false)] },
    bytesOf(BigInt64Array.of(-(2n ** 63n))),
  ),
  identity('FP64', 1, { fp64_contents: [0.1] }, bytesOf(Float64Array.of(0.1))),
  identity(
    'BYTES',
    2,
    { bytes_contents: [Buffer.of(0, 255), Buffer.alloc(0)] },
    Buffer.of(2, 0, 0, 0, 0, 255, 0, 0, 0, 0),
  ),
];

const bad = (
  name: string,
  asked: object,
  details: string,
  code = INVALID_ARGUMENT,
): RefusedCase => ({ name, asked, code, details });
const typed = (datatype: string, contents: object, count = 1): object => ({
  model_name: `identity_${datatype.toLowerCase()}`,
  inputs: [{ name: 'input', datatype, shape: [1, count], contents }],
});
const range = (datatype: string, field: string, value: number, ends: string): RefusedCase =>
  bad(
    `${value} as ${datatype}`,
    typed(datatype, { [field]: [0, value] }, 2),
    `input 'input': value ${value} at index 1 is out of range for ${datatype} (${ends})`,
  );

export const GRPC_REFUSED_CASES: readonly RefusedCase[] = [
  bad(
    'an unknown model',
    { model_name: 'nope' },
    "Request for unknown model: 'nope' is not found",
    NOT_FOUND,
  ),
  bad(
    'an unknown version',
    half({ ...RAW, model_version: '7' }),
    "Request for unknown model: 'half_plus_three' version 7 is not found",
    NOT_FOUND,
  ),
  bad(
    'typed and raw together',
    half(RAW, TYPED),
    "input 'x': contents must not be given together with raw_input_contents",
  ),
  bad(
    'too few raw buffers',
    {
      model_name: 'mixed_inputs',
      inputs: [
        { name: 'tag', datatype: 'BYTES', shape: [0] },
        { name: 'signal', datatype: 'FP32', shape: [0, 0] },
        { name: 'weights', datatype: 'FP64', shape: [0] },
      ],
      raw_input_contents: [Buffer.alloc(0), Buffer.alloc(0)],
    },
    'raw_input_contents: expected 3 entries, one per input, got 2',
  ),
  bad(
    'too many raw buffers',
    half({ raw_input_contents: [floats(1, 2, 5), floats(1)] }),
    'raw_input_contents: expected 1 entries, one per input, got 2',
  ),
  bad(
    'too few raw bytes',
    half({ raw_input_contents: [floats(1, 2)] }),
    "input 'x': expected 12 bytes (shape [3] of FP32), got 8",
  ),
  bad(
    'too many raw bytes',
    half({ raw_input_contents: [floats(1, 2, 3, 4)] }),
    "input 'x': expected 12 bytes (shape [3] of FP32), got 16",
  ),
  bad(
    'the wrong typed field',
    half({}, { contents: { int_contents: [1, 2, 5] } }),
    "input 'x': datatype FP32 is given in fp32_contents, got 3 values in int_contents",
  ),
  bad(
    'two typed fields',
    half({}, { contents: { fp32_contents: [1, 2, 5], bool_contents: [true] } }),
    "input 'x': datatype FP32 is given in fp32_contents, got 1 values in bool_contents",
  ),
  bad(
    'too few values',
    half({}, { contents: { fp32_contents: [1, 2] } }),
    "input 'x': expected 3 values in fp32_contents (shape [3]), got 2",
  ),
  bad(
    'too many values',
    half({}, { contents: { fp32_contents: [1, 2, 3, 4] } }),
    "input 'x': expected 3 values in fp32_contents (shape [3]), got 4",
  ),
  bad(
    'FP16, typed',
    typed('FP16', { fp32_contents: [1] }),
    "input 'input': datatype FP16 has no typed contents: send it in raw_input_contents",
  ),
  bad(
    'BF16, typed',
    typed('BF16', { fp32_contents: [1] }),
    "input 'input': datatype BF16 has no typed contents: send it in raw_input_contents",
  ),
  range('UINT8', 'uint_contents', 300, '0 to 255'),
  range('UINT16', 'uint_contents', 65536, '0 to 65535'),
  range('INT8', 'int_contents', -129, '-128 to 127'),
  range('INT16', 'int_contents', 40000, '-32768 to 32767'),
  bad(
    'another datatype',
    half(RAW, { datatype: 'INT32' }),
    "input 'x': expected datatype FP32, got 'INT32'",
  ),
  bad(
    'an unknown datatype',
    half(RAW, { datatype: 'FP31' }),
    "input 'x': expected datatype FP32, got unknown datatype 'FP31'",
  ),
  bad(
    'a negative dim',
    half(RAW, { shape: [-3] }),
    "input 'x': dimension 0 of shape [-3] is negative",
  ),
  bad(
    'dims that overflow',
    half({}, { shape: [long(0, 1 << 30, false), 4] }),
    "input 'x': shape [4611686018427387904,4] has over 2^62 elements",
  ),
  bad(
    'too many dims',
    half({}, { shape: Array(40).fill(1) }),
    "input 'x': shape has 40 dimensions; the limit is 32",
  ),
  bad(
    'another rank',
    half({ raw_input_contents: [floats(1)] }, { shape: [1, 1] }),
    "unexpected shape for input 'x': expected [-1], got [1,1]",
  ),
  bad('a missing input', { model_name: 'half_plus_three' }, "input 'x' is missing"),
  bad(
    'an unknown input',
    half(RAW, { name: 'z' }),
    "input 'z': the model has no such input; expected 'x'",
  ),
  bad(
    'an input twice',
    {
      model_name: 'half_plus_three',
      inputs: [1, 2].map(() => ({ name: 'x', datatype: 'FP32', shape: [0] })),
    },
    "input 'x': given more than once",
  ),
  bad(
    'an unknown output',
    half({ ...RAW, outputs: [{ name: 'q' }] }),
    "requested output 'q': the model has no such output; expected 'y'",
  ),
  bad(
    'BYTES that lead beyond their end',
    {
      model_name: 'text_identity',
      inputs: [{ name: 'text', datatype: 'BYTES', shape: [1] }],
      raw_input_contents: [Buffer.from('\x09\0\0\0abc', 'latin1')],
    },
    "input 'text': BYTES element 0: length 9 at byte 0 overruns the data: 3 bytes left",
  ),
  ...(
    [
      [{ int64_param: 0 }, 'int64_param 0'],
      [{ int64_param: -1 }, 'int64_param -1'],
      [{ string_param: '2' }, "string_param '2'"],
    ] as const
  ).map(([value, got]) =>
    bad(
      `${got} classes`,
      half({ ...RAW, outputs: [{ name: 'y', parameters: [{ key: 'classification', value }] }] }),
      "output 'y': parameter " +
        `'classification': expected an integer from 1 (int64_param or uint64_param), got ${got}`,
    ),
  ),
  bad(
    'shared memory',
    half(
      {},
      {
        parameters: [
          { key: 'shared_memory_region', value: { string_param: 'r' } },
          { key: 'shared_memory_byte_size', value: { int64_param: 4 } },
        ],
      },
    ),
    "Unable to find shared memory region: 'r'",
  ),
];
