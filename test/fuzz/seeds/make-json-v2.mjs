// Writes test/fuzz/corpus/json_v2 and corpus/binary_v2: small infer bodies for the fuzzer to start
// from. Deterministic. The first bytes are the targets' choice of model and of the JSON's length
// (json_v2_fuzz.cc, binary_v2_fuzz.cc). Test time only.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DATATYPES } from './datatypes.mjs';

const corpus = join(dirname(dirname(fileURLToPath(import.meta.url))), 'corpus');

function write(target, name, ...parts) {
  mkdirSync(join(corpus, target), { recursive: true });
  writeFileSync(join(corpus, target, name), Buffer.concat(parts.map((part) => Buffer.from(part))));
}

// The byte that chooses the model: one input of the datatype, or also a second one.
function model(datatype, second = false) {
  return [(second ? 0x41 : 0x61) + DATATYPES.indexOf(datatype)];
}

function input(datatype, data, shape = '[2]') {
  return `{"name":"x","shape":${shape},"datatype":"${datatype}","data":${data}}`;
}

const values = {
  BOOL: '[true,false]',
  UINT8: '[0,255]',
  UINT16: '[0,65535]',
  UINT32: '[0,4294967295]',
  UINT64: '[0,18446744073709551615]',
  INT8: '[-128,127]',
  INT16: '[-32768,32767]',
  INT32: '[-2147483648,2147483647]',
  INT64: '[-9223372036854775808,9223372036854775807]',
  FP16: '[65504,1e-7]',
  FP32: '[[0.1],[-3.4e38]]',
  FP64: '[1e300,NaN]',
  BYTES: '["a\\n","\\ud83d\\ude00"]',
  BF16: '[Infinity,-0.0]',
};
for (const [datatype, data] of Object.entries(values)) {
  write(
    'json_v2',
    datatype.toLowerCase(),
    model(datatype),
    `{"id":"1","inputs":[${input(datatype, data)}]}`,
  );
}
const second = '{"data":[[1],2],"datatype":"INT64","name":"b","shape":[2]}';
write(
  'json_v2',
  'two_inputs',
  model('FP32', true),
  `{"inputs":[${second}, ${input('FP32', '[1,2]')}],"outputs":[{"name":"z"}]}`,
);
write(
  'json_v2',
  'parameters',
  model('INT8'),
  `{"parameters":{"binary_data_output":true,"t":1.5},"inputs":[${input('INT8', '[1,2]')}],` +
    '"outputs":[{"name":"y","parameters":{"binary_data":false}}]}',
);
write(
  'json_v2',
  'schedule',
  model('INT16'),
  `{"inputs":[${input('INT16', '[1,2]')}],"parameters":{"priority":2,"a":"},\\"{","timeout":500}}`,
);
write(
  'json_v2',
  'schedule_escaped',
  model('UINT8'),
  `{"p\\u0061rameters":{"priorit\\u0079":18446744073709551615},"inputs":[${input(
    'UINT8',
    '[1,2]',
  )}]}`,
);
write(
  'json_v2',
  'schedule_wrong',
  model('INT8'),
  `{"parameters":{"timeout":-1,"priority":1.5},"inputs":[${input('INT8', '[1,2]')}]}`,
);
write(
  'json_v2',
  'classification',
  model('FP32'),
  `{"inputs":[${input('FP32', '[[NaN,2.5,1e30],[1,-1,0]]', '[2,3]')}],` +
    '"outputs":[{"name":"y","parameters":{"classification":2,"binary_data":true}}]}',
);
write(
  'json_v2',
  'classification_halves',
  model('FP16'),
  `{"inputs":[${input('FP16', '[1,2,2,-Infinity]', '[4]')}],` +
    '"outputs":[{"name":"y","parameters":{"classification":99}}]}',
);
write(
  'json_v2',
  'classification_wrong',
  model('INT64'),
  `{"inputs":[${input('INT64', '[1,2]')}],` +
    '"outputs":[{"name":"y","parameters":{"classification":0}}]}',
);
write('json_v2', 'scalar', model('FP32'), `{"inputs":[${input('FP32', '7', '[]')}]}`);
write('json_v2', 'empty', model('FP32'), `{"inputs":[${input('FP32', '[[],[]]', '[2,0]')}]}`);
write(
  'json_v2',
  'deep',
  model('FP32'),
  `{"inputs":[${input('FP32', `${'['.repeat(16)}1,2${']'.repeat(16)}`)}]}`,
);
write(
  'json_v2',
  'data_first',
  model('BYTES'),
  '{"inputs":[{"data":["]","[\\""],"name":"x","datatype":"BYTES","shape":[2]}]}',
);
write(
  'json_v2',
  'shared_memory',
  model('FP32'),
  '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],' +
    '"parameters":{"shared_memory_region":"r"}}]}',
);
write(
  'json_v2',
  'shared_memory_output',
  model('FP32'),
  '{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}],"outputs":[{"name":"y",' +
    '"parameters":{"shared_memory_region":"r","shared_memory_byte_size":4,' +
    '"shared_memory_offset":8}}]}',
);
write('json_v2', 'truncated', model('FP32'), `{"inputs":[${input('FP32', '[1,')}`);

