// No response contains an absolute path of the server, over any protocol, for callers without the
// control group; callers with a key for that group, and those on the admin address, get the full
// text.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { digestOf } from '../../../ts/access/keys.js';
import { ProtobufWriter } from '../../../ts/protobuf/writer.js';
import { overListeners } from '../support/http-listeners.js';
import { ModelFolders } from '../support/model-folders.js';
import { exchange } from '../support/raw-http.js';
import { DEADLINE_MS, startServer, type ServalProcess } from '../support/serval-process.js';

const GOOD = 'half_plus_three';
const BROKEN = ['no_model', 'garbage', 'wrong_config', 'saved_model', 'empty', 'two words'];
const EXPLICIT = ['--model-control-mode', 'explicit', '--load-model', '*'];
const LOOSE = ['--strict-readiness=false'];
const V2 = '/inference.GRPCInferenceService';
const TF = '/tensorflow.serving';

/** A repository of models that fail in different ways, and one that serves. */
function repositoryOf(folders: ModelFolders): string {
  const repository = folders.repository('some models', [GOOD]);
  const put = (path: string, content: string): void => {
    const file = join(repository, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, content);
  };
  put('no_model/1/readme.txt', 'x');
  put('garbage/1/model.onnx', 'no model');
  put('two words/1/model.onnx', 'no model');
  put('wrong_config/1/model.onnx', 'no model');
  put('wrong_config/config.pbtxt', 'backend: "onnxruntime" nonsense: 1 max_batch_size: "x"');
  put('saved_model/1/saved_model.pb', 'no graph');
  put('empty/notes', '');
  return repository;
}

const bytesOf = (make: (writer: ProtobufWriter) => void): Buffer => {
  const writer = new ProtobufWriter();
  make(writer);
  return Buffer.from(writer.concat());
};
const text = (field: number, value: string): Buffer =>
  bytesOf((writer) => writer.string(field, value));
const nested = (field: number, ...parts: readonly Buffer[]): Buffer =>
  bytesOf((writer) => writer.bytes(field, Buffer.concat(parts)));

/** Every gRPC call that reports on a model or on the server. */
function calls(model: string, folder: string): readonly (readonly [string, Buffer])[] {
  const spec = nested(1, text(1, model));
  const elsewhere = [folder, join(folder, 'not there'), '/proc/self'].map((path) =>
    nested(1, nested(1, nested(1, text(1, model), text(2, path), text(4, 'tensorflow')))),
  );
  return [
    ...['ModelInfer', 'ModelReady', 'ModelMetadata', 'ModelConfig', 'ModelStatistics'].map(
      (method) => [`${V2}/${method}`, text(1, model)] as const,
    ),
    [`${V2}/RepositoryIndex`, Buffer.alloc(0)],
    [`${V2}/RepositoryModelLoad`, text(2, model)],
    [`${V2}/LogSettings`, Buffer.alloc(0)],
    [`${V2}/ServerMetadata`, Buffer.alloc(0)],
    [`${TF}.ModelService/GetModelStatus`, spec],
    [`${TF}.PredictionService/GetModelMetadata`, Buffer.concat([spec, text(2, 'signature_def')])],
    [`${TF}.PredictionService/Predict`, spec],
    ...elsewhere.map((config) => [`${TF}.ModelService/HandleReloadConfigRequest`, config] as const),
  ];
}

/** The response of a call, error or not, as Latin-1. */
function called(client: Client, path: string, body: Buffer, key = ''): Promise<string> {
  const same = (bytes: Buffer): Buffer => bytes;
  const metadata = new Metadata();
  if (key !== '') metadata.set('authorization', `Bearer ${key}`);
  return new Promise((resolve) => {
    const deadline = Date.now() + DEADLINE_MS;
    client.makeUnaryRequest(path, same, same, body, metadata, { deadline }, (error, answer) =>
      resolve(error === null ? (answer ?? Buffer.alloc(0)).toString('latin1') : error.message),
    );
  });
}

/** Every REST request that reports on a model or on the server. */
function requests(model: string): readonly (readonly [string, string, string])[] {
  const name = encodeURIComponent(model);
  const overriding = JSON.stringify({
    parameters: { config: '{"backend":"onnxruntime"}', 'file:1/model.onnx': 'AAAA' },
  });
  return [
    ['POST', '/v2/repository/index', '{}'],
    ['POST', `/v2/repository/models/${name}/load`, ''],
    ['POST', `/v2/repository/models/${name}/load`, overriding],
    ['POST', `/v2/models/${name}/infer`, '{"inputs":[]}'],
    ['POST', `/v1/models/${name}:predict`, '{"instances":[1]}'],
    ...['', '/ready', '/config', '/stats'].map(
      (what) => ['GET', `/v2/models/${name}${what}`, ''] as const,
    ),
    ['GET', `/v1/models/${name}`, ''],
    ['GET', `/v1/models/${name}/metadata`, ''],
    ['GET', '/v2/logging', ''],
    ['POST', '/v2/logging', '{"log_file":"other"}'],
    ['GET', '/v2/health/ready', ''],
    ['GET', '/metrics', ''],
  ];
}

