// Conversion of PredictionLog records to request messages. Source: tfserving.md 2 and 3.6.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TF_CLASSIFY, TF_PREDICT, TF_REGRESS } from '../../../../ts/model/request-kinds.js';
import { recordedRequests } from '../../../../ts/models/warmup/prediction-log.js';
import { decode, messageTypes } from '../../protocols/raw-client.js';
import {
  encodeMessage,
  errorOf,
  exampleInput,
  exampleRecord,
  hex,
  multiRecord,
  predictRecord,
} from './support.js';

const X = { dtype: 1, tensor_shape: { dim: [{ size: 2 }] }, float_val: [1, 2] };
const types = messageTypes();
const KINDS: Readonly<Record<number, string>> = {
  [TF_PREDICT]: 'PredictRequest',
  [TF_CLASSIFY]: 'ClassificationRequest',
  [TF_REGRESS]: 'RegressionRequest',
};

/** The type of each request and its message in hex. */
const seen = (record: Uint8Array): readonly (readonly [string | undefined, string])[] =>
  recordedRequests(record).map(
    ({ protocol, message }) => [KINDS[protocol], Buffer.from(message).toString('hex')] as const,
  );

const decoded = (record: Uint8Array): readonly object[] =>
  recordedRequests(record).map(({ protocol, message }) =>
    decode(types, `tensorflow.serving.${KINDS[protocol]}`, Buffer.from(message)),
  );

describe('PredictionLog', () => {
  it('gives the request as it was recorded', () => {
    const spec = { name: 'another', version: { value: 3 }, signature_name: 'mine' };
    const rest = { model_spec: spec, output_filter: ['b', 'a'], client_id: 'YQ==' };
    const predict = encodeMessage('PredictRequest', { inputs: { x: X }, ...rest });
    assert.deepEqual(seen(predictRecord({ x: X }, rest)), [
      ['PredictRequest', predict.toString('hex')],
    ]);
    const request = { model_spec: spec, input: exampleInput(2) };
    const example = encodeMessage('ExampleRequest', request).toString('hex');
    assert.deepEqual(seen(exampleRecord('classify', request)), [
      ['ClassificationRequest', example],
    ]);
    assert.deepEqual(seen(exampleRecord('regress', request)), [['RegressionRequest', example]]);
    assert.deepEqual(seen(predictRecord({})), [['PredictRequest', '']]);
  });

  it('takes a MultiInference apart, one request for each task', () => {
    const task = (signature: string, verb: string): object => ({
      model_spec: { name: 'm', version: { value: 7 }, signature_name: signature },
      method_name: `tensorflow/serving/${verb}`,
    });
    const record = multiRecord({
      tasks: [task('c', 'classify'), task('', 'regress')],
      input: exampleInput(2),
    });
    const requests = recordedRequests(record);
    assert.deepEqual(
      requests.map(({ protocol }) => protocol),
      [TF_CLASSIFY, TF_REGRESS],
    );
    const shown = decoded(record) as readonly {
      model_spec: { name: string; signature_name: string; version: unknown };
      input: { example_list: { examples: unknown[] } };
    }[];
    assert.deepEqual(
      shown.map(({ model_spec: spec }) => [spec.name, spec.signature_name]),
      [
        ['m', 'c'],
        ['m', ''],
      ],
    );
    for (const { input } of shown) assert.equal(input.example_list.examples.length, 1);
  });

  it('joins a message that is given twice', () => {
    const outputs = (name: string): Buffer => predictRecord({}, { output_filter: [name] });
    assert.deepEqual(seen(Buffer.concat([outputs('a'), outputs('b')])), [
      ['PredictRequest', '1a01611a0162'],
    ]);
  });

  it('uses the last of several kinds', async () => {
    const other = encodeMessage('PredictionLog', { session_run_log: {} });
    const mine = predictRecord({ x: X });
    const first = predictRecord({}, { output_filter: ['a'] });
    assert.deepEqual(seen(Buffer.concat([first, other, mine])), seen(mine));
    const classify = exampleRecord('classify', {});
    assert.deepEqual(seen(Buffer.concat([mine, classify])), [['ClassificationRequest', '']]);
    assert.match(await errorOf(() => seen(Buffer.concat([mine, other]))), /: session_run_log can/);
  });

  it('passes over what it does not know, nested or not', () => {
    const groups = hex(`${'ab01'.repeat(50)}${'ac01'.repeat(50)}`);
    const log = encodeMessage('PredictionLog', {
      log_metadata: { model_spec: { name: 'm' }, saved_model_tags: ['serve'] },
    });
    const mine = predictRecord({ x: X });
    assert.deepEqual(seen(Buffer.concat([log, groups, mine])), seen(mine));
  });
});

