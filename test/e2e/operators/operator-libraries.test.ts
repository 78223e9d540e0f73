// Models with libraries of custom operators, compiled here: served in their own processes over REST
// and gRPC, reloaded, unloaded; every refusal; libraries that crash, exit or fail, when they are
// opened and in a run. Source: Triton's custom_operations.md; docs/guides/custom-operators.md.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { encodeModel } from '../../../ts/importers/onnx/builder.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { decode, encode, messageTypes, RawClient } from '../../unit/protocols/raw-client.js';
import { buildLibrary, NATIVE, noCompiler } from '../gpu/fake-libraries.js';
import { groupOf, isolated, isThere, oneProcess, processesOf } from '../isolation/support.js';
import { ModelFolders } from '../support/model-folders.js';
import { infer, put, v2Body, v2Values } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange, jsonOf, type RawResponse } from '../support/raw-http.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';
import { HALF, model as tensorflowModel } from '../tensorflow/support.js';

const SOURCE = join(packageRoot(), 'test', 'e2e', 'operators', 'operators.cc');
const types = messageTypes();
const folders = new ModelFolders();
after(() => folders.remove());

/** y = op(x), an operator of the library. */
const modelOf = (op: string): Uint8Array =>
  encodeModel({
    graph: {
      name: op,
      inputs: [{ name: 'x', type: 'float', shape: ['n'] }],
      outputs: [{ name: 'y', type: 'float', shape: ['n'] }],
      nodes: [{ op, domain: 'test.ops', inputs: ['x'], outputs: ['y'] }],
    },
    opsets: { '': 17, 'test.ops': 1 },
  });

const operations = (...libraries: readonly string[]): string =>
  libraries.map((one) => `model_operations { op_library_filename: ${JSON.stringify(one)} }`).join();

function add(repository: string, name: string, op: string, config: string): void {
  put(join(repository, name, '1', 'model.onnx'), modelOf(op));
  put(join(repository, name, 'config.pbtxt'), config);
}

const build = (folder: string, name: string, ...macros: readonly string[]): string => {
  const defines = macros.map((one) => `-D${one}`);
  buildLibrary(folder, name, undefined, [...NATIVE, ...defines, SOURCE]);
  return join(folder, name);
};

const load = (server: ServalProcess, name: string, body: object = {}): Promise<RawResponse> =>
  exchange(server.httpPort, 'POST', `/v2/repository/models/${name}/load`, JSON.stringify(body));
const unload = (server: ServalProcess, name: string): Promise<RawResponse> =>
  exchange(server.httpPort, 'POST', `/v2/repository/models/${name}/unload`, '{}');
const run = (server: ServalProcess, name: string, x: readonly number[]): Promise<RawResponse> =>
  infer(server, name, v2Body('x', x));
const EXPLICIT = ['--model-control-mode=explicit', '--strict-readiness=false'];

