// --http-threads auto and --grpc-threads auto: a busy listener adds a thread, and connections that
// clients opened before continue there. Every request is answered. Tests pretend eight cores; the
// model runs on the listeners' threads, so that they are busy while the clients wait.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { request, Agent } from 'node:https';
import { credentials } from '@grpc/grpc-js';
import { after, before, describe, it, type TestContext } from 'node:test';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { Certificates } from '../support/certificates.js';
import { endlessModel, ModelFolders } from '../support/model-folders.js';
import { RawConnection, requestBytes } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const CLIENTS = 6;
const LIMIT_MS = 60_000;
const PATH = '/v2/models/endless/infer';
const INFER = '/inference.GRPCInferenceService/ModelInfer';
/** Some milliseconds of work. */
const TRIPS = 30_000n;
const types = messageTypes();

const BODY = `{"inputs":[{"name":"trips","datatype":"INT64","shape":[1],"data":[${TRIPS}]}]}`;
const MESSAGE = encode(types, 'inference.ModelInferRequest', {
  model_name: 'endless',
  inputs: [{ name: 'trips', datatype: 'INT64', shape: [1] }],
  raw_input_contents: [Buffer.from(BigInt64Array.of(TRIPS).buffer)],
});

/** Processor time of the threads with this name, in ticks. */
function ticksOf(server: ServalProcess, name: string): number {
  const folder = `/proc/${server.child.pid}/task`;
  let ticks = 0;
  for (const thread of readdirSync(folder)) {
    const [head = '', rest = ''] = readFileSync(`${folder}/${thread}/stat`, 'utf8').split(') ');
    const fields = rest.split(' ');
    if (head.endsWith(`(${name}`)) ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks;
}

async function threadsOf(server: ServalProcess, listener: string): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${server.httpPort}/metrics`)).text();
  const line = new RegExp(`^serval_listener_threads\\{listener="${listener}"\\} (\\d+)$`, 'm');
  return Number(line.exec(page)?.[1]);
}

/** Repeats `ask` on all clients until the second thread has worked for a second. */
async function loaded(
  server: ServalProcess,
  second: string,
  asks: readonly (() => Promise<void>)[],
): Promise<number> {
  const until = Date.now() + LIMIT_MS;
  let answered = 0;
  const isEnough = (): boolean => ticksOf(server, second) >= 100;
  const client = async (ask: () => Promise<void>): Promise<void> => {
    while (!isEnough() && Date.now() < until) {
      await ask();
      answered += 1;
    }
  };
  await Promise.all(asks.map(client));
  assert.ok(isEnough(), `${second} has not served\n${server.stderr}`);
  return answered;
}

describe('listener threads', () => {
  const folders = new ModelFolders();
  const certificates = new Certificates();
  let models = '';
  before(() => {
    models = folders.repository('threads', []);
    folders.add(models, 'endless', endlessModel());
  });
  after(() => {
    folders.remove();
    certificates.remove();
  });

  const started = async (context: TestContext, ...args: string[]): Promise<ServalProcess> => {
    const inline = ['--exec-mode', 'inline', '--inline-us-max', '1000000'];
    const flags = [models, ...inline, '--intra-op-threads', '1', ...args];
    const server = await startServer(flags, { SERVAL_TEST_CORES: '8' });
    context.after(() => server.stop());
    return server;
  };

  const callers = (context: TestContext, server: ServalProcess) =>
    Array.from({ length: CLIENTS }, () => {
      const client = new RawClient(server.grpcPort);
      context.after(() => client.close());
      return async (): Promise<void> => {
        const { code, details } = await client.unary(INFER, MESSAGE);
        assert.equal(code, 0, details);
      };
    });

  it('move open gRPC connections to a new thread', async (context) => {
    const server = await started(context, '--grpc-threads', 'auto');
    assert.equal(await threadsOf(server, 'grpc'), 1);
    await loaded(server, 'sv-grpc-1', callers(context, server));
    assert.ok((await threadsOf(server, 'grpc')) >= 2);
    assert.equal(await threadsOf(server, 'http'), 1);
    const line = server.stderr.split('\n').find((each) => each.includes('thread added')) ?? '{}';
    const { level, threads, reason } = JSON.parse(line);
    assert.deepEqual([level, threads], ['info', 2]);
    assert.match(reason, /^a listener thread was busy for \d+ % of its time$/);
  });

  it('move open HTTP connections to a new thread', async (context) => {
    const server = await started(context);
    const connections = await Promise.all(
      Array.from({ length: CLIENTS }, () => RawConnection.open(server.httpPort)),
    );
    context.after(() => connections.forEach((one) => one.close()));
    const asked = requestBytes('POST', PATH, BODY);
    await loaded(
      server,
      'sv-http-1',
      connections.map((connection) => async () => {
        await connection.write(asked);
        assert.equal((await connection.response()).status, 200);
      }),
    );
    assert.ok((await threadsOf(server, 'http')) >= 2);
  });

  it('move encrypted connections, on a port that HTTP and gRPC share', async (context) => {
    const { certificate, key } = certificates.server;
    const port = String(20_000 + (process.pid % 10_000));
    const shared = ['--http-port', port, '--grpc-port', port];
    const server = await started(context, ...shared, '--tls-cert', certificate, '--tls-key', key);
    const ca = readFileSync(certificates.authority.certificate);
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS / 2, ca });
    context.after(() => agent.destroy());
    const post = (): Promise<void> =>
      new Promise((resolve, reject) => {
        const to = { port: Number(port), host: 'localhost', path: PATH, method: 'POST', agent };
        const asked = request(to, (response) => {
          response.resume();
          response.on('error', reject);
          response.on('end', () => {
            if (response.statusCode === 200) resolve();
            else reject(new Error(`status ${response.statusCode}`));
          });
        });
        asked.on('error', reject);
        asked.end(BODY);
      });
    const calls = Array.from({ length: CLIENTS / 2 }, () => {
      const client = new RawClient(`localhost:${port}`, {}, credentials.createSsl(ca));
      context.after(() => client.close());
      return async (): Promise<void> => {
        const { code, details } = await client.unary(INFER, MESSAGE);
        assert.equal(code, 0, details);
      };
    });
    await loaded(server, 'sv-http-1', [...calls, post, post, post]);
  });

  it('answer every call when the server is terminated while threads are added', async (context) => {
    const server = await started(context);
    let over = false;
    let answered = 0;
    const clients = callers(context, server).map(async (ask) => {
      while (!over) {
        await ask().then(
          () => {
            answered += 1;
          },
          (error: Error) => {
            // Only calls that began after the server had gone.
            if (!over) throw error;
          },
        );
      }
    });
    const until = Date.now() + LIMIT_MS;
    while (ticksOf(server, 'sv-grpc-1') < 5) {
      assert.ok(Date.now() < until, 'no thread was added');
      await new Promise((resolve) => {
        setTimeout(resolve, 10);
      });
    }
    over = true;
    server.signal('SIGTERM');
    await Promise.all(clients);
    assert.ok(answered > 0);
    assert.deepEqual(await server.ended, { code: 0, signal: null });
  });

  it('stay as many as a number says', async (context) => {
    const fixed = await started(context, '--grpc-threads', '1');
    const until = Date.now() + 1500;
    const asks = callers(context, fixed).map(async (ask) => {
      while (Date.now() < until) await ask();
    });
    await Promise.all(asks);
    assert.equal(await threadsOf(fixed, 'grpc'), 1);
  });
});