describe('PredictionLog, refused', () => {
  it('kinds that are not run', async () => {
    for (const kind of ['session_run_log', 'predict_streamed_log']) {
      const record = encodeMessage('PredictionLog', { [kind]: {} });
      assert.equal(
        await errorOf(() => seen(record)),
        `UNIMPLEMENTED: ${kind} cannot be used for ` +
          'warmup; expected predict_log, classify_log, regress_log or multi_inference_log',
      );
    }
    for (const record of [Buffer.alloc(0), encodeMessage('PredictionLog', { log_metadata: {} })]) {
      assert.equal(
        await errorOf(() => seen(record)),
        'UNIMPLEMENTED: the PredictionLog contains no request',
      );
    }
  });

  it('tasks that TensorFlow Serving refuses', async () => {
    const task = (name: string, method: string, signature = 's'): object => ({
      model_spec: { name, signature_name: signature },
      method_name: method,
    });
    const classify = 'tensorflow/serving/classify';
    const cases: readonly [readonly object[], string][] = [
      [[], 'INVALID_ARGUMENT: multi_inference_log: expected at least one task, got none'],
      [[task('', classify)], 'INVALID_ARGUMENT: Found ModelSpec with an empty model name.'],
      [
        [task('m', classify), task('n', classify, 't')],
        'INVALID_ARGUMENT: All ModelSpecs in a ' +
          'MultiInferenceRequest must access the same model name.',
      ],
      [
        [task('m', classify), task('m', classify)],
        'INVALID_ARGUMENT: Duplicate evaluation of signature: s',
      ],
      [
        [task('m', 'tensorflow/serving/predict')],
        'UNIMPLEMENTED: Unsupported signature method_name: tensorflow/serving/predict',
      ],
    ];
    for (const [tasks, message] of cases) {
      assert.equal(await errorOf(() => seen(multiRecord({ tasks }))), message);
    }
    const many = Array.from({ length: 1025 }, (_, i) => task('m', classify, `s${i}`));
    assert.equal(
      await errorOf(() => seen(multiRecord({ tasks: many }))),
      'INVALID_ARGUMENT: MultiInferenceRequest: expected at most 1024 tasks, got more',
    );
  });

  it('messages that are none, with the byte', async () => {
    const cases: readonly [string, string][] = [
      ['3205', 'PredictionLog: byte 0: field 6: expected 5 bytes, but only 0 remain'],
      ['3202 0a05', 'PredictLog: byte 2: field 1: expected 5 bytes, but only 0 remain'],
      ['1202 0a05', 'ClassifyLog: byte 2: field 1: expected 5 bytes, but only 0 remain'],
      [
        '2204 0a02 0a05',
        'MultiInferenceRequest: byte 0: field 1: expected 5 bytes, but only 0 remain',
      ],
      ['3005', 'PredictionLog: byte 0: field 6: expected wire type 2, got 0'],
      [
        '32ffffffffffffffffffff01',
        'PredictionLog: byte 1: field 6: a number is longer than 10 bytes',
      ],
      ['ab01'.repeat(101), 'PredictionLog: byte 0: field 21: groups are nested deeper than 100'],
      ['6e6f742061206d657373616765', 'PredictionLog: byte 0: field 13: wire type 6 does not exist'],
    ];
    for (const [text, message] of cases) {
      assert.equal(await errorOf(() => seen(hex(text))), `MODEL_INVALID: ${message}`, text);
    }
  });

  it('every record cut short, or with a byte changed, ends in requests or a clear error', async () => {
    const task = { model_spec: { name: 'm' }, method_name: 'tensorflow/serving/regress' };
    const known = /^(no error|(MODEL_INVALID|INVALID_ARGUMENT|UNIMPLEMENTED): )/;
    for (const record of [
      predictRecord({ x: X }, { output_filter: ['out'] }),
      multiRecord({ tasks: [task], input: exampleInput(1) }),
    ]) {
      for (let at = 0; at < record.length; at += 1) {
        const cut = await errorOf(() => seen(record.subarray(0, at)));
        assert.match(cut, /^(MODEL_INVALID|UNIMPLEMENTED): /, `cut at ${at}`);
        for (const bits of [0x01, 0x08, 0x80, 0xff]) {
          const changed = Buffer.from(record);
          changed[at] = (changed[at] ?? 0) ^ bits;
          assert.match(await errorOf(() => recordedRequests(changed)), known);
        }
      }
    }
  });
});
