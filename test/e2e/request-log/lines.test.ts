// --request-log-dir: lines of JSON for all protocols, truncated values, unchanged bytes,
// PredictionLog records, failures, rotating files.
import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { tempFolder } from '../../unit/temp-folder.js';
import { infer, plusModel, predict, put, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';
import {
  Calls,
  filesOf,
  inferMessage,
  lines,
  predictMessage,
  records,
  type LogLine,
} from './support.js';

interface Started {
  readonly server: ServalProcess;
  readonly folder: string;
  readonly client: Calls;
}

async function started(context: TestContext, ...args: readonly string[]): Promise<Started> {
  const root = tempFolder(context);
  put(join(root, 'models', 'plus', '1', 'model.onnx'), plusModel(1));
  put(join(root, 'models', 'two', '1', 'model.onnx'), plusModel(2));
  const folder = join(root, 'logs');
  const flags = ['--model-repository', join(root, 'models'), '--request-log-dir', folder];
  const server = await startServer([...flags, ...args]);
  context.after(() => server.stop());
  const client = new Calls(server.grpcPort);
  context.after(() => client.close());
  return { server, folder, client };
}

const tensor = (name: string, ...data: readonly number[]): object => ({
  name,
  datatype: 'FP32',
  shape: [data.length],
  data,
});

/** Protocol, id and contents of each line; sorted by the protocol. */
const told = (found: readonly LogLine[]): readonly unknown[] =>
  found
    .map(({ protocol, model, version, code, request, response }) => {
      assert.deepEqual([version, code], ['1', 'OK']);
      return { protocol, model, request, response };
    })
    .sort((a, b) => String(a.protocol).localeCompare(String(b.protocol)));

async function askAll({ server, client }: Started): Promise<void> {
  await predict(server, 'plus', '{"instances":[1]}');
  await infer(server, 'two', v2Body('x', [1, 2]));
  await client.infer(inferMessage('plus', [3], 'seven'));
  await client.stream([inferMessage('plus', [4])]);
  await client.predict(predictMessage('plus', [5]));
}

describe('--request-log-dir', () => {
  for (const mode of [[], ['--exec-mode=queued']] as const) {
    it(`has a line for each request ${mode.join('')}`, async (context) => {
      const all = await started(context, ...mode);
      await askAll(all);
      const found = await lines(all.folder, 5);
      assert.deepEqual(told(found), [
        {
          protocol: 'tf-grpc',
          model: 'plus',
          request: { inputs: [tensor('x', 5)] },
          response: { signature_name: 'serving_default', outputs: [tensor('y', 6)] },
        },
        {
          protocol: 'v1-rest',
          model: 'plus',
          request: { instances: [1] },
          response: { predictions: [2] },
        },
        {
          protocol: 'v2-grpc',
          model: 'plus',
          request: { inputs: [tensor('x', 3)] },
          response: { outputs: [tensor('y', 4)] },
        },
        {
          protocol: 'v2-grpc-stream',
          model: 'plus',
          request: { inputs: [tensor('x', 4)] },
          response: {
            outputs: [tensor('y', 5)],
            parameters: { triton_final_response: true },
          },
        },
        {
          protocol: 'v2-rest',
          model: 'two',
          request: { inputs: [tensor('x', 1, 2)] },
          response: {
            model_name: 'two',
            model_version: '1',
            outputs: [tensor('y', 3, 4)],
          },
        },
      ]);
      assert.equal(found.find((one) => one['protocol'] === 'v2-grpc')?.['id'], 'seven');
      const [file = ''] = filesOf(all.folder, '');
      assert.match(file, /\/requests-\d{8}T\d{9}Z\.jsonl$/);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(statSync(all.folder).mode & 0o777, 0o700);
    });
  }

  it('leaves values out, all or some', async (context) => {
    const all = await started(context, '--request-log-values=1');
    await infer(all.server, 'two', v2Body('x', [1, 2, 3]));
    const [line] = await lines(all.folder, 1);
    const head = { name: 'x', datatype: 'FP32', shape: [3] };
    assert.deepEqual(line?.['request'], { inputs: [{ ...head, data: [1], values_left_out: 2 }] });
    const none = await started(context, '--request-log-values=none');
    await askAll(none);
    for (const one of await lines(none.folder, 5)) {
      const text = JSON.stringify([one['request'], one['response']]);
      assert.ok(!/data"|instances|predictions|base64/.test(text), text);
    }
  });

  it('has the raw bytes with --request-log-format=raw', async (context) => {
    const { folder, client } = await started(context, '--request-log-format=raw');
    const sent = inferMessage('plus', [3]);
    const answer = await client.infer(sent);
    const [line] = await lines(folder, 1);
    assert.equal(line?.['request_base64'], sent.toString('base64'));
    assert.equal(line?.['response_base64'], answer.toString('base64'));
  });

  it('has a file of records for each model, with --request-log-format=tfrecord', async (context) => {
    const all = await started(context, '--request-log-format=tfrecord');
    await askAll(all);
    assert.equal((await records(all.folder, 'plus-', 4)).length, 4);
    assert.equal((await records(all.folder, 'two-', 1)).length, 1);
  });

  it('has failed requests with the reason', async (context) => {
    const { server, folder } = await started(context);
    await infer(server, 'plus', v2Body('other', [1]));
    await predict(server, 'plus', '{"instances":');
    const found = await lines(folder, 2);
    assert.deepEqual(
      found.map(({ code }) => code),
      ['INVALID_ARGUMENT', 'MALFORMED_BODY'],
    );
    assert.match(String(found[0]?.['error']), /other/);
    assert.equal(found[0]?.['response'], undefined);
    assert.equal(found[1]?.['request_base64'], Buffer.from('{"instances":').toString('base64'));
  });

  it('rotates, and keeps the configured number of files', async (context) => {
    const { server, folder } = await started(
      context,
      '--request-log-max-mb=1',
      '--request-log-files=2',
    );
    const body = v2Body(
      'x',
      Array.from({ length: 40_000 }, (_, i) => i),
    );
    for (let i = 0; i < 12; i += 1) {
      await infer(server, 'plus', body);
      // A line is written before the next request, so that files are full by size.
      const page = await exchange(server.httpPort, 'GET', '/metrics');
      assert.equal(page.status, 200);
    }
    server.signal('SIGTERM');
    await server.ended;
    const files = filesOf(folder, 'requests-');
    assert.equal(files.length, 2);
    for (const file of files) assert.ok(statSync(file).size <= 1_000_000, file);
  });

  it('begins a new file after SIGHUP', async (context) => {
    const { server, folder } = await started(context);
    await predict(server, 'plus', '{"instances":[1]}');
    await lines(folder, 1);
    server.signal('SIGHUP');
    await until('a second file', async () => {
      await predict(server, 'plus', '{"instances":[2]}');
      return filesOf(folder, 'requests-').length === 2;
    });
  });

  it('is checked at the start', async (context) => {
    const folder = tempFolder(context);
    mkdirSync(join(folder, 'models'));
    const models = ['serve', '--model-repository', join(folder, 'models')];
    for (const [flags, expected] of [
      [['--request-log-values=1'], /--request-log-values: expected --request-log-dir DIR with it/],
      [['--request-log-sampling=2'], /expected --request-log-dir/],
      [
        ['--request-log-dir=x', '--request-log-sampling=2'],
        /--request-log-sampling: expected a number from 0 to 1, got "2"/,
      ],
      [
        ['--request-log-dir=x', '--request-log-values=some'],
        /--request-log-values: expected full, none or a number/,
      ],
      [
        ['--request-log-dir=x', '--request-log-format=raw', '--request-log-values=2'],
        /--request-log-values: expected --request-log-format json with it, got raw/,
      ],
    ] as const) {
      const { code, stderr } = await runServal([...models, ...flags]);
      assert.notEqual(code, 0);
      assert.match(stderr, expected);
    }
  });
});
