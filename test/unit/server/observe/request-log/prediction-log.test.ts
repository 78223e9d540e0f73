// Records of logged requests, read by code that shares nothing with the writer, and by the reader
// of warm-up files.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ErrorCode } from '../../../../../ts/base/errors.js';
import { Protocol, type LoggedRequest } from '../../../../../ts/base/generated/engine.js';
import { predictionLog } from '../../../../../ts/server/observe/request-log/prediction-log.js';
import { tfRecord } from '../../../../../ts/server/observe/request-log/tf-record.js';
import { readTfRecords } from '../../../../../ts/models/warmup/tf-record.js';
import { filledFolder } from '../../../temp-folder.js';
import {
  decodeMessage,
  encodeMessage,
  tfRecordFile,
  tfRecords,
} from '../../../models/warmup/support.js';
import { logged } from './support.js';

const REQUEST = Buffer.from('the request');
const ANSWER = Buffer.from('the answer');

/** The fields of the only kind of log that was made from a request. */
function logOf(request: Partial<LoggedRequest>, rate = 0.25): Record<string, unknown> {
  const form = predictionLog(logged({ request: REQUEST, response: ANSWER, ...request }), rate);
  assert.equal(form.kind, 'record');
  // Decoded as a message whose request is bytes.
  return decodeMessage('LoggedPair', form.bytes) as Record<string, unknown>;
}

describe('PredictionLog records', () => {
  for (const [protocol, member] of [
    [Protocol.TfPredict, 'predict_log'],
    [Protocol.TfClassify, 'classify_log'],
    [Protocol.TfRegress, 'regress_log'],
    [Protocol.TfMultiInference, 'multi_inference_log'],
  ] as const) {
    it(`of ${Protocol[protocol]} have the messages as they are`, () => {
      const { log_metadata: metadata, ...log } = logOf({ protocol });
      assert.deepEqual(log, { [member]: { request: REQUEST, response: ANSWER } });
      assert.deepEqual(metadata, {
        model_spec: { name: 'm', version: { value: '3' } },
        sampling_config: { sampling_rate: 0.25 },
        timestamp_secs: String(Date.UTC(2026, 0, 2, 3, 4, 5) / 1000),
      });
    });
  }

  for (const [protocol, member] of [
    [Protocol.V1Predict, 'predict_log'],
    [Protocol.V1Classify, 'classify_log'],
    [Protocol.V1Regress, 'regress_log'],
    [Protocol.V2Rest, 'predict_log'],
    [Protocol.V2Grpc, 'predict_log'],
    [Protocol.V2GrpcStream, 'predict_log'],
  ] as const) {
    it(`of ${Protocol[protocol]} have what the engine made of the two`, () => {
      const pair = { request: Buffer.from('made of it'), response: Buffer.from('and of this') };
      const tensorflow = encodeMessage('Pair', pair);
      const { log_metadata: _, ...log } = logOf({ protocol, tensorflow });
      assert.deepEqual(log, { [member]: pair });
    });
  }

  it('are not written for failed requests', () => {
    const request = logged({ protocol: Protocol.TfPredict, code: ErrorCode.InvalidArgument });
    assert.deepEqual(predictionLog(request, 1), { kind: 'none' });
  });

  it('are not written for requests without such a form, with the reason', () => {
    const tensorflowFault = 'it is a table';
    const form = predictionLog(logged({ protocol: Protocol.V2Rest, tensorflowFault }), 1);
    assert.deepEqual(form, { kind: 'fault', reason: 'it is a table' });
  });
});

describe('TFRecord', () => {
  const RECORDS = [Buffer.alloc(0), Buffer.from('x'), Buffer.alloc(70_000, 'y')];

  it('is what another writer makes of it', () => {
    assert.deepEqual(Buffer.concat(RECORDS.map(tfRecord)), tfRecordFile(RECORDS));
    assert.deepEqual(tfRecords(Buffer.concat(RECORDS.map(tfRecord))), RECORDS);
  });

  it('is read as a warm-up file', async (context) => {
    const folder = filledFolder(context, { file: Buffer.concat(RECORDS.map(tfRecord)) });
    const seen: Buffer[] = [];
    for await (const { data } of readTfRecords(join(folder, 'file'))) seen.push(Buffer.from(data));
    assert.deepEqual(seen, RECORDS);
  });
});
