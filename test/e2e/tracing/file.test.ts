// Traces in Triton's file, and its settings at run time: traces by a model's own rule, remaining
// counts, and who may change settings. Source: Triton's trace.md, extension_trace.md.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { outsideAddress } from '../support/addresses.js';
import { ModelFolders } from '../support/model-folders.js';
import { control, infer, predict, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const ROWS = '{"instances":[1]}';

interface Entry {
  readonly id: number;
  readonly model_name?: string;
  readonly model_version?: number;
  readonly activity?: string;
  readonly tensor?: { readonly name: string; readonly data: string; readonly dtype: string };
  readonly timestamps?: readonly [{ readonly name: string; readonly ns: number }];
}

/** Empty for a file that does not exist, or that was opened and not written yet. */
const entriesOf = (path: string): readonly Entry[] => {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return text === '' ? [] : (JSON.parse(text) as Entry[]);
};
const modelsOf = (entries: readonly Entry[]): readonly string[] =>
  entries.flatMap(({ model_name: name }) => (name === undefined ? [] : [name]));

describe("traces in Triton's file", () => {
  const folders = new ModelFolders();
  const models = folders.repository('filed', ['half_plus_three', 'identity_fp32']);
  after(() => folders.remove());

  const started = async (
    context: TestContext,
    ...args: readonly string[]
  ): Promise<ServalProcess> => {
    const server = await startServer([models, ...args]);
    context.after(() => server.stop());
    return server;
  };
  const asked = async (server: ServalProcess, model: string, times: number): Promise<void> => {
    for (let i = 0; i < times; i += 1) {
      assert.equal((await predict(server, model, ROWS)).status, 200);
    }
  };

  it('list the times of one request in N', async (context) => {
    const file = join(folders.folder, 'all.json');
    const server = await started(
      context,
      ...['--trace-config', `triton,file=${file}`, '--trace-config', 'level=TIMESTAMPS'],
      ...['--trace-config', 'rate=2'],
    );
    await asked(server, 'half_plus_three', 6);
    const entries = await until('three traces', () => {
      const all = entriesOf(file);
      return modelsOf(all).length >= 3 ? all : undefined;
    });
    assert.equal(modelsOf(entries).length, 3);
    const first = entries.filter(({ id }) => id === 1);
    assert.deepEqual(first[0], { id: 1, model_name: 'half_plus_three', model_version: 123 });
    const times = first.slice(1).map(({ timestamps }) => timestamps?.[0]);
    assert.deepEqual(
      times.map((time) => time?.name),
      [
        ...['REQUEST_START', 'QUEUE_START', 'COMPUTE_START', 'COMPUTE_INPUT_END'],
        ...['COMPUTE_OUTPUT_START', 'COMPUTE_END', 'INFER_RESPONSE_COMPLETE', 'REQUEST_END'],
      ],
    );
    const ns = times.map((time) => time?.ns ?? 0);
    assert.deepEqual(
      ns,
      [...ns].sort((a, b) => a - b),
    );
  });

  it("are split into files by count, and end after the model's trace count", async (context) => {
    const file = join(folders.folder, 'some.json');
    const server = await started(context, '--trace-file', file, '--trace-log-frequency', '2');
    await asked(server, 'half_plus_three', 2);
    const change = { trace_level: ['TIMESTAMPS'], trace_rate: '1', trace_count: '5' };
    const path = '/v2/models/half_plus_three/trace/setting';
    assert.deepEqual(await control(server, path, JSON.stringify(change)), {
      ...change,
      log_frequency: '2',
      trace_file: basename(file), // its folder is not shown to everybody
      trace_mode: 'triton',
    });
    await asked(server, 'half_plus_three', 8);
    await asked(server, 'identity_fp32', 2).catch(() => undefined);
    const now = jsonOf(await exchange(server.httpPort, 'GET', path)) as Record<string, unknown>;
    assert.equal(now['trace_count'], '0', 'it says what is left');
    server.signal('SIGTERM');
    assert.deepEqual(await server.ended, { code: 0, signal: null });
    const files = [0, 1, 2, 3].map((index) => modelsOf(entriesOf(`${file}.${index}`)).length);
    assert.deepEqual(files, [2, 2, 1, 0]);
    assert.equal(existsSync(file), false);
  });

  it('have inputs and outputs at level TENSORS, by every protocol and path', async (context) => {
    const file = join(folders.folder, 'tensors.json');
    const server = await started(
      context,
      ...['--trace-config', `triton,file=${file}`, '--trace-config', 'level=TENSORS'],
      ...['--trace-config', 'rate=1'],
    );
    await asked(server, 'half_plus_three', 1);
    const body = v2Body('x', [0.1, 4]);
    assert.equal((await infer(server, 'half_plus_three', body)).status, 200);
    const entries = await until('two traces', () => {
      const all = entriesOf(file);
      return modelsOf(all).length >= 2 ? all : undefined;
    });
    const tensors = entries.flatMap(({ activity, tensor }) =>
      tensor === undefined
        ? []
        : [`${activity ?? ''} ${tensor.name} ${tensor.data} ${tensor.dtype}`],
    );
    assert.deepEqual(tensors, [
      ...['TENSOR_QUEUE_INPUT x 1 FP32', 'TENSOR_BACKEND_OUTPUT y 3.5 FP32'],
      ...['TENSOR_QUEUE_INPUT x 0.1,4 FP32', 'TENSOR_BACKEND_OUTPUT y 3.05,5 FP32'],
    ]);
    assert.ok(entries.every(({ timestamps }) => timestamps === undefined));
  });

  it('are settled from this machine, or with a key', async (context) => {
    const other = outsideAddress();
    if (other === undefined) {
      context.skip('this machine has no address but loopback');
      return;
    }
    const file = join(folders.folder, 'locked.json');
    const server = await started(context, '--host', '0.0.0.0', '--trace-file', file);
    const path = '/v2/trace/setting';
    const from = (method: string, body: string) =>
      exchange(server.httpPort, method, path, body, [], other);
    assert.equal((await from('GET', '')).status, 200);
    const refused = await from('POST', '{"trace_level":["TIMESTAMPS"]}');
    assert.ok([401, 403].includes(refused.status), String(refused.status));
    const settings = jsonOf(await from('GET', '')) as Record<string, unknown>;
    assert.deepEqual(settings['trace_level'], ['OFF']);
  });
});
