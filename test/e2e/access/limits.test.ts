// Limits of models and keys, and keys limited to some models, on a real server: every protocol,
// cancelled calls, and a key file that changes under load. At rest nothing is in flight.
import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { digestOf } from '../../../ts/access/keys.js';
import { ProtobufWriter } from '../../../ts/protobuf/writer.js';
import { ModelFolders } from '../support/model-folders.js';
import { putDelayModel, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange, type RawResponse } from '../support/raw-http.js';
import { DEADLINE_MS, startServer, type ServalProcess } from '../support/serval-process.js';

const V2 = '/inference.GRPCInferenceService';
const TF = '/tensorflow.serving';
const [OK, NOT_FOUND, EXHAUSTED] = [0, 5, 8];
const BODY = v2Body('x', [1]);
const same = (bytes: Buffer): Buffer => bytes;
const bearer = (key: string): readonly string[] => [`Authorization: Bearer ${key}`];
const lineOf = (name: string, rest: string): string =>
  `${name} sha256:${digestOf(`key-${name}`)} ${rest}\n`;

const buffer = (writer: ProtobufWriter): Buffer => Buffer.from(writer.concat());

/** A ModelInferRequest with one row, or with `rows`. */
function v2Message(model: string, rows = 1): Buffer {
  const writer = new ProtobufWriter().string(1, model).message(5, (input) => {
    input.string(1, 'x').string(2, 'FP32').varint(3, rows);
    input.message(5, (contents) => {
      contents.bytes(6, Buffer.alloc(4 * rows));
    });
  });
  return buffer(writer);
}

function tfSpec(model: string): Buffer {
  return buffer(new ProtobufWriter().message(1, (spec) => void spec.string(1, model)));
}

class Grpc {
  readonly client: Client;

