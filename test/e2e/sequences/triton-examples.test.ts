// The calls of Triton's public client examples for sequences, ids of text and decoupled models, by
// tritonclient and perf_analyzer, with models that answer as the examples expect; and decoupled
// models over REST. Source: client/src/python/examples and docs/user_guide/decoupled_models.md of
// Triton.
import { Metadata } from '@grpc/grpc-js';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { encodeModel, type OnnxNode } from '../../../ts/importers/onnx/builder.js';
import type { ElementType } from '../../../ts/model/datatype.js';
import { encode, messageTypes, RawClient } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, put } from '../support/operating.js';
import { findPerfAnalyzer, findPython, runPythonSuite } from '../support/python-suites.js';
import { errorOf, exchange, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const INT32 = 6;
const RUN_MS = 60_000;
const folders = new ModelFolders();
after(() => folders.remove());

/** A graph of tensors [n, 1] of INT32, except those that `types` names. */
function model(
  inputs: readonly string[],
  outputs: readonly string[],
  nodes: readonly OnnxNode[],
  types: Readonly<Record<string, ElementType>> = {},
): Uint8Array {
  const value = (name: string) =>
    ({ name, type: types[name] ?? 'int32', shape: ['n', 1] }) as const;
  return encodeModel({
    graph: { name: 'example', inputs: inputs.map(value), outputs: outputs.map(value), nodes },
  });
}

const node = (op: string, inputs: readonly string[], output: string): OnnxNode => ({
  op,
  inputs,
  outputs: [output],
  ...(op === 'Cast' && { attributes: { to: { int: INT32 } } }),
});
/** The id after the last request of a sequence. */
const ID_AT_END = [node('Cast', ['CORRID'], 'id'), node('Mul', ['END', 'id'], 'last')];

const control = (name: string, kind: string): string =>
  `control_input { name: "${name}" control { kind: CONTROL_SEQUENCE_${kind} int32_false_true: [ 0, 1 ] } }`;
const identifier = (type: string): string =>
  `control_input { name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID data_type: ${type} } }`;
const config = (batching: string): string => `platform: "onnxruntime_onnx" max_batch_size: 8
input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }
instance_group { kind: KIND_CPU }
sequence_batching { max_sequence_idle_microseconds: 30000000 ${batching} }`;

function putModel(repository: string, name: string, content: Uint8Array, text: string): void {
  put(join(repository, name, '1', 'model.onnx'), content);
  put(join(repository, name, 'config.pbtxt'), text);
}

/** Triton's qa and docs use these names. */
function exampleRepository(): string {
  const repository = folders.repository('examples', []);
  const plain = [control('START', 'START'), control('READY', 'READY')];
  putModel(
    repository,
    'simple_sequence',
    model(['INPUT', 'START', 'READY'], ['OUTPUT'], [node('Add', ['INPUT', 'START'], 'OUTPUT')]),
    config(plain.join(' ')),
  );
  putModel(
    repository,
    'simple_dyna_sequence',
    model(
      ['INPUT', 'START', 'READY', 'END', 'CORRID'],
      ['OUTPUT'],
      [
        ...ID_AT_END,
        node('Add', ['INPUT', 'START'], 'first'),
        node('Add', ['first', 'last'], 'OUTPUT'),
      ],
      { CORRID: 'uint64' },
    ),
    config(
      `oldest { max_candidate_sequences: 4 } ${plain.join(' ')} ${control('END', 'END')} ` +
        identifier('TYPE_UINT64'),
    ),
  );
  putModel(
    repository,
    'simple_string_dyna_sequence',
    model(
      ['INPUT', 'START', 'END', 'CORRID', 'before'],
      ['OUTPUT', 'sum'],
      [
        ...ID_AT_END,
        node('Add', ['INPUT', 'before'], 'sum'),
        node('Add', ['sum', 'last'], 'OUTPUT'),
      ],
      { CORRID: 'string' },
    ),
    config(
      `oldest { max_candidate_sequences: 4 } ${control('START', 'START')} ` +
        `${control('END', 'END')} ${identifier('TYPE_STRING')}
        state { input_name: "before" output_name: "sum" data_type: TYPE_INT32 dims: [ 1 ] }`,
    ),
  );
  return repository;
}

/** OUT = IN, for any number of values. */
const REPEAT = encodeModel({
  graph: {
    name: 'repeat',
    inputs: [{ name: 'IN', type: 'int32', shape: ['n'] }],
    outputs: [{ name: 'OUT', type: 'int32', shape: ['n'] }],
    nodes: [{ op: 'Identity', inputs: ['IN'], outputs: ['OUT'] }],
  },
});
const IO = `input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }`;
const DECOUPLED = 'model_transaction_policy { decoupled: true }';

function putDecoupled(repository: string): void {
  putModel(repository, 'repeat_int32', REPEAT, `backend: "onnxruntime" ${IO} ${DECOUPLED}`);
  putModel(repository, 'not_decoupled', REPEAT, `backend: "onnxruntime" ${IO}`);
  put(join(repository, 'decoupled_ensemble', '1', '.keep'), '');
  put(
    join(repository, 'decoupled_ensemble', 'config.pbtxt'),
    `platform: "ensemble" ${IO}
ensemble_scheduling { step { model_name: "repeat_int32" model_version: -1
  input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" } } }`,
  );
}

describe("the calls of Triton's client examples", () => {
  const { python, missing } = findPython();
  const { program, missing: noAnalyzer } = findPerfAnalyzer();
  let server: ServalProcess;
  before(async () => {
    const repository = exampleRepository();
    putDecoupled(repository);
    server = await startServer(['--model-repository', repository]);
  });
  after(() => server.stop());

  it('with tritonclient', async (context) => {
    if (missing !== '') {
      context.skip(missing);
      return;
    }
    await runPythonSuite(context, python, 'triton_examples.test_calls', server);
    assert.ok(server.running, server.stderr);
  });

  for (const streams of [false, true]) {
    it(`with perf_analyzer${streams ? ' in streams' : ''}`, async (context) => {
      if (noAnalyzer !== '') {
        context.skip(noAnalyzer);
        return;
      }
      const args = [
        ...['-m', 'simple_dyna_sequence', '-i', 'grpc', '-u', `127.0.0.1:${server.grpcPort}`],
        ...['--sequence-length', '8', '--concurrency-range', '4', '-b', '1'],
        ...['-p', '500', '-s', '95', '-r', '10', ...(streams ? ['--streaming', '-a'] : [])],
      ];
      const { stdout } = await promisify(execFile)(program, args, { timeout: RUN_MS });
      assert.match(stdout, /Sequence count: *[1-9]/);
      assert.match(stdout, /Throughput: *[1-9]/);
      assert.ok(server.running, server.stderr);
    });
  }

  const values = (answer: unknown): unknown =>
    (answer as { outputs: readonly { data: unknown }[] }).outputs[0]?.data;
  const BODY = '{"inputs":[{"name":"IN","datatype":"INT32","shape":[2],"data":[3,4]}]}';

  it('refuse /infer for decoupled models, each time', async () => {
    for (const name of ['repeat_int32', 'decoupled_ensemble', 'repeat_int32', 'repeat_int32']) {
      const answer = await infer(server, name, BODY);
      assert.equal(answer.status, 501);
      assert.match(
        errorOf(answer),
        /^HTTP end point doesn't support models with decoupled transaction policy: use generate/,
      );
    }
    const other = await infer(server, 'not_decoupled', BODY);
    assert.deepEqual(values(jsonOf(other)), [3, 4]);
  });

  it('generate one response with decoupled models', async () => {
    for (const name of ['repeat_int32', 'decoupled_ensemble', 'not_decoupled']) {
      const path = `/v2/models/${name}/generate`;
      const one = await exchange(server.httpPort, 'POST', path, '{"id":"a","IN":[3,4]}');
      assert.equal(one.status, 200, one.body.toString());
      const answer = { id: 'a', model_name: name, model_version: '1', OUT: [3, 4] };
      assert.deepEqual(jsonOf(one), answer);
      const events = await exchange(server.httpPort, 'POST', `${path}_stream`, '{"IN":[3,4]}');
      assert.equal(events.status, 200);
      assert.match(events.body.toString(), /^data: \{.*"OUT":\[3,4\]\}\n\n$/);
    }
  });

  it('serve decoupled models over V1, which has no such policy', async () => {
    const path = '/v1/models/repeat_int32:predict';
    const answer = await exchange(server.httpPort, 'POST', path, '{"instances":[5,6]}');
    assert.deepEqual(jsonOf(answer), { predictions: [5, 6] });
  });

  it('say in the configuration that a model is decoupled', async () => {
    for (const [name, decoupled] of [
      ['repeat_int32', true],
      ['decoupled_ensemble', true],
      ['not_decoupled', undefined],
    ] as const) {
      const path = `/v2/models/${name}/config`;
      const shown = jsonOf(await exchange(server.httpPort, 'GET', path)) as {
        model_transaction_policy?: { decoupled: boolean };
      };
      assert.equal(shown.model_transaction_policy?.decoupled, decoupled);
    }
  });

  const LOAD = 'endpoint-load-metrics';
  const share = '(0(\\.\\d+)?|1|\\d(\\.\\d+)?e-\\d+)';

  it('get the load of the machine in a header that they ask for', async () => {
    const text = new RegExp(`^TEXT cpu_utilization=${share}, mem_utilization=${share}$`);
    const headerOf = async (path: string, body: string, format?: string) => {
      const headers = format === undefined ? [] : [`Endpoint-Load-Metrics-Format: ${format}`];
      const answer = await exchange(server.httpPort, 'POST', path, body, headers);
      return { status: answer.status, load: answer.headers.get(LOAD) };
    };
    const path = '/v2/models/not_decoupled/infer';
    for (let i = 0; i < 4; i += 1) {
      const asText = await headerOf(path, BODY, 'text');
      assert.match(String(asText.load), text);
      const asJson = await headerOf(path, BODY, 'JSON');
      const [word, json = ''] = String(asJson.load).split(/ (.*)/);
      assert.equal(word, 'JSON');
      const shares = JSON.parse(json) as Record<string, number>;
      assert.deepEqual(Object.keys(shares), ['cpu_utilization', 'mem_utilization']);
      for (const one of Object.values(shares)) assert.ok(one >= 0 && one <= 1, json);
      assert.equal((await headerOf(path, BODY)).load, undefined);
      assert.equal((await headerOf(path, BODY, 'xml')).load, undefined);
    }
    const generated = await headerOf('/v2/models/repeat_int32/generate', '{"IN":[1]}', 'text');
    assert.match(String(generated.load), text);
    const grpc = new RawClient(server.grpcPort);
    const format = new Metadata();
    format.set('endpoint-load-metrics-format', 'text');
    const loads: unknown[] = [];
    const message = encode(messageTypes(), 'inference.ModelInferRequest', {
      model_name: 'not_decoupled',
      inputs: [{ name: 'IN', datatype: 'INT32', shape: [1], contents: { int_contents: [1] } }],
    });
    const method = '/inference.GRPCInferenceService/ModelInfer';
    const same = (bytes: Buffer): Buffer => bytes;
    for (const asked of [format, new Metadata()]) {
      await new Promise<void>((resolve, reject) => {
        const { client } = grpc;
        const answered = (error: Error | null): void =>
          error === null ? resolve() : reject(error);
        const call = client.makeUnaryRequest(method, same, same, message, asked, answered);
        call.on('metadata', (metadata: Metadata) => loads.push(...metadata.get(LOAD)));
      });
    }
    grpc.close();
    assert.equal(loads.length, 1);
    assert.match(String(loads[0]), text);
    assert.deepEqual(await headerOf('/v2/models/none/infer', BODY, 'text'), {
      status: 404,
      load: undefined,
    });
  });
});