describe('operator libraries', { skip: noCompiler }, () => {
  const libraries = join(folders.folder, 'libraries');
  let library = '';
  let repository = '';
  let server: ServalProcess;
  let grpc: RawClient;
  before(async () => {
    repository = folders.repository('operators', ['half_plus_three']);
    library = build(libraries, 'libops.so');
    for (const op of ['Double', 'Refuse', 'Throw', 'Crash']) {
      add(repository, op, op, `${operations('libops.so')} ${isolated()}`);
    }
    server = await startServer([
      ...['--model-repository', repository, '--operator-libraries', libraries],
      ...['--operator-libraries', repository, ...EXPLICIT],
    ]);
    grpc = new RawClient(server.grpcPort);
  });
  after(async () => {
    grpc?.close();
    await server?.stop();
  });
  /** Loads a model that is refused; returns why. */
  const refused = async (name: string, op: string, config: string): Promise<string> => {
    add(repository, name, op, config);
    const answer = await load(server, name);
    assert.notEqual(answer.status, 200, name);
    const { error } = jsonOf(answer) as { error: string };
    return error;
  };
  const withLibrary = (path: string): string => `${operations(path)} ${isolated()}`;

  it('serve over REST and gRPC, reload and unload', async () => {
    assert.equal((await load(server, 'Double')).status, 200, server.stderr);
    const pid = await oneProcess(server);
    assert.deepEqual(v2Values(await run(server, 'Double', [1, -2.5])), [2, -5]);
    const request = encode(types, 'inference.ModelInferRequest', {
      model_name: 'Double',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [2], contents: { fp32_contents: [3, 4] } }],
    });
    const answer = await grpc.unary('/inference.GRPCInferenceService/ModelInfer', request);
    assert.ok(answer.message, answer.details);
    const { raw_output_contents: raw } = decode(
      types,
      'inference.ModelInferResponse',
      answer.message,
    ) as { raw_output_contents: readonly Uint8Array[] };
    assert.deepEqual([...new Float32Array(new Uint8Array(raw[0] ?? []).buffer)], [6, 8]);
    assert.equal((await load(server, 'Double')).status, 200);
    cpSync(join(repository, 'Double', '1'), join(repository, 'Double', '2'), { recursive: true });
    assert.equal((await load(server, 'Double')).status, 200);
    await oneProcess(server, pid);
    assert.deepEqual(v2Values(await run(server, 'Double', [7])), [14]);
    const config = await exchange(server.httpPort, 'GET', '/v2/models/Double/config', '');
    const { model_operations } = jsonOf(config) as { model_operations: unknown };
    assert.deepEqual(model_operations, { op_library_filename: ['libops.so'] });
    assert.equal((await unload(server, 'Double')).status, 200);
    await until('no process', () => processesOf(server).length === 0);
  });

  it('are found in the folder of the version, of the model, by an absolute path, and in a group', async () => {
    for (const [name, folder] of [
      ['version', '1'],
      ['model', '.'],
    ] as const) {
      add(repository, name, 'Double', withLibrary('own.so'));
      cpSync(library, join(repository, name, folder, 'own.so'));
      assert.equal((await load(server, name)).status, 200, server.stderr);
    }
    add(repository, 'absolute', 'Double', withLibrary(library));
    assert.equal((await load(server, 'absolute')).status, 200);
    for (const name of ['one', 'two']) {
      add(repository, name, 'Double', `${operations('libops.so')} ${isolated('both')}`);
      assert.equal((await load(server, name)).status, 200);
    }
    const names = ['version', 'model', 'absolute', 'one', 'two'];
    for (const name of names) {
      assert.deepEqual(v2Values(await run(server, name, [1.5])), [3]);
      assert.equal((await unload(server, name)).status, 200);
    }
  });

  it('return errors, throw and crash without harm to others', async () => {
    for (const name of ['half_plus_three', 'Refuse', 'Throw', 'Crash']) {
      assert.equal((await load(server, name)).status, 200, server.stderr);
    }
    const wrong = await run(server, 'Refuse', [-1]);
    assert.equal(wrong.status, 400);
    assert.match(wrong.body.toString(), /Refuse: expected no negative element/);
    const thrown = await run(server, 'Throw', [-1]);
    assert.ok(thrown.status >= 400, thrown.body.toString());
    assert.match(thrown.body.toString(), /Throw: it threw/);
    for (const name of ['Refuse', 'Throw']) {
      assert.deepEqual(v2Values(await run(server, name, [1])), [1]);
    }
    const crashed = await run(server, 'Crash', [-1]);
    assert.equal(crashed.status, 503);
    assert.match(crashed.body.toString(), /model 'Crash': its process ended by signal 11/);
    assert.deepEqual(v2Values(await run(server, 'Crash', [5])), [5]);
    assert.deepEqual(v2Values(await run(server, 'half_plus_three', [2])), [4]);
    for (const name of ['half_plus_three', 'Refuse', 'Throw', 'Crash']) await unload(server, name);
  });

  it('that start processes do not hide a crash, and these processes end too', async () => {
    build(libraries, 'forks-crashes.so', 'FORKS', 'OPEN_CRASHES');
    const error = await refused('forks-crashes', 'Double', withLibrary('forks-crashes.so'));
    assert.match(error, /its process ended by signal 11 \(SIGSEGV\) while it loaded/);
    build(libraries, 'forks.so', 'FORKS');
    add(repository, 'forks', 'Crash', withLibrary('forks.so'));
    assert.equal((await load(server, 'forks')).status, 200, server.stderr);
    const pid = await oneProcess(server);
    const helper = await until('its helper', () => groupOf(pid).find((one) => one !== pid));
    const crashed = await run(server, 'forks', [-1]);
    assert.equal(crashed.status, 503);
    assert.match(crashed.body.toString(), /model 'forks': its process ended by signal 11/);
    await until('no helper', () => !isThere(helper));
    const next = await oneProcess(server, pid);
    assert.deepEqual(v2Values(await run(server, 'forks', [5])), [5]);
    assert.equal((await unload(server, 'forks')).status, 200);
    await until('no process', () => groupOf(next).length === 0);
    const other = await startServer([
      ...['--model-repository', repository, '--operator-libraries', libraries],
      ...[...EXPLICIT, '--load-model=forks'],
    ]);
    const last = await oneProcess(other);
    assert.equal(groupOf(last).length, 2);
    other.signal('SIGTERM');
    await other.ended;
    await until('no process after the server', () => groupOf(last).length === 0);
  });

  it('that changed are opened by the next load, and not by a restart', async () => {
    const changing = join(folders.folder, 'changing');
    build(changing, 'three.so', 'FACTOR=3');
    build(changing, 'five.so', 'FACTOR=5');
    const path = join(libraries, 'changing.so');
    const replace = (from: string): void => {
      cpSync(join(changing, from), `${path}.new`);
      renameSync(`${path}.new`, path);
    };
    replace('three.so');
    add(repository, 'changing', 'Double', withLibrary('changing.so'));
    assert.equal((await load(server, 'changing')).status, 200, server.stderr);
    const pid = await oneProcess(server);
    assert.deepEqual(v2Values(await run(server, 'changing', [1])), [3]);
    assert.equal((await load(server, 'changing')).status, 200);
    assert.equal(await oneProcess(server), pid, 'nothing changed, so it is not loaded again');
    replace('five.so');
    process.kill(pid, 'SIGKILL');
    await oneProcess(server, pid);
    const answer = await until('a refusal', async () => {
      const one = await run(server, 'changing', [1]);
      return one.body.includes('has changed') ? one : undefined;
    });
    assert.equal(answer.status, 503);
    assert.match(
      answer.body.toString(),
      /operator library changing.so has changed since the model was loaded: load the model again/,
    );
    assert.equal((await load(server, 'changing')).status, 200, server.stderr);
    assert.deepEqual(v2Values(await run(server, 'changing', [1])), [5]);
    const before = await oneProcess(server);
    // The same file, behind a link.
    renameSync(path, join(changing, 'moved.so'));
    symlinkSync(join(changing, 'moved.so'), path);
    process.kill(before, 'SIGKILL');
    await until('a refusal of the link', async () => {
      const { body } = await run(server, 'changing', [1]);
      return body.includes('expected the path of the file itself, got one with a link');
    });
    assert.equal((await unload(server, 'changing')).status, 200);
  });

  it('that cannot be used are load errors with the reason', async () => {
    const text = join(libraries, 'text.so');
    writeFileSync(text, 'no library\n'.repeat(20));
    const foreign = Buffer.from(readFileSync(library));
    foreign.writeUInt16LE(243, 18);
    writeFileSync(join(libraries, 'foreign.so'), foreign);
    mkdirSync(join(libraries, 'folder.so'));
    build(libraries, 'no-entry.so', 'NO_ENTRY');
    build(libraries, 'fails.so', 'ENTRY_FAILS');
    build(libraries, 'throws.so', 'ENTRY_THROWS');
    build(libraries, 'crashes.so', 'OPEN_CRASHES');
    build(libraries, 'exits.so', 'OPEN_EXITS');
    build(libraries, 'needs.so', 'NEEDS_SYMBOL');
    for (const [name, reason] of [
      [
        'gone.so',
        /model_operations: no such file: "gone.so"; expected an absolute path, or a file/,
      ],
      ['text.so', /operator library text.so: expected a shared library \(an ELF file\)/],
      [
        'foreign.so',
        /foreign.so: expected a library for (x86-64|arm64), got one for RISC-V: compile/,
      ],
      ['folder.so', /model_operations: expected a file, got a folder: "folder.so"/],
      [
        'no-entry.so',
        /no-entry.so: expected a library of ONNX Runtime's custom operators, got one/,
      ],
      ['fails.so', /fails.so: RegisterCustomOps returned an error: no licence for these operators/],
      ['throws.so', /thrown by the entry/],
      ['crashes.so', /its process ended by signal 11 \(SIGSEGV\) while it loaded/],
      ['exits.so', /its process ended with code 7 while it loaded/],
      ['needs.so', /needs.so: cannot be opened: .*a_function_that_no_library_has/],
    ] as const) {
      const error = await refused(`of-${name}`, 'Double', withLibrary(name));
      assert.match(error, reason);
      assert.match(error, new RegExp(`of-${name}`));
      assert.ok(!error.includes(libraries), error);
    }
    const missing = await refused('missing', 'Triple', withLibrary('libops.so'));
    assert.match(missing, /Triple.*is not a registered function\/op.*none of the libraries/s);
    assert.equal((await exchange(server.httpPort, 'GET', '/v2/health/live', '')).status, 200);
  });

  it('are refused outside of the allowed folders, also behind a link', async () => {
    const elsewhere = join(folders.folder, 'elsewhere');
    const outside = build(elsewhere, 'outside.so', 'OPEN_CRASHES');
    symlinkSync(outside, join(libraries, 'link.so'));
    for (const name of [outside, 'link.so', '../elsewhere/outside.so']) {
      const error = await refused('outside', 'Double', withLibrary(name));
      assert.match(error, /outside of the folders of --operator-libraries/);
    }
  });

  it('need a process of the model, an ONNX model and a flag', async () => {
    const inServer = await refused('in_server', 'Double', operations('libops.so'));
    assert.match(
      inServer,
      /model 'in_server': model_operations: expected the model to be isolated/,
    );
    assert.match(inServer, /isolation: process in its config.pbtxt, or --isolate=in_server/);
    put(join(repository, 'nothing', '1', '.keep'), '');
    put(
      join(repository, 'nothing', 'config.pbtxt'),
      `backend: "serval_null" ${withLibrary('libops.so')}
       parameters { key: "mode" value { string_value: "echo" } }
       input { name: "x" data_type: TYPE_FP32 dims: -1 } output { name: "y" data_type: TYPE_FP32 dims: -1 }`,
    );
    const none = await load(server, 'nothing');
    assert.match(none.body.toString(), /only ONNX models have custom operators/);
    const plain = await startServer(['--model-repository', repository, ...EXPLICIT]);
    try {
      const answer = await load(plain, 'Double');
      assert.match(answer.body.toString(), /contains it with --operator-libraries=DIR/);
      const unnamed = await startServer([
        ...['--model-repository', repository, '--operator-libraries', libraries, ...EXPLICIT],
        '--isolate=in_server',
      ]);
      assert.equal((await load(unnamed, 'in_server')).status, 200);
      assert.deepEqual(v2Values(await run(unnamed, 'in_server', [4])), [8]);
      await unnamed.stop();
    } finally {
      await plain.stop();
    }
  });

  it('are refused for a TensorFlow model, before it is imported', async (t) => {
    const path = tensorflowModel(t, HALF);
    if (path === undefined) return;
    const [version = ''] = readdirSync(path);
    const model = join(repository, 'tensorflow');
    cpSync(join(path, version), join(model, '1', 'model.savedmodel'), { recursive: true });
    put(
      join(model, 'config.pbtxt'),
      `platform: "tensorflow_savedmodel" ${withLibrary('libops.so')}`,
    );
    const answer = await load(server, 'tensorflow');
    assert.notEqual(answer.status, 200);
    assert.match(answer.body.toString(), /a TensorFlow model is compiled to ONNX, where Tensor/);
  });

  it('never come with a load call', async () => {
    const bytes = Buffer.from(readFileSync(library)).toString('base64');
    const model = Buffer.from(modelOf('Double')).toString('base64');
    const process = { isolation: { string_value: 'process' } };
    for (const [name, files] of [
      ['own.so', { 'file:1/own.so': bytes, 'file:1/model.onnx': model }],
      ['libops.so', { 'file:1/model.onnx': model }],
      ['libops.so', {}],
      [library, {}],
    ] as const) {
      const config = {
        parameters: process,
        model_operations: { op_library_filename: [name] },
      };
      const parameters = { config: JSON.stringify(config), ...files };
      const answer = await load(server, 'Double', { parameters });
      assert.equal(answer.status, 400);
      assert.match(answer.body.toString(), /expected no operator library in a load call/);
    }
    // A config.pbtxt among the files is not read.
    const smuggled = {
      config: JSON.stringify({ parameters: process }),
      'file:1/model.onnx': model,
      'file:1/own.so': bytes,
      'file:1/config.pbtxt': Buffer.from(withLibrary('own.so')).toString('base64'),
    };
    const answer = await load(server, 'Double', { parameters: smuggled });
    assert.notEqual(answer.status, 200);
    assert.match(answer.body.toString(), /Double.*is not a registered function\/op/s);
    await unload(server, 'Double');
  });

  it('do not fit into a compiled folder', async () => {
    const out = join(folders.folder, 'compiled');
    const path = join(repository, 'Double');
    const { code, stdout, stderr } = await runServal(['compile', path, '--out', out]);
    assert.equal(code, 1, stdout + stderr);
    assert.match(
      stderr,
      /model 'Double': model_operations: expected no operator library, got "lib/,
    );
    assert.ok(!existsSync(out));
  });

  it('are loaded by `serval check` and `serval inspect`, with the same flag', async () => {
    const path = join(repository, 'Double');
    for (const command of ['check', 'inspect']) {
      const { code, stdout, stderr } = await runServal([
        ...[command, path, '--operator-libraries', libraries],
      ]);
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /x\s+FP32/);
      const without = await runServal([command, path]);
      assert.notEqual(without.code, 0);
      assert.match(without.stdout + without.stderr, /no operator library is allowed/);
    }
  });
});
