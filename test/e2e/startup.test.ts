// Start-up with what the server is given: good and broken models side by side, missing paths and
// libraries, occupied ports, several listeners. Source: v2-protocol.md 1.1, 10; tfserving.md 1.8,
// 9.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { RawClient, decode, encode, messageTypes } from '../unit/protocols/raw-client.js';
import { ModelFolders, slowModel } from './support/model-folders.js';
import { RawConnection, errorOf, exchange, jsonOf, requestBytes } from './support/raw-http.js';
import { runServal, startServer, type ServalProcess } from './support/serval-process.js';

const ROWS = '{"instances":[1.0,2.0,5.0]}';
const PREDICTIONS = { predictions: [3.5, 4, 5.5] };
const BROKEN = [
  'corrupt',
  'truncated',
  'empty',
  'not_onnx',
  'unsupported_op',
  'wrong_opset',
  'wrong_ir',
];
const ANY_PORTS = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
const types = messageTypes();

interface Status {
  readonly model_version_status: readonly [
    {
      readonly version: string;
      readonly state: string;
      readonly status: { readonly error_code: string; readonly error_message: string };
    },
  ];
}

/** The first line of a server that is not ready. */
interface Started {
  readonly event: string;
  readonly ready?: boolean;
  readonly problems: readonly string[];
}

const predicts = async (port: number): Promise<void> => {
  const path = '/v1/models/half_plus_three:predict';
  assert.deepEqual(jsonOf(await exchange(port, 'POST', path, ROWS)), PREDICTIONS);
};
const statusOf = async (port: number, model: string) => {
  const response = await exchange(port, 'GET', `/v1/models/${model}`);
  assert.equal(response.status, 200);
  return (jsonOf(response) as Status).model_version_status[0];
};

