// Options, bodies, protobuf fields, checks and the small readers of /proc.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bytesOf,
  floatsOf,
  floatTexts,
  makeFloats,
  nestTexts,
  v1Request,
  v2BinaryAnswer,
  v2BinaryInputs,
  v2BinaryRequest,
  v2JsonRequest,
} from '../bodies.mjs';
import { expectBytes, expectFloats } from '../check.mjs';
import { parseCpuList, pickCores, processCpuNs, requireTools, residentBytes } from '../machine.mjs';
import { parseCompareOptions, parseRunOptions } from '../options.mjs';
import { fieldsOf, modelInferRequest, rawOutputs } from '../wire.mjs';
import { busierShare } from '../workloads/http/threads.mjs';
import { selectWorkloads, workloads } from '../workloads/index.mjs';

test('options have defaults, and wrong values name their flag', () => {
  const options = parseRunOptions([]);
  assert.deepEqual([options.seconds, options.rounds, options.micro], [2, 3, true]);
  const quick = parseRunOptions(['--quick', '--only', 'grpc', '--save', 'base']);
  assert.deepEqual([quick.seconds, quick.rounds, quick.only, quick.save], [1, 1, 'grpc', 'base']);
  assert.throws(() => parseRunOptions(['--seconds', '2.5']), /--seconds: expected a whole number/);
  assert.throws(() => parseRunOptions(['--rounds', '0']), /--rounds/);
  assert.throws(() => parseRunOptions(['--save', '../x']), /--save: expected letters/);
  assert.throws(() => parseRunOptions(['--nope']), /--nope/);
  assert.throws(() => parseCompareOptions(['one']), /two checkouts, OLD and NEW; got 1/);
  assert.equal(parseCompareOptions(['a', 'b']).after, 'b');
});

test('--only accepts words of ids and groups, and refuses words without a match', () => {
  const chosen = (only) => selectWorkloads(only).map(({ id }) => id);
  assert.deepEqual(chosen('mlp-32,batching-off'), [
    'mlp-32-x4',
    'mlp-32-x1',
    'mlp-32-queued-x4',
    'batching-off-grpc',
    'batching-off-rest',
  ]);
  assert.deepEqual(chosen('grpc-open, grpc-large'), [
    'grpc-open-2000',
    'grpc-open-8000',
    'grpc-open-20000',
    'grpc-large',
  ]);
  assert.deepEqual(chosen('grpc-large-shm'), ['grpc-large-shm']);
  assert.deepEqual(chosen('tls-http,grpc-open-2000'), ['grpc-open-2000', 'tls-http']);
  assert.deepEqual(chosen('grpc-images,grpc-start'), [
    'start',
    'tf-resnet50-1',
    'tf-mobilenet-v2-1',
    'tf-efficientnet-b0-1',
  ]);
  assert.equal(selectWorkloads(undefined).length, workloads.length);
  assert.throws(() => selectWorkloads('nothing'), /matches no workload; they are: v1-json-16/);
});

test('every workload has its own id, and its own pair or run', () => {
  assert.equal(new Set(workloads.map(({ id }) => id)).size, workloads.length);
  for (const { run, openServal, openReference } of workloads) {
    assert.ok(run !== undefined || (openServal !== undefined && openReference !== undefined));
  }
});

test('float texts parse to the same float32', () => {
  const values = makeFloats(5000);
  assert.deepEqual(Float32Array.from(floatTexts(values), Number), values);
  assert.deepEqual(makeFloats(5000), values);
  assert.notDeepEqual(makeFloats(5000, 2), values);
});

test('nesting is row-major and must use all elements', () => {
  assert.equal(nestTexts(['1', '2', '3', '4', '5', '6'], [1, 2, 3]), '[[[1,2,3],[4,5,6]]]');
  assert.throws(() => nestTexts(['1', '2', '3'], [1, 2]), RangeError);
});

test('request bodies follow the protocols', () => {
  const tensor = { name: 'x', shape: [2], datatype: 'FP32' };
  assert.deepEqual(JSON.parse(v1Request('m', ['1.0', '2.0'], [2]).body.toString()), {
    instances: [1, 2],
  });
  assert.deepEqual(
    JSON.parse(v2JsonRequest('m', [{ tensor, texts: ['1.0', '2.0'] }]).body.toString()),
    {
      inputs: [{ ...tensor, data: [1, 2] }],
    },
  );
  const bytes = bytesOf(Float32Array.of(1, 2));
  const { body, headers } = v2BinaryRequest('m', tensor, 'y', bytes);
  const headBytes = Number(headers['Inference-Header-Content-Length']);
  assert.deepEqual(JSON.parse(body.toString('utf8', 0, headBytes)).inputs[0].parameters, {
    binary_data_size: 8,
  });
  assert.deepEqual([...floatsOf(body.subarray(headBytes))], [1, 2]);
});

