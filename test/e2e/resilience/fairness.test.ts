// A quiet model beside flooded ones, with weights: all requests are answered, over gRPC and REST,
// with inline and queued runs. A quiet key beside one that floods the same model: its request is
// answered before the flood's. The rate limiter: models that share a resource run one after the
// other, and a reload may make it global.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, credentials } from '@grpc/grpc-js';
import { digestOf } from '../../../ts/access/keys.js';
import { ProtobufWriter } from '../../../ts/protobuf/writer.js';
import { ModelFolders, slowModel } from '../support/model-folders.js';
import {
  begun,
  control,
  infer,
  metric,
  put,
  putDelayModel,
  statistics,
  v2Body,
  v2Values,
} from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange, RawConnection, requestBytes } from '../support/raw-http.js';
import {
  DEADLINE_MS,
  runServal,
  startServer,
  type ServalProcess,
} from '../support/serval-process.js';

const METHOD = '/inference.GRPCInferenceService/ModelInfer';
const FLOODERS = 16;
const QUIET_REQUESTS = 60;
const DRAINED = 64;
const same = (bytes: Buffer): Buffer => bytes;

const weight = (value: string): string =>
  `parameters { key: "weight" value { string_value: "${value}" } }\n`;

function message(model: string, input: string): Buffer {
  const writer = new ProtobufWriter().string(1, model).message(5, (tensor) => {
    tensor.string(1, input).string(2, 'FP32').varint(3, 1);
    tensor.message(5, (contents) => {
      contents.bytes(6, Buffer.alloc(4));
    });
  });
  return Buffer.from(writer.concat());
}

/** Calls with one request each at any time, until stop(), which resolves to the responses. */
class Flood {
  #stops = false;
  readonly #clients: readonly Promise<number>[];

  constructor(call: (client: number) => Promise<unknown>) {
    this.#clients = Array.from({ length: FLOODERS }, async (_, client) => {
      let count = 0;
      for (; !this.#stops; count += 1) await call(client);
      return count;
    });
  }

  async stop(): Promise<number> {
    this.#stops = true;
    const counts = await Promise.all(this.#clients);
    assert.ok(
      counts.every((count) => count > 0),
      `responses of each client: ${counts.join(', ')}`,
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }
}

class GrpcClients {
  readonly #clients = new Map<string, Client>();
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  call(name: string, bytes: Buffer): Promise<Buffer> {
    const client =
      this.#clients.get(name) ??
      new Client(`127.0.0.1:${this.#port}`, credentials.createInsecure(), {
        'grpc.use_local_subchannel_pool': 1,
      });
    this.#clients.set(name, client);
    const options = { deadline: Date.now() + DEADLINE_MS };
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(METHOD, same, same, bytes, options, (error, response) => {
        if (error !== null) reject(error);
        else resolve(response ?? Buffer.alloc(0));
      });
    });
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }
}

describe('a quiet model beside flooded ones', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let grpc: GrpcClients;
  before(async () => {
    const models = folders.repository('shared', ['half_plus_three', 'mlp']);
    for (const [name, rest] of [
      ['hot', 'instance_group { count: 3 kind: KIND_CPU }\n'],
      ['heavy', weight('300')],
    ] as const) {
      folders.add(models, name, slowModel(192, 4));
      put(`${models}/${name}/config.pbtxt`, `backend: "onnxruntime"\n${rest}`);
    }
    server = await startServer([models]);
    grpc = new GrpcClients(server.grpcPort);
  });
  after(async () => {
    grpc.close();
    await server.stop();
    folders.remove();
  });

  it('answers over gRPC while two models of other weights are flooded', async () => {
    const [hot, heavy] = ['hot', 'heavy'].map((model) => message(model, 'input'));
    const quiet = message('half_plus_three', 'x');
    const floods = [
      new Flood((client) => grpc.call(`hot ${client}`, hot ?? quiet)),
      new Flood((client) => grpc.call(`heavy ${client}`, heavy ?? quiet)),
    ];
    const expected = await grpc.call('quiet', quiet);
    for (let i = 0; i < QUIET_REQUESTS; i += 1) {
      assert.deepEqual(await grpc.call('quiet', quiet), expected);
    }
    for (const flood of floods) await flood.stop();
  });

  it('answers over REST while a model that runs on the listener is flooded', async () => {
    const row = JSON.stringify({ instances: [Array.from({ length: 784 }, () => 0)] });
    const flood = new Flood(async () => {
      const response = await exchange(server.httpPort, 'POST', '/v1/models/mlp:predict', row);
      assert.equal(response.status, 200, response.body.toString());
    });
    for (let i = 0; i < QUIET_REQUESTS; i += 1) {
      assert.deepEqual(v2Values(await infer(server, 'half_plus_three', v2Body('x', [i]))), [
        i / 2 + 3,
      ]);
    }
    await flood.stop();
  });

  it('answers the requests that have arrived when the server stops', async () => {
    const own = await startServer([folders.repository('ending', ['half_plus_three', 'mlp'])]);
    const rows = Array.from({ length: 4 }, () => Array.from({ length: 784 }, () => 0));
    const bodies = ['half_plus_three', 'mlp'].map((model) => {
      const text = JSON.stringify({ instances: model === 'mlp' ? rows : [1] });
      const head = `POST /v1/models/${model}:predict HTTP/1.1\r\nHost: a\r\nContent-Length: `;
      return `${head}${text.length}\r\n\r\n${text}`;
    });
    let isStopping = false;
    let answered = 0;
    const ask = async (index: number): Promise<void> => {
      const connection = await RawConnection.open(own.httpPort);
      // A request that is sent after the signal may find the connection closed.
      for (let goesOn = true; goesOn && !isStopping; ) {
        await connection.write(bodies[index === 0 ? 0 : 1] ?? '');
        const { status, headers } = await connection.response();
        assert.equal(status, 200);
        answered += 1;
        goesOn = headers.get('connection') !== 'close';
      }
      connection.close();
    };
    const asking = Array.from({ length: DRAINED }, (_, index) => ask(index));
    await until('responses', () => answered > 10 * DRAINED);
    isStopping = true;
    own.signal('SIGTERM');
    await Promise.all(asking);
    assert.equal((await own.ended).code, 0);
  });

  it('refuses a weight that is no whole number from 1 to 1000', async () => {
    const models = folders.repository('wrong', []);
    folders.add(models, 'bad', slowModel(16, 1));
    put(`${models}/bad/config.pbtxt`, `backend: "onnxruntime"\n${weight('0')}`);
    const run = await runServal(['serve', '--model-repository', models, '--exit-on-error=true']);
    assert.equal(run.code, 1);
    assert.match(run.stderr, /weight: expected a whole number from 1 to 1000, got "0"/);
  });
});