const folders = new ModelFolders();
const repository = repositoryOf(folders);
after(() => folders.remove());
const logFile = (name: string): readonly string[] => ['--log-file', join(folders.folder, name)];
const KEYS = join(folders.folder, 'keys.txt');
writeFileSync(
  KEYS,
  `ops sha256:${digestOf('ops')} all\nreader sha256:${digestOf('reader')} inference,metadata\n`,
);
const sure = (answer: string, where: string): void =>
  assert.ok(!answer.includes(folders.folder), `${where}: ${answer}`);

overListeners('REST answers', (flags, kind) => {
  let server: ServalProcess;
  before(async () => {
    const log = logFile(`${kind}.log`);
    server = await startServer([repository, ...EXPLICIT, ...LOOSE, ...log, ...flags]);
  });
  after(() => server.stop());

  it('name the file from the repository on', async () => {
    const { body } = await exchange(server.httpPort, 'POST', '/v2/repository/index');
    const entries = JSON.parse(body.toString()) as { name: string; reason?: string }[];
    const reason = (name: string): string =>
      entries.find((entry) => entry.name === name)?.reason ?? '';
    assert.match(reason('garbage'), /(^|\s|')garbage\/1\/model\.onnx/);
    assert.match(reason('two words'), /(^|\s|')two words\/1\/model\.onnx/);
    for (const name of BROKEN) assert.notEqual(reason(name), '', name);
    const settings = await exchange(server.httpPort, 'GET', '/v2/logging');
    const { log_file: file } = JSON.parse(settings.body.toString()) as { log_file: string };
    assert.equal(file, `${kind}.log`);
    const back = JSON.stringify({ log_file: file });
    assert.equal((await exchange(server.httpPort, 'POST', '/v2/logging', back)).status, 200);
  });

  it('name no absolute path', async () => {
    for (const model of [GOOD, ...BROKEN, 'none']) {
      for (const [method, path, body] of requests(model)) {
        const { status, body: answer } = await exchange(server.httpPort, method, path, body);
        sure(answer.toString('latin1'), `${method} ${path} ${status}`);
      }
    }
  });
});

describe('gRPC answers', () => {
  let server: ServalProcess;
  let client: Client;
  before(async () => {
    const log = logFile(`grpc.log`);
    server = await startServer([repository, ...EXPLICIT, ...LOOSE, ...log]);
    client = new Client(`127.0.0.1:${server.grpcPort}`, credentials.createInsecure());
  });
  after(async () => {
    client.close();
    await server.stop();
  });

  it('name no absolute path', async () => {
    for (const model of [GOOD, ...BROKEN, 'none']) {
      for (const [path, body] of calls(model, folders.folder)) {
        sure(await called(client, path, body), `${path} ${model}`);
      }
    }
    const index = await called(client, `${V2}/RepositoryIndex`, Buffer.alloc(0));
    assert.match(index, /garbage\/1\/model\.onnx/);
  });
});

describe('The whole text', () => {
  let server: ServalProcess;
  let client: Client;
  before(async () => {
    const keys = ['--api-key-file', KEYS];
    const log = logFile('keys.log');
    server = await startServer([repository, ...EXPLICIT, ...LOOSE, ...keys, ...log]);
    client = new Client(`127.0.0.1:${server.grpcPort}`, credentials.createInsecure());
  });
  after(async () => {
    client.close();
    await server.stop();
  });

  const file = join(repository, 'garbage', '1', 'model.onnx');

  it('is for calls of the control group that need a key', async () => {
    const asked = async (path: string): Promise<string> => {
      const key = ['Authorization: Bearer ops'];
      return (await exchange(server.httpPort, 'POST', path, '', key)).body.toString();
    };
    assert.ok((await asked('/v2/repository/index')).includes(file));
    assert.ok((await asked('/v2/repository/models/garbage/load')).includes(file));
    assert.ok(
      (await called(client, `${V2}/RepositoryIndex`, Buffer.alloc(0), 'ops')).includes(file),
    );
  });

  it('is for no other calls, nor without the key', async () => {
    for (const key of ['reader', 'ops', 'unknown']) {
      const header = [`Authorization: Bearer ${key}`];
      for (const [method, path, body] of requests('garbage')) {
        if (key === 'ops' && /repository|logging/.test(path)) continue;
        const { body: answer } = await exchange(server.httpPort, method, path, body, header);
        sure(answer.toString('latin1'), `${key}: ${method} ${path}`);
      }
      for (const [path, body] of calls('garbage', folders.folder)) {
        if (key === 'ops' && /Repository|LogSettings|Reload/.test(path)) continue;
        sure(await called(client, path, body, key), `${key}: ${path}`);
      }
    }
  });
});

describe('The admin address', () => {
  it('has the whole text, and the other ports have not', async () => {
    const admin = ['--admin-address', '127.0.0.1:0'];
    const server = await startServer([repository, ...EXPLICIT, ...LOOSE, ...admin]);
    try {
      const port = server.ready?.admin?.port ?? 0;
      const { body } = await exchange(port, 'POST', '/v2/repository/index');
      assert.ok(body.toString().includes(join(repository, 'garbage', '1', 'model.onnx')));
      for (const [method, path, sent] of requests('garbage')) {
        const { body: answer } = await exchange(server.httpPort, method, path, sent);
        sure(answer.toString('latin1'), path);
      }
    } finally {
      await server.stop();
    }
  });
});