test('a binary response must have exactly the announced bytes', () => {
  const answer = (size, bytes) => {
    const head = JSON.stringify({ outputs: [{ parameters: { binary_data_size: size } }] });
    return {
      headers: new Headers({ 'inference-header-content-length': String(head.length) }),
      body: Buffer.concat([Buffer.from(head), bytes]),
    };
  };
  assert.deepEqual([...v2BinaryAnswer(answer(3, Buffer.from('abc')))], [97, 98, 99]);
  assert.throws(() => v2BinaryAnswer(answer(4, Buffer.from('abc'))), /3 bytes follow, .* says 4/);
  assert.throws(
    () => v2BinaryAnswer({ headers: new Headers(), body: Buffer.alloc(0) }),
    /no Inference-Header-Content-Length/,
  );
});

test('the protobuf fields are those of the V2 proto', () => {
  const tensor = { name: 'x', datatype: 'FP32', shape: [300] };
  assert.equal(
    modelInferRequest('m', [{ tensor, bytes: Buffer.from([9]) }]).toString('hex'),
    '0a016d' + '2a0d' + '0a0178' + '120446503332' + '1a02ac02' + '3a0109',
  );
  assert.equal(
    modelInferRequest('m', [{ tensor, bytes: Buffer.from([9]) }], ['y']).toString('hex'),
    '0a016d' + '2a0d' + '0a0178' + '120446503332' + '1a02ac02' + '3203' + '0a0179' + '3a0109',
  );
  const parameters = { a: true, b: 300, c: 'z' };
  assert.equal(
    modelInferRequest('m', [], [], parameters).toString('hex'),
    '0a016d' +
      '2207' +
      '0a0161' +
      '12020801' +
      '2208' +
      '0a0162' +
      '120310ac02' +
      '2208' +
      '0a0163' +
      '12031a017a',
  );
  const answer = Buffer.from('0a016d' + '0801' + '3202abcd' + '320101', 'hex');
  assert.deepEqual(
    rawOutputs(answer).map((bytes) => bytes.toString('hex')),
    ['abcd', '01'],
  );
  assert.deepEqual(fieldsOf(answer, 1), [Buffer.from('m')]);
  assert.throws(() => rawOutputs(Buffer.from('3205ab', 'hex')), /ends past the message/);
  assert.throws(() => rawOutputs(Buffer.from('80', 'hex')), /ends inside a varint/);
  assert.throws(() => rawOutputs(Buffer.from('0900000000', 'hex')), /unexpected wire type 1/);
});

test('responses that differ are refused with the position', () => {
  expectFloats('y', [1, 2.001], [1, 2], 0.01);
  assert.throws(() => expectFloats('y', [1, 3], [1, 2]), /y\[1\]: got 3, expected 2/);
  assert.throws(() => expectFloats('y', [NaN], [1]), /y\[0\]: got NaN/);
  assert.throws(() => expectFloats('y', [1], [1, 2]), /1 values, expected 2/);
  assert.throws(
    () => expectBytes('y', Buffer.from('a'), Buffer.from('b')),
    /1 bytes differ from the 1 expected/,
  );
});

test('the share of the busier listener is computed from thread times', () => {
  const before = new Map([
    ['1', 100],
    ['2', 50],
  ]);
  const after = new Map([
    ['1', 400],
    ['2', 150],
    ['3', 10],
  ]);
  assert.equal(busierShare(before, after), 0.75);
  assert.equal(busierShare(new Map(), new Map()), 1);
});

test('cores, tools and /proc are read', () => {
  assert.deepEqual(parseCpuList('0-2,5\n'), [0, 1, 2, 5]);
  const { server, load, all } = pickCores();
  assert.ok(all.includes(server[0]) && all.includes(load[0]));
  assert.ok(processCpuNs(process.pid) > 0);
  assert.ok(residentBytes(process.pid) > 1e6);
  assert.throws(() => requireTools(['no-such-tool-x']), /missing: no-such-tool-x; install with/);
});

test('several inputs in binary follow each other', () => {
  const tensor = (name) => ({ name, datatype: 'INT64', shape: [1, 1] });
  const inputs = ['a', 'b'].map((name, i) => ({ tensor: tensor(name), bytes: Buffer.alloc(8, i) }));
  const { body, headers } = v2BinaryInputs('m', inputs, 'y');
  const head = Number(headers['Inference-Header-Content-Length']);
  const described = JSON.parse(body.toString('utf8', 0, head));
  assert.deepEqual(described.inputs[1], {
    ...tensor('b'),
    parameters: { binary_data_size: 8 },
  });
  assert.deepEqual(body.subarray(head), Buffer.concat(inputs.map(({ bytes }) => bytes)));
});
