// sequence_batching in config.pbtxt: what the engine gets, and what is refused.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { engineSettings } from '../../../../../ts/models/config/engine-settings.js';
import { readStates } from '../../../../../ts/models/config/files/state-files.js';
import { parseTritonConfig } from '../../../../../ts/models/config/triton-config.js';
import type { TritonConfig } from '../../../../../ts/models/config/types.js';

const START = 'control_input { name: "S" control { bool_false_true: [ false, true ] } }';
const STATE = 'input_name: "a" output_name: "b" data_type: TYPE_FP32';

function good(text: string): TritonConfig {
  const { config, problems } = parseTritonConfig(text, 'f');
  assert.deepEqual(problems, []);
  assert.ok(config);
  return config;
}

function problemsOf(text: string): readonly string[] {
  return parseTritonConfig(text, 'f').problems.map(({ message }) => message);
}

const DONE = 'parameters { key: "serval.done_output" value { string_value: "d" } }';

test('a request that runs several times needs a state and the output that ends it', () => {
  const iterative = `iterative_sequence: true state { ${STATE} }`;
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [`sequence_batching { ${iterative} } ${DONE}`, []],
    [
      `sequence_batching { ${iterative} }`,
      [
        'iterative_sequence: expected the parameter serval.done_output with it: the output ' +
          '(BOOL, INT32 or INT64) that is true after the last step; got none',
      ],
    ],
    [
      `sequence_batching { iterative_sequence: true } ${DONE}`,
      ['iterative_sequence: expected a state with it, got none'],
    ],
    [
      `sequence_batching { ${iterative} control_input { name: "E" control {
         kind: CONTROL_SEQUENCE_END fp32_false_true: [ 0, 1 ] } } } ${DONE}`,
      ['kind: expected no CONTROL_SEQUENCE_END with iterative_sequence: the model ends itself'],
    ],
    [
      `sequence_batching { ${iterative} } ${DONE} model_transaction_policy { decoupled: true }`,
      [
        'decoupled: expected false with iterative_sequence, which has one response for each request',
      ],
    ],
    [
      `sequence_batching { } ${DONE}`,
      ['serval.done_output: expected it with sequence_batching { iterative_sequence: true } only'],
    ],
    [
      DONE,
      ['serval.done_output: expected it with sequence_batching { iterative_sequence: true } only'],
    ],
  ];
  for (const [text, expected] of cases) assert.deepEqual(problemsOf(text), expected, text);
});

test('both strategies become settings of the engine', () => {
  const direct = engineSettings(
    good(`max_batch_size: 8 sequence_batching { ${START}
      direct { max_queue_delay_microseconds: 100 minimum_slot_utilization: 0.3 } }`),
    new Map(),
  );
  assert.deepEqual(direct.sequence, {
    strategy: 'direct',
    idleUs: 1_000_000,
    slots: 0,
    rowsMin: 3,
    controls: [
      {
        input: 'S',
        signal: 'start',
        datatype: 'BOOL',
        off: Uint8Array.of(0),
        on: Uint8Array.of(1),
      },
    ],
    states: [],
    doneOutput: '',
    stepsMax: 1024,
  });
  assert.deepEqual([direct.batchDim, direct.batch?.rowsMax, direct.batch?.delayUs], [true, 8, 100]);
  assert.equal(direct.batch?.mode, 'off');
  const oldest = engineSettings(
    good(`max_batch_size: 8 sequence_batching { max_sequence_idle_microseconds: 9
      oldest { max_candidate_sequences: 4 preferred_batch_size: [ 8, 2 ] preserve_ordering: true
        max_queue_delay_microseconds: 7 } }`),
    new Map(),
  );
  assert.equal(oldest.sequence?.strategy, 'oldest');
  assert.deepEqual([oldest.sequence?.idleUs, oldest.sequence?.slots], [9, 4]);
  assert.deepEqual(oldest.batch?.preferredRows, [2, 8]);
  assert.deepEqual([oldest.batch?.delayUs, oldest.batch?.preserveOrdering], [7, true]);
  const alone = engineSettings(good('sequence_batching { }'), new Map(), 16);
  assert.deepEqual([alone.batchDim, alone.batch?.rowsMax, alone.batch?.mode], [false, 0, 'off']);
});

test('controls have the bytes of their values', () => {
  const { sequence } = engineSettings(
    good(`sequence_batching {
      control_input { name: "E" control { kind: CONTROL_SEQUENCE_END int32_false_true: [ -1, 256 ] } }
      control_input { name: "R" control { kind: CONTROL_SEQUENCE_READY fp32_false_true: [ 0, 1 ] } }
      control_input { name: "I" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } } }`),
    new Map(),
  );
  const none = new Uint8Array();
  assert.deepEqual(sequence?.controls, [
    {
      input: 'E',
      signal: 'end',
      datatype: 'INT32',
      off: Uint8Array.of(255, 255, 255, 255),
      on: Uint8Array.of(0, 1, 0, 0),
    },
    {
      input: 'R',
      signal: 'ready',
      datatype: 'FP32',
      off: Uint8Array.of(0, 0, 0, 0),
      on: Uint8Array.of(0, 0, 128, 63),
    },
    { input: 'I', signal: 'id', datatype: 'BYTES', off: none, on: none },
  ]);
});

