// PredictionLog records to V2 requests. Source: tfserving.md 2 and 3.6.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordedRequest } from '../../../ts/warmup/prediction-log.js';
import { encodeMessage, errorOf, hex, predictRecord, seenRequest } from './support.js';

const SIGNATURE = 'serving_default';
const X = { dtype: 1, tensor_shape: { dim: [{ size: 2 }] }, float_val: [1, 2] };
const X_SEEN = ['x', 'FP32', [2], '0000803f00000040'] as const;
const seen = (record: Uint8Array): unknown => seenRequest(recordedRequest(record, SIGNATURE));

describe('PredictionLog', () => {
  it('becomes a request; model, version and signature_name are left out', () => {
    const expected = { inputs: [X_SEEN], outputs: [] };
    assert.deepEqual(seen(predictRecord({ x: X })), expected);
    const spec = { name: 'another', version: 3, signature_name: 'serving_default' };
    assert.deepEqual(seen(predictRecord({ x: X }, { model_spec: spec, client_id: 'YQ==' })),
      expected);
  });

  it('keeps several inputs and output_filter in order', () => {
    const ids = { dtype: 9, tensor_shape: { dim: [{ size: 1 }, { size: 3 }] }, int64_val: [7] };
    const text = { dtype: 7, tensor_shape: {}, string_val: [Buffer.from('é')] };
    const record = predictRecord({ text, x: X, ids }, { output_filter: ['b', 'a'] });
    assert.deepEqual(seen(record), {
      inputs: [
        ['text', 'BYTES', [], '02000000c3a9'], X_SEEN,
        ['ids', 'INT64', [1, 3], '0700000000000000'.repeat(3)],
      ],
      outputs: ['b', 'a'],
    });
    assert.deepEqual(seen(predictRecord({})), { inputs: [], outputs: [] });
  });

  it('writes sizes and names longer than one byte of length', () => {
    const name = 'n'.repeat(300);
    const wide = { dtype: 4, tensor_shape: { dim: [{ size: 300 }] }, int_val: [9] };
    assert.deepEqual(seen(predictRecord({ [name]: wide })),
      { inputs: [[name, 'UINT8', [300], '09'.repeat(300)]], outputs: [] });
  });

  it('takes the signature that the model has under another name', async () => {
    const record = predictRecord({ x: X }, { model_spec: { signature_name: 'mine' } });
    assert.deepEqual(seenRequest(recordedRequest(record, 'mine')).outputs, []);
    assert.equal(await errorOf(() => seen(record)),
      'SIGNATURE_NOT_FOUND: Serving signature key "mine" not found. Expected "serving_default"');
  });

  it('of an input given twice takes the last; of one message given twice, both', () => {
    const twice = predictRecord({ x: { ...X, float_val: [5] } });
    assert.deepEqual(seen(Buffer.concat([twice, predictRecord({ x: X })])),
      { inputs: [X_SEEN], outputs: [] });
    const outputs = (name: string): Buffer => predictRecord({}, { output_filter: [name] });
    assert.deepEqual(seen(Buffer.concat([outputs('a'), outputs('b')])),
      { inputs: [], outputs: ['a', 'b'] });
  });

  it('of several kinds takes the last', async () => {
    const other = encodeMessage('PredictionLog', { classify_log: {} });
    const mine = predictRecord({ x: X });
    const first = predictRecord({}, { output_filter: ['a'] });
    assert.deepEqual(seen(Buffer.concat([first, other, mine])), { inputs: [X_SEEN], outputs: [] });
    assert.match(await errorOf(() => seen(Buffer.concat([mine, other]))), /: classify_log comes/);
  });

  it('passes over what it does not know, nested or not', () => {
    const groups = hex(`${'ab01'.repeat(50)}${'ac01'.repeat(50)}`);
    const log = encodeMessage('PredictionLog', {
      log_metadata: { model_spec: { name: 'm' }, saved_model_tags: ['serve'] },
    });
    assert.deepEqual(seen(Buffer.concat([log, groups, predictRecord({ x: X })])),
      { inputs: [X_SEEN], outputs: [] });
  });
});

describe('PredictionLog, refused', () => {
  it('kinds that are not run', async () => {
    const later = 'comes with TensorFlow models, which this version does not serve yet';
    const never = 'cannot be used for warmup';
    const kinds: readonly [string, string][] = [
      ['classify_log', later], ['regress_log', later], ['multi_inference_log', later],
      ['session_run_log', never], ['predict_streamed_log', never],
    ];
    for (const [kind, why] of kinds) {
      const record = encodeMessage('PredictionLog', { [kind]: {} });
      assert.equal(await errorOf(() => seen(record)),
        `UNIMPLEMENTED: ${kind} ${why}; expected predict_log`);
    }
    for (const record of [Buffer.alloc(0), encodeMessage('PredictionLog', { log_metadata: {} })]) {
      assert.equal(await errorOf(() => seen(record)),
        'UNIMPLEMENTED: the PredictionLog holds no request');
    }
  });

  it('messages that are none, with the byte', async () => {
    const cases: readonly [string, string][] = [
      ['3205', 'PredictionLog: byte 0: field 6: 5 bytes expected, 0 are left'],
      ['3202 0a05', 'PredictLog: byte 2: field 1: 5 bytes expected, 0 are left'],
      ['3204 0a02 1205', 'PredictRequest: byte 4: field 2: 5 bytes expected, 0 are left'],
      ['3207 0a05 1203 0a01ff',
        'PredictRequest.InputsEntry: byte 8: field 1: the text is not valid UTF-8'],
      ['3204 0a02 0a 01', 'PredictRequest: byte 4: field 1: 1 bytes expected, 0 are left'],
      ['3005', 'PredictionLog: byte 0: field 6: expected wire type 2, got 0'],
      ['32ffffffffffffffffffff01',
        'PredictionLog: byte 1: field 6: a number is longer than 10 bytes'],
      ['ab01'.repeat(101), 'PredictionLog: byte 0: field 21: groups nest deeper than 100'],
      ['6e6f742061206d657373616765', 'PredictionLog: byte 0: field 13: wire type 6 does not exist'],
    ];
    for (const [text, message] of cases) {
      assert.equal(await errorOf(() => seen(hex(text))), `MODEL_INVALID: ${message}`, text);
    }
  });

  it('every record cut short, or with a byte changed, ends in an answer or a clear error',
    async () => {
      const record = predictRecord({ x: X, y: { ...X, dtype: 3, int_val: [1, 300] } },
        { model_spec: { signature_name: SIGNATURE }, output_filter: ['out'] });
      const known = /^(no error|(MODEL_INVALID|INVALID_ARGUMENT|UNIMPLEMENTED|SIGNATURE_.*): )/;
      for (let at = 0; at < record.length; at += 1) {
        const cut = await errorOf(() => seen(record.subarray(0, at)));
        assert.match(cut, /^(MODEL_INVALID|UNIMPLEMENTED): /, `cut at ${at}`);
        for (const bits of [0x01, 0x08, 0x80, 0xff]) {
          const changed = Buffer.from(record);
          changed[at] = (changed[at] ?? 0) ^ bits;
          assert.match(await errorOf(() => recordedRequest(changed, SIGNATURE)), known);
        }
      }
    });

  it('names the input that is wrong', async () => {
    const record = predictRecord({ x: X, y: { dtype: 8, tensor_shape: {} } });
    assert.match(await errorOf(() => seen(record)), /^UNIMPLEMENTED: tensor parsing error: y: /);
  });
});