  constructor(port: number) {
    this.client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  unary(path: string, message: Buffer, key = ''): Promise<{ code: number; details: string }> {
    return new Promise((resolve) => {
      this.client.makeUnaryRequest(
        path,
        same,
        same,
        message,
        metadataOf(key),
        { deadline: Date.now() + DEADLINE_MS },
        (error) => resolve({ code: error?.code ?? OK, details: error?.details ?? '' }),
      );
    });
  }

  /** Sends all messages at once; settles with the replies as text. */
  stream(messages: readonly Buffer[], key = ''): Promise<readonly string[]> {
    const options = { deadline: Date.now() + DEADLINE_MS };
    const path = `${V2}/ModelStreamInfer`;
    const call = this.client.makeBidiStreamRequest(path, same, same, metadataOf(key), options);
    const replies: string[] = [];
    return new Promise((resolve, reject) => {
      call.on('data', (reply: Buffer) => replies.push(reply.toString('latin1')));
      call.on('error', reject);
      call.on('end', () => resolve(replies));
      for (const message of messages) call.write(message);
      call.end();
    });
  }
}

function metadataOf(key: string): Metadata {
  const metadata = new Metadata();
  if (key !== '') metadata.set('authorization', `Bearer ${key}`);
  return metadata;
}

const limitOf = (name: string, value: string): string =>
  `parameters { key: "${name}" value { string_value: "${value}" } }`;

function metricOf(text: string, name: string, labels: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${name}{${labels}}`));
  return Number(line?.split(' ').at(-1) ?? NaN);
}

async function metricsText(server: ServalProcess): Promise<string> {
  return (await exchange(server.httpPort, 'GET', '/metrics')).body.toString();
}

const atRest = (server: ServalProcess, kind: 'model' | 'key', name: string): Promise<unknown> =>
  until(`no ${kind} request in flight`, async () => {
    const text = await metricsText(server);
    return metricOf(text, `serval_${kind}_requests_in_flight`, `${kind}="${name}"`) === 0;
  });

/** A request that its client leaves after `ms`. */
function leaves(port: number, path: string, ms: number, headers = {}): Promise<void> {
  return new Promise((resolve) => {
    const sent = httpRequest({ port, host: '127.0.0.1', method: 'POST', path, headers });
    sent.on('error', () => resolve());
    sent.end(BODY);
    setTimeout(() => {
      sent.destroy();
      resolve();
    }, ms);
  });
}

const statuses = (responses: readonly RawResponse[]): readonly number[] =>
  [...new Set(responses.map(({ status }) => status))].sort();

describe('limits of models', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let grpc: Grpc;
  before(async () => {
    const models = folders.repository('limited', []);
    putDelayModel(models, 'slow', 400, limitOf('max_in_flight', '2'));
    putDelayModel(models, 'rated', 0, limitOf('requests_per_second', '0.01'));
    const rows = `max_batch_size: 64\n${limitOf('rows_per_second', '4')}`;
    putDelayModel(models, 'rows', 0, rows);
    putDelayModel(models, 'batched', 0, `${rows}\ndynamic_batching { }`);
    putDelayModel(models, 'free', 0);
    server = await startServer(['--model-repository', models]);
    grpc = new Grpc(server.grpcPort);
  });
  after(async () => {
    grpc.client.close();
    await server.stop();
    folders.remove();
  });

  const path = (model: string): string => `/v2/models/${model}/infer`;

  it('admits as many requests at a time as max_in_flight says, over all protocols', async () => {
    const { httpPort } = server;
    const all = await Promise.all([
      ...Array.from({ length: 4 }, () => exchange(httpPort, 'POST', path('slow'), BODY)),
      ...Array.from({ length: 4 }, async () => {
        const { code } = await grpc.unary(`${V2}/ModelInfer`, v2Message('slow'));
        return code;
      }),
    ]);
    const rest = all.filter((one) => typeof one !== 'number');
    const codes = all.filter((one) => typeof one === 'number');
    const answered =
      rest.filter(({ status }) => status === 200).length +
      codes.filter((code) => code === OK).length;
    assert.equal(answered, 2);
    assert.ok(
      codes.every((code) => code === OK || code === EXHAUSTED),
      String(codes),
    );
    for (const { status, headers, body } of rest) {
      if (status === 200) continue;
      assert.equal(status, 429);
      assert.equal(headers.get('retry-after'), '1');
      assert.match(body.toString(), /model 'slow': its limit max_in_flight of 2 is reached/);
    }
    await atRest(server, 'model', 'slow');
    const text = await metricsText(server);
    const refused = metricOf(
      text,
      'serval_model_requests_limited_total',
      'model="slow",limit="max_in_flight"',
    );
    assert.equal(refused, 6);
    assert.ok(metricOf(text, 'serval_requests_refused_total', 'reason="limit"') >= 6);
  });

  it('keeps its counts when clients leave', async () => {
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 4 }, () => leaves(server.httpPort, path('slow'), 50)));
      await atRest(server, 'model', 'slow');
    }
    const response = await exchange(server.httpPort, 'POST', path('slow'), BODY);
    assert.equal(response.status, 200);
  });

  it('says after how many seconds a slow rate admits a request', async () => {
    const { httpPort } = server;
    assert.equal((await exchange(httpPort, 'POST', path('rated'), BODY)).status, 200);
    for (const place of [path('rated'), '/v1/models/rated:predict']) {
      const response = await exchange(
        httpPort,
        'POST',
        place,
        place === path('rated') ? BODY : '{"instances":[{"x":1}]}',
      );
      assert.equal(response.status, 429, place);
      const seconds = Number(response.headers.get('retry-after'));
      assert.ok(seconds > 60 && seconds <= 100, String(seconds));
    }
    for (const [method, message] of [
      [`${V2}/ModelInfer`, v2Message('rated')],
      [`${TF}.PredictionService/Predict`, tfSpec('rated')],
    ] as const) {
      const { code, details } = await grpc.unary(method, message);
      assert.equal(code, EXHAUSTED, method);
      assert.match(details, /model 'rated': its limit requests_per_second of 0.01 is reached/);
    }
    const [reply = ''] = await grpc.stream([v2Message('rated')]);
    assert.match(reply, /its limit requests_per_second of 0.01 is reached/);
  });

  it('charges the rows of a request, as a debt if they are more than there are', async () => {
    const data = Array.from({ length: 40 }, () => 1);
    const body = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [40, 1], data }],
    });
    for (const model of ['rows', 'batched']) {
      const first = await exchange(server.httpPort, 'POST', path(model), body);
      assert.equal(first.status, 200, first.body.toString());
      const {
        status,
        headers,
        body: text,
      } = await exchange(...([server.httpPort, 'POST', path(model), body] as const));
      assert.equal(status, 429, model);
      assert.match(text.toString(), /its limit rows_per_second of 4 is reached/);
      const seconds = Number(headers.get('retry-after'));
      assert.ok(seconds > 5 && seconds <= 10, String(seconds));
    }
  });

  it('takes new limits with the configuration, without a restart', async () => {
    const { httpPort } = server;
    assert.equal((await exchange(httpPort, 'POST', path('free'), BODY)).status, 200);
    putDelayModel(
      join(folders.folder, 'limited'),
      'free',
      0,
      limitOf('requests_per_second', '0.01'),
    );
    server.signal('SIGHUP');
    await until('the new limit', async () => {
      const { status } = await exchange(httpPort, 'POST', path('free'), BODY);
      return status === 429;
    });
  });
});

describe('limits of keys', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let grpc: Grpc;
  let keyFile = '';
  const write = (lines: readonly string[]): void => {
    writeFileSync(`${keyFile}.new`, lines.join(''));
    renameSync(`${keyFile}.new`, keyFile);
  };
  const ADMIN = lineOf('admin', 'all');
  before(async () => {
    const models = folders.repository('keyed', []);
    putDelayModel(models, 'open-fast', 0);
    putDelayModel(models, 'open-slow', 300);
    putDelayModel(models, 'hidden', 0);
    keyFile = join(folders.folder, 'keys.txt');
    write([
      ADMIN,
      lineOf('two', 'all max_in_flight=2'),
      lineOf('rated', 'all requests_per_second=0.01'),
      lineOf('some', 'all models=open-*'),
    ]);
    const flags = [
      '--model-repository',
      models,
      '--api-key-file',
      keyFile,
      '--open-groups',
      'metrics',
    ];
    server = await startServer(flags);
    grpc = new Grpc(server.grpcPort);
  });
  after(async () => {
    grpc.client.close();
    await server.stop();
    folders.remove();
  });

  const infer = (model: string, key: string): Promise<RawResponse> =>
    exchange(server.httpPort, 'POST', `/v2/models/${model}/infer`, BODY, bearer(`key-${key}`));
  const get = (path: string, key: string, method = 'GET'): Promise<RawResponse> =>
    exchange(server.httpPort, method, path, '', bearer(`key-${key}`));

  it('counts the requests of a key over all models and protocols', async () => {
    const codes = await Promise.all(
      Array.from({ length: 3 }, () =>
        grpc.unary(`${V2}/ModelInfer`, v2Message('open-slow'), 'key-two'),
      ),
    );
    const rest = await Promise.all(Array.from({ length: 4 }, () => infer('open-slow', 'two')));
    assert.deepEqual(codes.map(({ code }) => code).sort(), [OK, OK, EXHAUSTED]);
    assert.deepEqual(rest.map(({ status }) => status).sort(), [200, 200, 429, 429]);
    const again = await Promise.all(Array.from({ length: 4 }, () => infer('open-slow', 'two')));
    assert.deepEqual(again.map(({ status }) => status).sort(), [200, 200, 429, 429]);
    const text = again.find(({ status }) => status === 429)?.body.toString() ?? '';
    assert.match(text, /key 'two': its limit max_in_flight of 2 is reached; .* in the key file/);
    assert.doesNotMatch(text, /key-two/);
    assert.deepEqual(
      statuses(await Promise.all(Array.from({ length: 4 }, () => infer('open-fast', 'admin')))),
      [200],
    );
    await atRest(server, 'key', 'two');
  });

  it('keeps its counts when clients leave and while the key file changes', async () => {
    const headers = { authorization: 'Bearer key-two' };
    for (let round = 0; round < 4; round += 1) {
      await Promise.all([
        ...Array.from({ length: 3 }, () =>
          leaves(server.httpPort, '/v2/models/open-slow/infer', 40, headers),
        ),
        grpc.unary(`${V2}/ModelInfer`, v2Message('open-slow'), 'key-two'),
      ]);
      write([
        ADMIN,
        lineOf('two', `all max_in_flight=${2 + (round % 2)}`),
        lineOf('rated', 'all requests_per_second=0.01'),
        lineOf('some', 'all models=open-*'),
      ]);
      server.signal('SIGHUP');
    }
    await atRest(server, 'key', 'two');
    await until('the new limit of the key', async () => {
      const all = await Promise.all(Array.from({ length: 5 }, () => infer('open-slow', 'two')));
      return all.filter(({ status }) => status === 200).length === 3;
    });
    await atRest(server, 'key', 'two');
  });

  it('refuses over every route of inference', async () => {
    assert.equal((await infer('open-fast', 'rated')).status, 200);
    for (const [path, body] of [
      ['/v2/models/open-fast/infer', BODY],
      ['/v1/models/open-fast:predict', '{"instances":[1]}'],
    ] as const) {
      const response = await exchange(server.httpPort, 'POST', path, body, bearer('key-rated'));
      assert.equal(response.status, 429, path);
      assert.ok(Number(response.headers.get('retry-after')) > 1);
    }
    for (const method of [`${V2}/ModelInfer`, `${TF}.PredictionService/Predict`]) {
      const message = method.startsWith(TF) ? tfSpec('open-fast') : v2Message('open-fast');
      assert.equal((await grpc.unary(method, message, 'key-rated')).code, EXHAUSTED, method);
    }
    const replies = await grpc.stream(
      [v2Message('open-fast'), v2Message('open-fast')],
      'key-rated',
    );
    assert.equal(replies.length, 2);
    for (const reply of replies) assert.match(reply, /key 'rated': its limit requests_per_second/);
  });

  it('hides other models of a key that is limited to some, as if they did not exist', async () => {
    assert.equal((await infer('open-fast', 'some')).status, 200);
    // The listeners have learned the other model's routes from a key without limits.
    for (let time = 0; time < 2; time += 1) {
      assert.equal((await infer('hidden', 'admin')).status, 200);
      assert.equal((await get('/v2/models/hidden', 'admin')).status, 200);
      assert.match((await get('/v1/models', 'admin')).body.toString(), /hidden/);
    }
    const paths: readonly (readonly [string, string, string])[] = [
      ['POST', '/v2/models/NAME/infer', BODY],
      ['POST', '/v2/models/NAME/versions/1/infer', BODY],
      ['POST', '/v1/models/NAME:predict', '{"instances":[1]}'],
      ['POST', '/v1/models/NAME/versions/1:predict', '{"instances":[1]}'],
      ['POST', '/v2/models/NAME/generate', '{"x":1}'],
      ['POST', '/v2/models/NAME/csv', 'x\n1\n'],
      ['POST', '/v1/models/NAME:explain', '{"instances":[1]}'],
      ['GET', '/v2/models/NAME', ''],
      ['GET', '/v2/models/NAME/versions/1', ''],
      ['GET', '/v2/models/NAME/ready', ''],
      ['GET', '/v2/models/NAME/config', ''],
      ['GET', '/v2/models/NAME/stats', ''],
      ['GET', '/v1/models/NAME', ''],
      ['GET', '/v1/models/NAME/metadata', ''],
      ['GET', '/openapi.json?model=NAME', ''],
    ];
    for (const [method, pattern, body] of paths) {
      const ask = async (name: string): Promise<string> => {
        const path = pattern.replace('NAME', name);
        const response = await exchange(server.httpPort, method, path, body, bearer('key-some'));
        return `${response.status} ${response.body.toString()}`.replaceAll(name, 'NAME');
      };
      const [hidden, unknown] = [await ask('hidden'), await ask('absent')];
      assert.equal(hidden, unknown, pattern);
      assert.match(hidden, /^4\d\d /, pattern);
    }
    for (const path of ['/v1/models', '/v2/models', '/v2/models/stats', '/openapi.json']) {
      const text = (await get(path, 'some')).body.toString();
      assert.match(text, /open-fast/, path);
      assert.doesNotMatch(text, /hidden/, path);
    }
    const index = await get('/v2/repository/index', 'some', 'POST');
    assert.match(index.body.toString(), /open-slow/);
    assert.doesNotMatch(index.body.toString(), /hidden/);
  });

  it('hides them over gRPC', async () => {
    const named = (model: string): Buffer => buffer(new ProtobufWriter().string(1, model));
    for (const [method, make] of [
      [`${V2}/ModelInfer`, (model: string) => v2Message(model)],
      [`${V2}/ModelMetadata`, named],
      [`${V2}/ModelReady`, named],
      [`${V2}/ModelConfig`, named],
      [`${V2}/ModelStatistics`, named],
      [`${TF}.PredictionService/Predict`, tfSpec],
      [`${TF}.PredictionService/Classify`, tfSpec],
      [`${TF}.PredictionService/GetModelMetadata`, tfSpec],
      [`${TF}.ModelService/GetModelStatus`, tfSpec],
      [`${TF}.SessionService/SessionRun`, tfSpec],
    ] as const) {
      const ask = async (name: string): Promise<string> => {
        const { code, details } = await grpc.unary(method, make(name), 'key-some');
        return `${code} ${details}`.replaceAll(name, 'NAME');
      };
      assert.equal(await ask('hidden'), await ask('absent'), method);
    }
    assert.equal(
      (await grpc.unary(`${V2}/ModelInfer`, v2Message('hidden'), 'key-some')).code,
      NOT_FOUND,
    );
    assert.equal((await grpc.unary(`${V2}/ModelInfer`, v2Message('hidden'), 'key-admin')).code, OK);
    const [reply = ''] = await grpc.stream([v2Message('hidden')], 'key-some');
    assert.match(reply, /unknown model: 'hidden' is not found/);
  });

  it('opens and closes models with the key file', async () => {
    write([ADMIN, lineOf('some', 'all models=hidden')]);
    server.signal('SIGHUP');
    await until(
      'the key opens the model',
      async () => (await infer('hidden', 'some')).status === 200,
    );
    assert.equal((await infer('open-fast', 'some')).status, 404);
    const { code } = await grpc.unary(`${V2}/ModelInfer`, v2Message('open-fast'), 'key-some');
    assert.equal(code, NOT_FOUND);
  });
});