describe('a quiet key beside one that floods the same model', () => {
  const QUEUED = 16;
  const folders = new ModelFolders();
  let server: ServalProcess;
  before(async () => {
    const models = folders.repository('keyed', ['half_plus_three']);
    putDelayModel(models, 'slow', 250);
    const keys = join(folders.folder, 'keys.txt');
    const line = (name: string, rest: string): string =>
      `${name} sha256:${digestOf(`key-${name}`)} all ${rest}\n`;
    put(keys, line('hot', '') + line('quiet', 'weight=200'));
    server = await startServer([models, '--api-key-file', keys]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const ask = (key: string, model: string): Promise<readonly number[]> =>
    exchange(server.httpPort, 'POST', `/v2/models/${model}/infer`, v2Body('x', [2]), [
      `Authorization: Bearer key-${key}`,
    ]).then(v2Values);

  it('runs its request before those that the other key has queued', async () => {
    let answered = 0;
    const flood = Array.from({ length: QUEUED }, async () => {
      await ask('hot', 'slow');
      answered += 1;
    });
    const pending = 'nv_inference_pending_request_count';
    await until('the flood in the queue', async () => {
      const waiting = await metric(server, pending, 'model="slow"');
      return waiting + answered >= QUEUED - 1;
    });
    const before = answered;
    assert.ok(before < QUEUED / 4, `${before} of ${QUEUED} were answered while the rest arrived`);
    await ask('quiet', 'slow');
    assert.ok(answered <= before + QUEUED / 4, `${answered} of ${QUEUED} were answered before it`);
    await Promise.all(flood);
  });

  it('does not charge a key for requests whose clients leave before they run', async () => {
    const ABORTED = 100;
    let answered = 0;
    const flood = Array.from({ length: 2 * QUEUED }, async () => {
      await ask('hot', 'slow');
      answered += 1;
    });
    const waiting = (): Promise<number> =>
      metric(server, 'nv_inference_pending_request_count', 'model="slow"');
    await until('the flood in the queue', async () => (await waiting()) >= QUEUED);
    const request = requestBytes('POST', '/v2/models/slow/infer', v2Body('x', [2]), [
      'Authorization: Bearer key-quiet',
    ]);
    const leaving = await Promise.all(
      Array.from({ length: ABORTED }, () => RawConnection.open(server.httpPort)),
    );
    await Promise.all(leaving.map((connection) => connection.write(request)));
    await until('their requests in the queue', async () => (await waiting()) >= ABORTED);
    for (const connection of leaving) connection.close();
    await until('their requests to be gone', async () => (await waiting()) < 2 * QUEUED);
    const before = answered;
    assert.ok(before < QUEUED, `${before} of ${2 * QUEUED} were answered before it was sent`);
    await ask('quiet', 'slow');
    assert.ok(answered <= before + QUEUED / 4, `${answered - before} were answered before it`);
    await Promise.all(flood);
  });

  it('answers both while they share a listener', async () => {
    const flood = new Flood(() => ask('hot', 'half_plus_three'));
    for (let i = 0; i < QUIET_REQUESTS; i += 1) {
      assert.deepEqual(await ask('quiet', 'half_plus_three'), [4]);
      assert.equal((await exchange(server.httpPort, 'GET', '/v2/health/live')).status, 200);
    }
    await flood.stop();
  });

  it('counts keys with limits only', async () => {
    const page = await exchange(server.httpPort, 'GET', '/metrics');
    assert.doesNotMatch(page.body.toString(), /serval_key_requests/);
  });
});

describe('the rate limiter', () => {
  const folders = new ModelFolders();
  let models = '';
  const group = (resource: string): string =>
    `instance_group { count: 4 rate_limiter { resources { name: "${resource}" count: 1 } } }\n`;
  before(() => {
    models = folders.repository('limited', []);
    putDelayModel(models, 'long', 3000, group('R'));
    putDelayModel(models, 'short', 0, group('r'));
    putDelayModel(models, 'free', 0);
  });
  after(() => folders.remove());

  /**
   * Sends a request to "long", then to the others. Returns how many requests of "long" had ended
   * when each of the others was answered.
   */
  async function ended(args: readonly string[]): Promise<Readonly<Record<string, number>>> {
    const server = await startServer([models, ...args]);
    try {
      const connection = await begun(server, 'long', v2Body('x', [1]));
      const counts: Record<string, number> = {};
      for (const name of ['free', 'short']) {
        v2Values(await infer(server, name, v2Body('x', [1])));
        counts[name] = (await statistics(server, 'long')).inference_count;
      }
      v2Values(await connection.response());
      connection.close();
      return counts;
    } finally {
      await server.stop();
    }
  }

  it('runs models that share a resource one after the other, others beside them', async () => {
    assert.deepEqual(await ended(['--rate-limit=execution_count']), { free: 0, short: 1 });
  });

  it('has no effect when it is off', async () => {
    assert.deepEqual(await ended([]), { free: 0, short: 0 });
  });

  it('lets both run when --rate-limit-resource says that there is enough', async () => {
    const args = ['--rate-limit=execution_count', '--rate-limit-resource=R:2'];
    assert.deepEqual(await ended(args), { free: 0, short: 0 });
  });

  it('lets a reload make a resource global unless another model disagrees', async () => {
    const own = folders.repository('reloaded', []);
    const configOf = (global: boolean): string =>
      `instance_group { count: 1 rate_limiter { resources { name: "R" global: ${global} count: 1 } } }\n`;
    putDelayModel(own, 'first', 0, configOf(false));
    putDelayModel(own, 'second', 0, configOf(true));
    const server = await startServer([
      ...['--model-repository', own, '--model-control-mode=explicit', '--load-model=first'],
      '--rate-limit=execution_count',
    ]);
    const load = (name: string): string => `/v2/repository/models/${name}/load`;
    try {
      const refused = await exchange(server.httpPort, 'POST', load('second'));
      assert.match(
        refused.body.toString(),
        /resource 'R' is global here, but not in the loaded model 'first'; a resource is one or the other/,
      );
      putDelayModel(own, 'first', 0, configOf(true));
      await control(server, load('first'));
      await until('the old version to be gone', async () => {
        const { status } = await exchange(server.httpPort, 'POST', load('second'));
        return status === 200;
      });
      v2Values(await infer(server, 'first', v2Body('x', [1])));
      v2Values(await infer(server, 'second', v2Body('x', [1])));
    } finally {
      await server.stop();
    }
  });

  it('lets the files of several models change whether their resource is global', async () => {
    const own = folders.repository('polled', []);
    const configOf = (global: boolean): string =>
      `instance_group { count: 1 rate_limiter { resources { name: "R" global: ${global} count: 1 } } }\n`;
    const both = ['first', 'second'];
    for (const name of both) putDelayModel(own, name, 0, configOf(false));
    const server = await startServer([
      ...['--model-repository', own, '--model-control-mode=poll', '--repository-poll-secs=1'],
      '--rate-limit=execution_count',
    ]);
    const isReady = async (name: string): Promise<boolean> =>
      (await exchange(server.httpPort, 'GET', `/v2/models/${name}/ready`)).status === 200;
    try {
      for (const name of both) assert.ok(await isReady(name), name);
      // The steps of docs/guides/fairness.md.
      for (const name of both) rmSync(join(own, name), { recursive: true });
      await until('both to be unloaded', async () =>
        (await Promise.all(both.map(isReady))).every((ready) => !ready),
      );
      for (const name of both) putDelayModel(own, name, 0, configOf(true));
      await until('both to be loaded', async () =>
        (await Promise.all(both.map(isReady))).every((ready) => ready),
      );
      for (const name of both) v2Values(await infer(server, name, v2Body('x', [1])));
    } finally {
      await server.stop();
    }
  });

  it('refuses a model that needs more than there is, and counts in another form', async () => {
    const limit = ['--rate-limit=execution_count', '--rate-limit-resource=R:0'];
    const run = await runServal(['serve', models, ...limit, '--exit-on-error=true']);
    assert.equal(run.code, 1);
    assert.match(run.stderr, /a run needs 1 of resource 'R', but --rate-limit-resource sets 0/);
    const wrong = await runServal(['serve', models, '--rate-limit-resource=R']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /--rate-limit-resource: expected NAME:COUNT or NAME:COUNT:DEVICE/);
  });
});
