// Placement of models: every reason, and the settings for TensorRT.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode } from '../../../../ts/base/errors.js';
import { choosesItself, place, type GpuFacts } from '../../../../ts/models/placement/placement.js';
import { engineCacheOptions } from '../../../../ts/models/placement/tensorrt/cache.js';
import type { ModelSpec, Placement } from '../../../../ts/model/engine-api.js';

const GPU: GpuFacts = { devices: 1, obstacle: '', tensorrt: true };
const placement: Placement = {
  kind: 'auto',
  tensorrt: undefined,
  cuda: { gpu_mem_limit: '1' },
  profiles: { trt_profile_min_shapes: 'x:1x3' },
  open: [],
};
const spec = (changes: Partial<ModelSpec> = {}): ModelSpec => ({
  name: 'm',
  version: '1',
  backend: 'onnxruntime',
  path: '/m/1/model.onnx',
  ...changes,
});
const at = (changes: Partial<Placement>, facts = GPU, more: Partial<ModelSpec> = {}) =>
  place(spec({ placement: { ...placement, ...changes }, ...more }), facts);

test('the choice is ours with auto, and without a word where ONNX Runtime is one for GPUs', () => {
  const with_ = (name: string): ModelSpec => spec({ providers: [{ name, options: {} }] });
  assert.equal(choosesItself(spec(), true), true);
  assert.equal(choosesItself(spec(), false), false);
  assert.equal(choosesItself(with_('auto'), false), true);
  assert.equal(choosesItself(with_('cuda'), true), false);
});

test('without a GPU it is the CPU, with what is in the way', () => {
  const facts = { ...GPU, devices: 0, obstacle: 'the driver finds no GPU' };
  assert.deepEqual(at({}, facts), { providers: [], on: 'cpu', why: 'the driver finds no GPU' });
});

test('KIND_CPU and tabular models stay on the CPU', () => {
  assert.deepEqual(at({ kind: 'cpu' }).providers, []);
  assert.match(at({ kind: 'cpu' }).why, /KIND_CPU/);
  assert.match(at({}, GPU, { backend: 'tabular' }).why, /tabular models run on the CPU/);
});

test('TensorRT where it is asked for, or all shapes are fixed; CUDA takes what it leaves', () => {
  const cuda = { name: 'cuda', options: { gpu_mem_limit: '1' } };
  const fixed = at({});
  assert.equal(fixed.on, 'tensorrt, cuda');
  assert.deepEqual(fixed.providers, [{ name: 'tensorrt', options: placement.profiles }, cuda]);
  const asked = at({ tensorrt: { trt_fp16_enable: '1' }, open: ['x'], profiles: {} });
  assert.deepEqual(asked.providers, [
    { name: 'tensorrt', options: { trt_fp16_enable: '1' } },
    cuda,
  ]);
  assert.match(asked.why, /requests it/);
});

test('else CUDA, and why not TensorRT', () => {
  for (const [placed, why] of [
    [at({ open: ['x'] }), /leaves 'x' dynamic/],
    [at({ open: undefined }), /no configuration gives the shapes/],
    [place(spec(), GPU), /no configuration gives the shapes/],
    [at({}, { ...GPU, tensorrt: false }), /TensorRT is not installed/],
    [at({ tensorrt: {} }, { ...GPU, tensorrt: false }), /requests, is not installed/],
    [at({}, GPU, { importer: { format: 'tensorflow' } }), /compiled from TensorFlow/],
  ] as const) {
    assert.deepEqual([placed.on, placed.providers.length], ['cuda', 1]);
    assert.match(placed.why, why);
  }
});

test('a model of TensorRT engines runs on TensorRT or not at all, and says why', () => {
  const cuda = { name: 'cuda', options: { gpu_mem_limit: '1' } };
  const asked = { trt_dla_core: '0' };
  for (const source of ['TensorrtExecutionProvider', '']) {
    const holds = { name: 'N', source };
    const on = (changes: Partial<Placement>, facts = GPU) =>
      place(spec({ placement: { ...placement, ...changes } }), facts, holds);
    const why = 'holds TensorRT engines (EPContext)';
    const tensorrt = (options: Readonly<Record<string, string>>) => ({
      providers: [{ name: 'tensorrt', options }, cuda],
      on: 'tensorrt, cuda',
      why,
    });
    assert.deepEqual(on({ open: ['x'] }), tensorrt({}), 'no profiles for what is built');
    assert.deepEqual(on({ tensorrt: asked }), tensorrt(asked));
    assert.equal(place(spec(), GPU, holds).why, why);
    const begin =
      "model file /m/1/model.onnx: node 'N' (EPContext) holds an engine of " +
      'TensorrtExecutionProvider, which runs on TensorRT only (serval gpu install --tensorrt): ';
    const refused = (code: ErrorCode, rest: string, ...given: Parameters<typeof on>): void =>
      assert.throws(() => on(...given), { code, message: begin + rest });
    const { ModelInvalid, RuntimeUnavailable } = ErrorCode;
    refused(ModelInvalid, 'expected no KIND_CPU in its configuration', { kind: 'cpu' });
    const none = { ...GPU, devices: 0, obstacle: 'the driver finds no GPU' };
    refused(RuntimeUnavailable, 'the driver finds no GPU', {}, none);
    refused(RuntimeUnavailable, 'TensorRT is not installed', {}, { ...GPU, tensorrt: false });
  }
  const others = { name: 'N', source: 'QNNExecutionProvider' };
  assert.equal(place(spec({ placement }), GPU, others).on, 'tensorrt, cuda');
  assert.equal(place(spec({ backend: 'tabular' }), GPU, others).on, 'cpu');
});

test('engines are kept apart by model, version, content, GPU and driver', () => {
  const engine = {
    model: 'a/b',
    version: '3',
    content: 'c0ffee',
    gpus: ['NVIDIA H100 9.0'],
    driver: 13_000,
  };
  const options = engineCacheOptions('/cache', engine);
  const pathOf = (changes: Partial<typeof engine>, name = 'trt_engine_cache_path') =>
    engineCacheOptions('/cache', { ...engine, ...changes })[name];
  assert.match(
    options['trt_engine_cache_path'] ?? '',
    /^\/cache\/tensorrt\/a_b-[0-9a-f]{12}-3-c0ffee\/10\.16\.1\.11-[0-9a-f]{12}$/,
  );
  const others = [
    { model: 'a_b' },
    { version: '4' },
    { content: 'd' },
    { gpus: ['NVIDIA L4 8.9'] },
    { driver: 13_010 },
  ];
  const paths = [{}, ...others].map((changes) => pathOf(changes));
  assert.equal(new Set(paths).size, paths.length);
  const timing = 'trt_timing_cache_path';
  assert.equal(pathOf({ model: 'x', content: 'y' }, timing), options[timing]);
  assert.notEqual(pathOf({ gpus: [] }, timing), options[timing]);
});
