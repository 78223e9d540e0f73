// Trace settings: for all models, for one, reset; the engine's settings; refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TraceConfig } from '../../../../../ts/config/observation/tracing.js';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import { TraceSettings } from '../../../../../ts/server/observe/tracing/settings.js';

const START: TraceConfig = {
  levels: [],
  rate: 1000,
  count: -1,
  logFrequency: 0,
  mode: 'triton',
  file: '/t.json',
  otlp: {
    url: 'http://c/v1/traces',
    protocol: 'http',
    resource: {},
    waitingMax: 1,
    delayMs: 1,
    spansMax: 1,
  },
  options: {},
};

const rule = (model: string, on: boolean, rate: number, count: number, own = true) => ({
  model,
  own,
  on,
  rate,
  count,
  tensors: false,
});

const noneLeft = (): number => -1;

test("answers are Triton's lists and texts", () => {
  const settings = new TraceSettings(START);
  assert.deepEqual(settings.answer('', -1), {
    trace_level: ['OFF'],
    trace_rate: '1000',
    trace_count: '-1',
    log_frequency: '0',
    trace_file: '/t.json',
    trace_mode: 'triton',
  });
  const otlp = new TraceSettings({
    ...START,
    mode: 'opentelemetry',
    levels: ['TIMESTAMPS'],
    options: { a: 'b' },
  });
  assert.deepEqual(otlp.answer('m', 3), {
    trace_level: ['TIMESTAMPS'],
    trace_rate: '1000',
    trace_count: '3',
    trace_mode: 'opentelemetry',
    a: 'b',
    url: 'http://c/v1/traces',
  });
});

test('uses the settings for all models where a model has none of its own', () => {
  const settings = new TraceSettings(START);
  assert.deepEqual(settings.update('m', { trace_rate: '5' }, noneLeft), [rule('m', false, 5, -1)]);
  const all = { trace_level: ['TIMESTAMPS'], trace_rate: '7', trace_count: '9' };
  assert.deepEqual(settings.update('', all, noneLeft), [
    rule('', true, 7, 9),
    rule('m', true, 5, 9),
  ]);
  assert.equal(settings.values('other').rate, 7);
  assert.equal(settings.on, true);
  // Reset one by one; the model then follows the settings for all models.
  assert.deepEqual(settings.update('m', { trace_rate: null }, noneLeft), [
    rule('m', true, 7, 9, false),
  ]);
  const cleared = { trace_level: null, trace_rate: null, trace_count: [] };
  assert.deepEqual(settings.update('', cleared, noneLeft), [rule('', false, 1000, -1)]);
  assert.equal(settings.on, false);
});

test('a count goes on from what is left where a change says nothing of it', () => {
  const settings = new TraceSettings(START);
  settings.update('', { trace_level: ['TIMESTAMPS'], trace_count: '10' }, noneLeft);
  assert.deepEqual(
    settings.update('', { trace_rate: '2' }, () => 4),
    [rule('', true, 2, 4)],
  );
  assert.deepEqual(
    settings.update('', { trace_count: '10' }, () => 4),
    [rule('', true, 2, 10)],
  );
});

test('the level TENSORS alone and beside TIMESTAMPS; not with spans', () => {
  const settings = new TraceSettings(START);
  const both = ['TIMESTAMPS', 'TENSORS'];
  for (const levels of [['TENSORS'], both]) {
    const [told] = settings.update('m', { trace_level: levels }, noneLeft);
    assert.deepEqual([told?.on, told?.tensors], [true, true]);
    assert.deepEqual(settings.answer('m', -1)['trace_level'], levels);
  }
  settings.update('m', { trace_level: ['OFF'] }, noneLeft);
  assert.deepEqual(settings.answer('m', -1)['trace_level'], ['OFF']);
  const spans = new TraceSettings({ ...START, mode: 'opentelemetry' });
  assert.throws(
    () => spans.update('', { trace_level: both }, noneLeft),
    /invalid trace setting :spans have no tensor values: TENSORS needs the mode triton$/,
  );
  assert.equal(spans.on, false);
});

test('nothing given changes nothing', () => {
  const settings = new TraceSettings(START);
  assert.deepEqual(settings.update('m', {}, noneLeft), []);
});

test('numbers come as text, as numbers, and over gRPC as a list of one', () => {
  const settings = new TraceSettings(START);
  for (const value of ['3', 3, ['3']]) {
    const [told] = settings.update('', { trace_rate: value }, noneLeft);
    assert.equal(told?.rate, 3);
  }
  settings.update('', { log_frequency: '8' }, noneLeft);
  assert.equal(settings.answer('', -1)['log_frequency'], '8');
});

test('refuses invalid settings and applies none of them', () => {
  const settings = new TraceSettings(START);
  for (const [change, text] of [
    [{ trace_rate: 'x' }, `Unable to parse 'trace_rate', got: "x"`],
    [{ trace_rate: '4294967296' }, /^Unable to parse 'trace_rate', value is out of range \[ 0, /],
    [{ trace_rate: ['1', '2'] }, "expect only 1 value for 'trace_rate'"],
    [{ trace_count: '-2' }, /^Unable to parse 'trace_count', value is out of range \[ -1, /],
    [{ trace_count: true }, `Unable to parse 'trace_count', got: "true"`],
    [{ trace_level: ['OFF', 'TIMESTAMPS'] }, "Expect only one trace level 'OFF' is specified"],
    [{ trace_level: ['TENSORS', 'OFF'] }, "Expect only one trace level 'OFF' is specified"],
    [{ trace_level: ['tensors'] }, /^trace_level: expected OFF, TIMESTAMPS or TENSORS, got "ten/],
    [{ trace_level: [1] }, /^trace_level: expected OFF, TIMESTAMPS or TENSORS, got "1"/],
    [{ trace_rate: '2', colour: 'red' }, /^trace setting "colour": expected one of trace_level, /],
  ] as const) {
    assert.throws(
      () => settings.update('', change, noneLeft),
      (error: unknown) => {
        assert.ok(error instanceof ServalError);
        assert.equal(error.code, ErrorCode.InvalidArgument);
        if (typeof text === 'string') assert.equal(error.message, text);
        else assert.match(error.message, text);
        return true;
      },
    );
  }
  assert.throws(
    () => settings.update('', { trace_file: '/x' }, noneLeft),
    (error: unknown) =>
      error instanceof ServalError &&
      error.code === ErrorCode.Unimplemented &&
      error.message === 'trace file location can not be updated through network protocol',
  );
  assert.deepEqual(settings.answer('', -1), new TraceSettings(START).answer('', -1));
});

test('without a file there is nothing to trace into', () => {
  const settings = new TraceSettings({ ...START, file: '' });
  for (const model of ['', 'm']) {
    assert.throws(
      () => settings.update(model, { trace_level: ['TIMESTAMPS'] }, noneLeft),
      /^Error: Attempting to set invalid trace setting :trace file name is not given$|trace file/,
    );
    assert.equal(settings.on, false);
  }
});