describe('start', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());

  const started = async (
    context: TestContext,
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
  ): Promise<ServalProcess> => {
    const server = await startServer(args, env);
    context.after(() => server.stop());
    return server;
  };

  describe('with broken models among good ones', () => {
    let server: ServalProcess;
    let port = 0;
    before(async () => {
      server = await startServer([
        folders.repository('mixed', ['half_plus_three', 'identity_fp32'], BROKEN),
      ]);
      port = server.httpPort;
    });
    after(() => server.stop());

    it('serves the good ones', async () => {
      await predicts(port);
      assert.equal((await exchange(port, 'GET', '/v2/models/identity_fp32/ready')).status, 200);
    });

    for (const model of BROKEN) {
      it(`shows why ${model} is MODEL_INVALID, everywhere`, async () => {
        const { version, state, status } = await statusOf(port, model);
        assert.deepEqual([version, state, status.error_code], ['1', 'END', 'FAILED_PRECONDITION']);
        const file = join(model, '1', 'model.onnx');
        assert.ok(status.error_message.includes(` ${file}`), status.error_message);
        const ready = await exchange(port, 'GET', `/v2/models/${model}/ready`);
        assert.equal(ready.status, 400);
        const body = jsonOf(ready) as { ready: boolean; error: string };
        assert.equal(body.ready, false);
        assert.ok(body.error.includes(status.error_message));
        const log = server.stderr.split('\n').find((line) => line.includes(`"${model}"`)) ?? '';
        const { reason } = JSON.parse(log) as { reason: string };
        const mixed = join(folders.folder, 'mixed', '/');
        assert.equal(reason.replaceAll(mixed, ''), status.error_message);
        assert.ok(reason.includes(mixed + file), 'the log has the whole path');
      });
    }

    it('answers MODEL_NOT_READY when a broken one is asked, and 404 in V1', async () => {
      const body = '{"inputs":[]}';
      const v2 = await exchange(port, 'POST', '/v2/models/corrupt/infer', body);
      assert.equal(v2.status, 503);
      assert.match(errorOf(v2), /^model 'corrupt' has no ready version: version 1 is END: /);
      const metadata = await exchange(port, 'GET', '/v2/models/corrupt');
      assert.equal(metadata.status, 503);
      const v1 = await exchange(port, 'POST', '/v1/models/corrupt:predict', ROWS);
      assert.equal(v1.status, 404);
      assert.match(
        errorOf(v1),
        /^Servable not found for request: Latest\(corrupt\): version 1 is END: /,
      );
      const client = new RawClient(server.grpcPort);
      const request = encode(types, 'inference.ModelInferRequest', { model_name: 'corrupt' });
      const call = await client.unary('/inference.GRPCInferenceService/ModelInfer', request);
      assert.equal(call.code, 14);
      assert.equal(call.details, errorOf(v2));
      client.close();
    });

    it('is not ready as a whole, and names the models', async () => {
      const response = await exchange(port, 'GET', '/v2/health/ready');
      assert.equal(response.status, 400);
      assert.deepEqual(jsonOf(response), {
        ready: false,
        error: `not every model is ready: ${[...BROKEN].sort().join(', ')}`,
      });
      const client = new RawClient(server.grpcPort);
      const path = '/inference.GRPCInferenceService/ServerReady';
      const { message } = await client.unary(path, Buffer.alloc(0));
      const name = 'inference.ServerReadyResponse';
      assert.deepEqual(decode(types, name, message ?? Buffer.alloc(0)), { ready: false });
      client.close();
    });
  });

  it('is ready with broken models under --strict-readiness=false', async (context) => {
    const models = folders.repository('lenient', ['half_plus_three'], ['corrupt']);
    const server = await started(context, [models, '--strict-readiness=false']);
    const response = await exchange(server.httpPort, 'GET', '/v2/health/ready');
    assert.deepEqual([response.status, jsonOf(response)], [200, { ready: true }]);
    const model = await exchange(server.httpPort, 'GET', '/v2/models/corrupt/ready');
    assert.equal(model.status, 400);
    await predicts(server.httpPort);
  });

  it('exits 1 with the reason if no model can be served and no folder is watched', async () => {
    const models = folders.repository('nothing', [], ['no_version', 'no_model_file', 'corrupt']);
    const file = join(folders.folder, 'bad.config');
    writeFileSync(file, 'model_config_list {');
    const remote = join(folders.folder, 'remote.config');
    writeFileSync(remote, 'model_config_list { config { name: "g" base_path: "gs://b/g" } }');
    const empty = folders.repository('empty', []);
    for (const [args, reasons] of [
      [[models], [/has no model: expected model\.onnx/, /has no version folder/, /'corrupt'/]],
      [[empty], [/no models found: .*empty contains no model folders$/]],
      [['--model-config-file', file], [/bad\.config:1:\d+: /]],
      [['--model-config-file', remote], [/remote\.config:1:\d+: .*gs:\/\/b\/g/]],
    ] as const) {
      const run = await runServal(['serve', ...ANY_PORTS, ...args]);
      assert.deepEqual([run.code, run.stdout], [1, ''], run.stderr);
      const last = run.stderr.trimEnd().split('\n').at(-1) ?? '';
      assert.match(
        last,
        /^serval: not started \(no model can be served and no folder is watched\): /,
      );
      for (const reason of reasons) assert.match(last, reason);
      assert.match(run.stderr, / ERROR /);
    }
  });

  it('is not ready, and says so, until what is watched is mended', async (context) => {
    const empty = folders.repository('awaited', []);
    const server = await started(context, [
      empty,
      '--model-control-mode',
      'poll',
      '--repository-poll-secs',
      '1',
      '--settle-ms',
      '0',
    ]);
    const first = JSON.parse(server.stdout) as Started;
    assert.deepEqual([first.event, first.ready], ['started', false]);
    assert.match(first.problems.join(), /^no models found: .*awaited contains no model folders$/);
    const response = await exchange(server.httpPort, 'GET', '/v2/health/ready');
    assert.deepEqual(
      [response.status, jsonOf(response)],
      [400, { ready: false, error: first.problems[0]?.replace(empty, 'awaited') }],
    );
    assert.match(server.stderr, /"level":"error","message":"model source"/);
    folders.repository('awaited', ['half_plus_three']);
    await server.printed(({ stdout }) => stdout.split('\n').length === 3);
    assert.equal((JSON.parse(server.stdout.split('\n')[1] ?? '') as Started).event, 'ready');
    assert.equal((await exchange(server.httpPort, 'GET', '/v2/health/ready')).status, 200);
    await predicts(server.httpPort);
  });

  it('says why --load-model loads nothing, and is ready with nothing asked for', async (context) => {
    const models = folders.repository('explicit', ['half_plus_three']);
    const explicit = [models, '--model-control-mode', 'explicit'];
    const unknown = await started(context, [...explicit, '--load-model', 'nope']);
    assert.match((JSON.parse(unknown.stdout) as Started).problems.join(), /model 'nope'/);
    assert.equal((await exchange(unknown.httpPort, 'GET', '/v2/health/ready')).status, 400);
    const none = await started(context, explicit);
    assert.equal(none.ready?.event, 'ready');
    assert.equal((await exchange(none.httpPort, 'GET', '/v2/health/ready')).status, 200);
  });

  it('reports an invalid batching file, and is not ready', async (context) => {
    const models = folders.repository('batching', ['half_plus_three']);
    const file = join(folders.folder, 'batching.txt');
    writeFileSync(file, 'max_batch_size { value: "many" }');
    const server = await started(context, [
      '--model-name',
      'half_plus_three',
      '--model-base-path',
      join(models, 'half_plus_three'),
      '--enable-batching',
      '--batching-parameters-file',
      file,
    ]);
    const ready = await exchange(server.httpPort, 'GET', '/v2/health/ready');
    assert.equal(ready.status, 400);
    assert.match((jsonOf(ready) as { error: string }).error, /batching\.txt:1:\d+: /);
    await predicts(server.httpPort);
  });

  it('gives the reason of a model without versions in index, ready and status', async (context) => {
    const models = folders.repository('foreign', ['half_plus_three']);
    for (const [name, config] of [
      ['ensemble', 'platform: "ensemble"'],
      ['python', 'backend: "python"'],
      ['torch', 'platform: "pytorch_libtorch"'],
    ] as const) {
      mkdirSync(join(models, name, '1'), { recursive: true });
      writeFileSync(join(models, name, 'config.pbtxt'), config);
    }
    const server = await started(context, [models]);
    const index = jsonOf(
      await exchange(server.httpPort, 'POST', '/v2/repository/index', ''),
    ) as readonly { name: string; reason: string }[];
    for (const [name, reason] of [
      ['ensemble', 'platform: expected ensemble_scheduling with ensemble, got none'],
      ['python', 'fil, ensemble, got "python"'],
      ['torch', 'got "pytorch_libtorch"'],
    ] as const) {
      assert.ok(index.find((one) => one.name === name)?.reason.endsWith(reason));
      for (const [path, status] of [
        [`/v2/models/${name}/ready`, 400],
        [`/v2/models/${name}`, 503],
        [`/v1/models/${name}`, 404],
      ] as const) {
        const answer = await exchange(server.httpPort, 'GET', path);
        assert.equal(answer.status, status, path);
        const { error } = jsonOf(answer) as { error: string };
        assert.ok(error.endsWith(reason), error);
      }
    }
  });

  it('names a library that is missing as RUNTIME_UNAVAILABLE, in the status', async (context) => {
    const models = folders.repository('library', ['half_plus_three']);
    const polled = ['--model-control-mode', 'poll'];
    for (const [args, env] of [
      [[models, ...polled], { SERVAL_ORT_LIBRARY: '/nowhere/libonnxruntime.so' }],
      [[models, ...polled, '--onnxruntime-library', '/nowhere/libonnxruntime.so'], {}],
    ] as const) {
      const server = await started(context, args, env);
      const { state, status } = await statusOf(server.httpPort, 'half_plus_three');
      assert.deepEqual([state, status.error_code], ['END', 'UNAVAILABLE']);
      assert.match(status.error_message, /\/nowhere\/libonnxruntime\.so/);
      const ready = await exchange(server.httpPort, 'GET', '/v2/health/ready');
      assert.equal(ready.status, 400);
      await server.stop();
    }
  });

  it('exits 1 for a missing path, and names it', async () => {
    for (const args of [
      ['/nowhere/models'],
      ['--model-repository', '/nowhere/models'],
      ['--model-name', 'm', '--model-base-path', '/nowhere/models'],
    ]) {
      const run = await runServal(['serve', ...ANY_PORTS, ...args]);
      assert.deepEqual([run.code, run.stdout], [1, '']);
      assert.equal(run.stderr, 'serval: /nowhere/models: no such file or folder\n');
    }
  });

  it("exits 2 for another server's flag that is not here, and says what to do", async () => {
    const run = await runServal(['serve', 'm', '--use-alts-credentials=true']);
    assert.equal(run.code, 2);
    assert.match(
      run.stderr,
      /--use-alts-credentials: expected false, got "true"; not here: ALTS exists only on Google/,
    );
  });

  it('exits 2 for a command line that makes no sense', async () => {
    for (const [args, text] of [
      [['--http-prot', '1'], /unknown flag "--http-prot"; did you mean --http-port\?/],
      [['--http-port', '65536'], /--http-port: .*65536/],
      [['--exec-mode', 'fast'], /--exec-mode: .*"fast"/],
      [['--config', '/nowhere/serval.yaml'], /\/nowhere\/serval\.yaml/],
    ] as const) {
      const run = await runServal(['serve', '/nowhere', ...args]);
      assert.equal(run.code, 2, run.stderr);
      assert.match(run.stderr, text);
      assert.equal(run.stdout, '');
    }
  });

  it('exits 1 when a port is in use by a server or any other program', async (context) => {
    const models = folders.repository('ports', ['half_plus_three']);
    const first = await started(context, [models]);
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', () => resolve());
    });
    context.after(() => {
      other.close();
    });
    const { port } = other.address() as { port: number };
    for (const [flag, taken, text] of [
      ['--http-port', first.httpPort, 'HTTP'],
      ['--grpc-port', first.grpcPort, 'gRPC'],
      ['--http-port', port, 'HTTP'],
      ['--grpc-port', port, 'gRPC'],
    ] as const) {
      const run = await runServal(['serve', ...ANY_PORTS, models, flag, String(taken)]);
      assert.deepEqual([run.code, run.stdout], [1, '']);
      const why =
        `serval: ${text} cannot listen on 127.0.0.1 port ${taken}: the port is in use by ` +
        'another process; choose another, or 0 for a free one';
      assert.ok(run.stderr.includes(why), run.stderr);
    }
    await predicts(first.httpPort);
  });

  it('serves one port from two threads, each with its share', async (context) => {
    const models = folders.repository('threads', ['half_plus_three']);
    folders.add(models, 'slow_second', slowModel(1024, 12));
    const server = await started(context, [models, '--http-threads', '2', '--exec-mode', 'inline']);
    // With models run on the listeners' own threads a busy listener answers nothing: connections
    // that are answered while another is busy belong to the other thread.
    const one = '{"inputs":[{"name":"input","datatype":"FP32","shape":[1],"data":[7]}]}';
    const connections = await Promise.all(
      Array.from({ length: 40 }, () => RawConnection.open(server.httpPort)),
    );
    const busy = connections[0] as RawConnection;
    // A listener's thread learns its routes from the first requests, which the worker answers.
    await busy.write(requestBytes('POST', '/v2/models/slow_second/infer', one));
    assert.equal((await busy.response()).status, 200);
    for (const connection of connections) {
      await connection.write(requestBytes('POST', '/v1/models/half_plus_three:predict', ROWS));
      assert.deepEqual(jsonOf(await connection.response()), PREDICTIONS);
    }
    await busy.write(requestBytes('POST', '/v2/models/slow_second/infer', one));
    let slowDone = false;
    const slow = busy.response().then((response) => {
      slowDone = true;
      return response;
    });
    const answeredMeanwhile = await Promise.all(
      connections.slice(1).map(async (connection) => {
        await connection.write(requestBytes('POST', '/v1/models/half_plus_three:predict', ROWS));
        assert.deepEqual(jsonOf(await connection.response()), PREDICTIONS);
        return !slowDone;
      }),
    );
    assert.equal((await slow).status, 200);
    const count = answeredMeanwhile.filter(Boolean).length;
    assert.ok(count > 0 && count < 39, `${count} of 39 connections are with the other thread`);
    for (const connection of connections) connection.close();
    server.signal('SIGTERM');
    assert.equal((await server.ended).code, 0);
  });

  it("accepts other servers' command lines with added addresses and log settings", async (context) => {
    const models = folders.repository('peers', ['half_plus_three']);
    const log = join(folders.folder, 'serval.log');
    const server = await started(context, [
      ...['--model-store', models, '--allow-grpc=True', '--allow-http=1', '--log-verbose=1'],
      ...['--use_alts_credentials=false', '--enable_profiler', `--log-file=${log}`],
      ...['--grpc-address=127.0.0.2', '--metrics-address=127.0.0.3', '--metrics-port=0'],
    ]);
    await predicts(server.httpPort);
    assert.equal(server.ready?.grpc?.host, '127.0.0.2');
    const taken = createServer();
    const refused = new Promise((resolve) => taken.once('error', resolve));
    taken.listen(server.grpcPort, '127.0.0.2');
    assert.match(String(await refused), /EADDRINUSE/);
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(server.grpcPort, '127.0.0.1', resolve));
    free.close();
    server.signal('SIGTERM');
    assert.equal((await server.ended).code, 0);
    assert.equal(server.stderr, '');
    const lines = readFileSync(log, 'utf8');
    assert.match(
      lines,
      /"a flag has no effect","flag":"--enable_profiler: Serval does not contain TensorFlow/,
    );
    assert.match(lines, /"debug","message":"loading model"/);
    assert.match(lines, /"stopped"/);
  });

  it('answers /health and /ping like readiness, and sends /docs to a page', async (context) => {
    for (const [broken, flags, status, page] of [
      [[], [], 200, '/'],
      [['corrupt'], ['--console=false'], 400, '/openapi.json'],
    ] as const) {
      const models = folders.repository(`ping-${status}`, ['half_plus_three'], [...broken]);
      const server = await started(context, [models, ...flags]);
      const ready = await exchange(server.httpPort, 'GET', '/v2/health/ready');
      assert.equal(ready.status, status);
      for (const path of ['/health', '/ping']) {
        const response = await exchange(server.httpPort, 'GET', path);
        assert.deepEqual([response.status, response.body], [ready.status, ready.body], path);
      }
      const docs = await exchange(server.httpPort, 'GET', '/docs');
      assert.deepEqual([docs.status, docs.headers.get('location')], [302, page]);
      assert.equal((await exchange(server.httpPort, 'GET', page)).status, 200);
      assert.equal((await exchange(server.httpPort, 'POST', '/docs')).status, 405);
    }
  });

  it('answers health with empty bodies under --health-body empty', async (context) => {
    const models = folders.repository('health', ['half_plus_three'], ['corrupt']);
    const server = await started(context, [models, '--health-body', 'empty']);
    for (const [path, status] of [
      ['health/live', 200],
      ['health/ready', 400],
      ['models/half_plus_three/ready', 200],
      ['models/corrupt/ready', 400],
    ] as const) {
      const response = await exchange(server.httpPort, 'GET', `/v2/${path}`);
      assert.deepEqual([response.status, response.body.length], [status, 0], path);
    }
    assert.equal((await exchange(server.httpPort, 'GET', '/v2/models/nope/ready')).status, 404);
  });

  it('refuses requests that exceed the queue as QUEUE_FULL, and serves the rest', async (context) => {
    const models = folders.repository('queue', ['half_plus_three']);
    folders.add(models, 'slow_second', slowModel(1024, 12));
    const server = await started(context, [
      models,
      '--exec-mode',
      'queued',
      '--queue-requests-max',
      '2',
    ]);
    const one = '{"inputs":[{"name":"input","datatype":"FP32","shape":[1],"data":[7]}]}';
    const path = '/v2/models/slow_second/infer';
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => exchange(server.httpPort, 'POST', path, one)),
    );
    const served = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 503);
    assert.equal(served.length + refused.length, 12);
    assert.ok(served.length >= 2 && refused.length >= 1, `${served.length}, ${refused.length}`);
    for (const answer of refused) {
      assert.equal(
        errorOf(answer),
        "model 'slow_second': the request queue is full (limit 2 requests)",
      );
    }
    await predicts(server.httpPort);
    const client = new RawClient(server.grpcPort);
    context.after(() => client.close());
    const request = encode(types, 'inference.ModelInferRequest', {
      model_name: 'slow_second',
      inputs: [{ name: 'input', datatype: 'FP32', shape: [1], contents: { fp32_contents: [7] } }],
    });
    const codes = await Promise.all(
      Array.from(
        { length: 12 },
        async () =>
          (await client.unary('/inference.GRPCInferenceService/ModelInfer', request)).code,
      ),
    );
    assert.ok(codes.includes(0) && codes.includes(14), codes.join());
    assert.ok(
      codes.every((code) => code === 0 || code === 14),
      codes.join(),
    );
  });
});
