// Requests to tabular models, in all their forms, as lines of JSON with their values; TensorFlow
// Serving's form counts them without logging them, except for Predict's own messages.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { tempFolder } from '../../unit/temp-folder.js';
import { metric, put } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';
import { filesOf, lines, type LogLine } from './support.js';

/** A pipeline as saved by Spark: SELECT *, a + b AS sum. */
function putSums(folder: string): void {
  const metadata = (name: string, uid: string, params: object): string =>
    JSON.stringify({
      class: `org.apache.spark.ml.${name}`,
      timestamp: 1700000000000,
      sparkVersion: '3.5.5',
      uid,
      paramMap: params,
      defaultParamMap: {},
    });
  const place = (path: string): string => join(folder, 'sums', '1', path, 'metadata', 'part-00000');
  put(place(''), metadata('PipelineModel', 'pipe', { stageUids: ['sql'] }));
  const statement = 'SELECT *, a + b AS sum FROM __THIS__';
  put(place('stages/0_sql'), metadata('feature.SQLTransformer', 'sql', { statement }));
}

async function started(context: TestContext, ...flags: readonly string[]) {
  const folder = tempFolder(context);
  putSums(join(folder, 'models'));
  const logs = join(folder, 'logs');
  const server = await startServer([
    ...['--model-repository', join(folder, 'models'), '--request-log-dir', logs, ...flags],
  ]);
  context.after(() => server.stop());
  return { server, logs };
}

const FEATURES = {
  name: 'both',
  datatype: 'INT32',
  shape: [2, 2],
  parameters: { features: 'a,b' },
  data: [10, 11, 20, 21],
};
const FRAME = {
  schema: {
    fields: [
      { name: 'a', type: 'integer' },
      { name: 'b', type: 'integer' },
    ],
  },
  rows: [
    [1, 2],
    [30, 4],
  ],
};
const BODIES: readonly (readonly [path: string, body: string])[] = [
  ['/v1/models/sums:predict', '{"instances":[{"a":1,"b":2},{"a":3,"b":null}]}'],
  ['/v2/models/sums/infer', JSON.stringify({ inputs: [FEATURES] })],
  ['/models/sums/transform', JSON.stringify(FRAME)],
  ['/v2/models/sums/csv?outputs=sum', 'a,b\n1,2\n30,4\n'],
];

async function askAll(server: ServalProcess): Promise<void> {
  for (const [path, body] of BODIES) {
    const answer = await exchange(server.httpPort, 'POST', path, body);
    assert.equal(answer.status, 200, `${path}: ${answer.body.toString()}`);
  }
}

type Tensors = readonly { readonly name: string; readonly data?: unknown }[];
/** Name -> values of the tensors of one side. */
const valuesOf = (line: LogLine | undefined, side: string, member: string): object => {
  const tensors = (line?.[side] as Record<string, Tensors> | undefined)?.[member] ?? [];
  return Object.fromEntries(tensors.map(({ name, data }) => [name, data]));
};

describe('requests to tabular models', () => {
  it('are lines with their values: rows, features, frames and CSV', async (context) => {
    const { server, logs } = await started(context);
    await askAll(server);
    const [rows, features, ...frames] = await lines(logs, BODIES.length);
    assert.deepEqual(rows?.['request'], {
      instances: [
        { a: 1, b: 2 },
        { a: 3, b: null },
      ],
    });
    assert.ok(rows['response'] !== undefined, JSON.stringify(rows));
    assert.deepEqual(features?.['request'], { inputs: [FEATURES] });
    assert.deepEqual(valuesOf(features, 'response', 'outputs'), { sum: [21, 41] });
    for (const line of frames) {
      assert.deepEqual(valuesOf(line, 'request', 'inputs'), { a: [1, 30], b: [2, 4] });
      const sum = (valuesOf(line, 'response', 'outputs') as { sum?: unknown }).sum;
      assert.deepEqual(sum, [3, 34], JSON.stringify(line));
    }
  });

  it('are in no file of TensorFlow records, counted, and said once', async (context) => {
    const { server, logs } = await started(context, '--request-log-format=tfrecord');
    await askAll(server);
    const dropped = 'serval_request_log_dropped_total';
    await until('all are counted', async () => {
      return (await metric(server, dropped, 'reason="form"')) === BODIES.length;
    });
    assert.deepEqual(filesOf(logs, ''), []);
    assert.equal(server.stderr.split('tabular models have no TensorFlow signature').length, 2);
  });
});