test('states begin with zeros, with one element in a dynamic dim, or with a file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-states-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'initial_state'));
  writeFileSync(join(folder, 'initial_state', 'f'), Uint8Array.of(1, 2, 3, 4));
  writeFileSync(join(folder, 'outside'), 'x');
  const of = (file: string): TritonConfig =>
    good(`sequence_batching { state { ${STATE} dims: [ -1, 2 ] }
      state { input_name: "c" output_name: "d" data_type: TYPE_INT32 dims: [ -1 ] initial_state {
        name: "i" data_type: TYPE_INT32 dims: [ 1 ] data_file: "${file}" } } }`);
  const { states, problems } = await readStates(folder, of('f'));
  assert.deepEqual(problems, []);
  const { sequence } = engineSettings(of('f'), new Map(), 0, states);
  assert.deepEqual(
    sequence?.states.map(({ input, output, datatype, dims, initial }) => [
      ...[input, output, datatype, dims, [...initial]],
    ]),
    [
      ['a', 'b', 'FP32', [1, 2], []],
      ['c', 'd', 'INT32', [1], [1, 2, 3, 4]],
    ],
  );
  for (const [file, text] of [
    ['../outside', /expected a file in the folder initial_state, got "\.\.\/outside"/],
    ['none', /data_file: cannot read the file: ENOENT/],
  ] as const) {
    const wrong = await readStates(folder, of(file));
    assert.equal(wrong.states.size, 0);
    assert.match(wrong.problems.map(({ message }) => message).join(), text);
  }
});

test('names what is wrong', () => {
  const control = (inner: string): string => `control_input { name: "S" control { ${inner} } }`;
  const cases: readonly (readonly [string, string])[] = [
    [
      'control_input { control { bool_false_true: [ false, true ] } }',
      "name: expected the name of the model's input, got none",
    ],
    ['control_input { name: "S" }', 'control: expected one control for an input, got 0'],
    [
      control(''),
      'kind: expected one of int32_false_true, fp32_false_true, bool_false_true, got 0',
    ],
    [
      control('int32_false_true: 1'),
      'int32_false_true: expected two values, for false and true, got 1',
    ],
    [
      control('kind: CONTROL_SEQUENCE_CORRID'),
      'data_type: expected one of TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32, TYPE_STRING ' +
        'with CONTROL_SEQUENCE_CORRID, got none',
    ],
    [
      control('kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT32 int32_false_true: [ 0, 1 ]'),
      'int32_false_true: expected none with CONTROL_SEQUENCE_CORRID, got one',
    ],
    [
      `${START} ${START.replace('"S"', '"T"')}`,
      'kind: expected one CONTROL_SEQUENCE_START, got another',
    ],
    [
      `${START} state { input_name: "S" output_name: "b" data_type: TYPE_FP32 }`,
      'input_name: "S" is listed twice',
    ],
    [
      'state { input_name: "a" data_type: TYPE_FP32 }',
      "output_name: expected the name of the model's output, got none",
    ],
    [
      'state { input_name: "a" output_name: "b" }',
      'data_type: expected the type of the state, got none',
    ],
    [`state { ${STATE} dims: 0 }`, 'dims: expected 1 or more, or -1 for a dynamic dim, got 0'],
    [
      `state { ${STATE} initial_state { data_type: TYPE_INT32 zero_data: true } }`,
      'data_type: expected TYPE_FP32, the type of the state, got TYPE_INT32',
    ],
    [
      `state { ${STATE} dims: 2 initial_state { data_type: TYPE_FP32 dims: 3 zero_data: true } }`,
      'dims: expected dims of the state, [2], got [3]',
    ],
    [
      `state { ${STATE} initial_state { data_type: TYPE_FP32 } }`,
      'initial_state: expected zero_data: true or data_file, got neither',
    ],
    ['oldest { }', 'max_candidate_sequences: expected 1 to 1048576, got 0'],
    [
      'oldest { max_candidate_sequences: 1 preferred_batch_size: 3 }',
      'preferred_batch_size: expected 1 to max_batch_size, 2, got 3',
    ],
    ['direct { minimum_slot_utilization: 2 }', 'minimum_slot_utilization: expected 0 to 1, got 2'],
  ];
  for (const [inner, expected] of cases) {
    assert.deepEqual(problemsOf(`max_batch_size: 2 sequence_batching { ${inner} }`), [expected]);
  }
  assert.deepEqual(
    problemsOf(`input { name: "S" data_type: TYPE_FP32 dims: 1 } sequence_batching { ${START} }`),
    ['name: expected an input that is not in "input": the server fills it; got "S"'],
  );
  assert.deepEqual(problemsOf('platform: "pmml" sequence_batching { }').length, 1);
});