// Writes a body with a JSON header followed by binary data.
function writeBinary(name, choice, json, ...raw) {
  const length = Buffer.byteLength(json);
  write('binary_v2', name, choice, [length & 255, length >> 8], json, ...raw);
}
function binaryInput(name, datatype, shape, bytes) {
  return (
    `{"name":"${name}","shape":${shape},"datatype":"${datatype}",` +
    `"parameters":{"binary_data_size":${bytes}}}`
  );
}
const SIZES = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  FP32: 4,
  FP64: 8,
  BF16: 2,
};
for (const [datatype, size] of Object.entries(SIZES)) {
  writeBinary(
    datatype.toLowerCase(),
    model(datatype),
    `{"inputs":[${binaryInput('x', datatype, '[2]', 2 * size)}]}`,
    Buffer.alloc(2 * size, 1),
  );
}
const strings = [2, 0, 0, 0, 0x61, 0x62, 0, 0, 0, 0];
const bytesInput = binaryInput('b', 'BYTES', '[2]', strings.length);
writeBinary(
  'bytes',
  model('BYTES'),
  `{"inputs":[${binaryInput('x', 'BYTES', '[2]', strings.length)}]}`,
  strings,
);
writeBinary(
  'two_inputs',
  model('FP32', true),
  `{"inputs":[${bytesInput},${binaryInput('x', 'FP32', '[1]', 4)}],` +
    '"parameters":{"binary_data_output":true}}',
  strings,
  [0, 0, 128, 63],
);
writeBinary(
  'classification',
  model('FP64'),
  `{"inputs":[${binaryInput('x', 'FP64', '[1,3]', 24)}],"parameters":{"timeout":7},` +
    '"outputs":[{"name":"z","parameters":{"classification":2,"binary_data":true}}]}',
  Buffer.from(Float64Array.from([1e300, -0, 2]).buffer),
);
writeBinary(
  'mixed',
  model('INT8', true),
  `{"inputs":[${bytesInput},${input('INT8', '[1,2]')}]}`,
  strings,
);
writeBinary(
  'too_short',
  model('FP32'),
  `{"inputs":[${binaryInput('x', 'FP32', '[2]', 8)}]}`,
  [0, 0, 0],
);
writeBinary(
  'too_long',
  model('FP32'),
  `{"inputs":[${binaryInput('x', 'FP32', '[1]', 4)}]}`,
  [0, 0, 0, 0, 1],
);
write('binary_v2', 'raw_floats', model('FP32'), [0, 0], Buffer.alloc(12));
write('binary_v2', 'raw_bytes', model('BYTES'), [0, 0], 'text');
