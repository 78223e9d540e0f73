// HandleReloadConfigRequest with complete messages: from another machine it changes nothing without
// a key or --allow-remote-control; with either it changes models, and logs requests only below the
// folder that the server was started with. Source: tfserving.md 2, 3.8.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { digestOf } from '../../../ts/access/keys.js';
import { encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { outsideAddress } from '../support/addresses.js';
import { ModelFolders } from '../support/model-folders.js';
import { metric, predict, v1Versions } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { DEADLINE_MS, startServer, type ServalProcess } from '../support/serval-process.js';

const MODEL = 'half_plus_three';
const PATH = '/tensorflow.serving.ModelService/HandleReloadConfigRequest';
const OK = 0;
const INVALID = 3;
const DENIED = 7;
const UNAUTHENTICATED = 16;
const types = messageTypes();
const same = (bytes: Buffer): Buffer => bytes;

/** A ReloadConfigRequest with one model; `prefix`: the path for its request log. */
function message(name: string, basePath: string, prefix?: string): Buffer {
  const logging =
    prefix === undefined
      ? {}
      : {
          logging_config: {
            log_collector_config: { type: 'file', filename_prefix: prefix },
            sampling_config: { sampling_rate: 1 },
          },
        };
  const config = [{ name, base_path: basePath, model_platform: 'onnx', ...logging }];
  return encode(types, 'tensorflow.serving.ReloadConfigRequest', {
    config: { model_config_list: { config } },
  });
}

interface Outcome {
  readonly code: number;
  readonly details: string;
}

function call(target: string, body: Buffer, key = ''): Promise<Outcome> {
  const metadata = new Metadata();
  if (key !== '') metadata.set('authorization', `Bearer ${key}`);
  const client = new Client(target, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  const deadline = Date.now() + DEADLINE_MS;
  return new Promise<Outcome>((resolve) => {
    client.makeUnaryRequest(PATH, same, same, body, metadata, { deadline }, (error) =>
      resolve({ code: error?.code ?? OK, details: error?.details ?? '' }),
    );
  }).finally(() => client.close());
}

const outside = outsideAddress();
const skip = outside === undefined && 'this machine has no address but loopback';

describe('HandleReloadConfigRequest from another machine', () => {
  describe('over its address', { skip }, () => {
    const folders = new ModelFolders();
    const servers: ServalProcess[] = [];
    const base = join(folders.models, MODEL);
    const logs = join(folders.folder, 'logs');
    const keys = join(folders.folder, 'keys');
    mkdirSync(logs);
    writeFileSync(
      keys,
      `ops sha256:${digestOf('ops')} control\nreader sha256:${digestOf('reader')} inference\n`,
    );
    const start = async (...more: readonly string[]): Promise<ServalProcess> => {
      const model = [`--model-name=first`, `--model-base-path=${base}`];
      const server = await startServer([...model, '--host', '0.0.0.0', ...more]);
      servers.push(server);
      return server;
    };
    const remote = (server: ServalProcess): string => `${outside}:${server.grpcPort}`;
    const isServed = async (server: ServalProcess, model: string): Promise<boolean> =>
      (await exchange(server.httpPort, 'GET', `/v1/models/${model}`)).status === 200;
    after(async () => {
      for (const server of servers) await server.stop();
      folders.remove();
    });

    it('is refused, alike for folders that are there and that are not', async () => {
      const server = await start();
      const texts = new Set<string>();
      for (const path of [base, join(folders.folder, 'not there'), '/proc/self', '/', 'relative']) {
        for (const prefix of [undefined, join(logs, 'm'), '/nowhere/m']) {
          const { code, details } = await call(remote(server), message('second', path, prefix));
          assert.equal(code, DENIED, details);
          texts.add(details);
        }
      }
      assert.equal(texts.size, 1, [...texts].join('\n'));
      assert.match([...texts][0] ?? '', /without a key it is accepted from this/);
      assert.ok((await isServed(server, 'first')) && !(await isServed(server, 'second')));
      assert.deepEqual(readdirSync(logs), []);
    });

    it('with keys it needs the key of its group, from this machine too', async () => {
      const server = await start('--api-key-file', keys);
      const wanted = message('second', base);
      for (const target of [remote(server), `127.0.0.1:${server.grpcPort}`]) {
        for (const [key, expected] of [
          ['', UNAUTHENTICATED],
          ['nobody', UNAUTHENTICATED],
          ['reader', DENIED],
        ] as const) {
          assert.equal((await call(target, wanted, key)).code, expected, `${target} ${key}`);
        }
      }
      const { code, details } = await call(remote(server), wanted, 'ops');
      assert.equal(code, OK, details);
    });

    it('with --allow-remote-control it changes models, and logs nowhere', async () => {
      const server = await start('--allow-remote-control');
      for (const prefix of [join(logs, 'm'), join(folders.folder, 'm'), '/proc/self/m']) {
        const { code, details } = await call(remote(server), message('second', base, prefix));
        assert.equal(code, INVALID, details);
        assert.match(
          details,
          /a control call may log requests only below --request-log-dir, which is not given/,
        );
        assert.ok(!(await isServed(server, 'second')), 'nothing is changed');
      }
      const { code, details } = await call(remote(server), message('second', base));
      assert.equal(code, OK, details);
      assert.ok(await isServed(server, 'second'));
      await until("'first' is gone", async () => !(await isServed(server, 'first')));
    });

    it('logs below --request-log-dir, and by no way around it elsewhere', async () => {
      const below = join(folders.folder, 'below');
      mkdirSync(below);
      symlinkSync(logs, join(below, 'out'));
      const server = await start(
        ...['--allow-remote-control', '--request-log-dir', below, '--request-log-sampling=0'],
      );
      for (const prefix of [
        join(logs, 'm'),
        below,
        `${below}2/m`,
        `${below}/../logs/m`,
        `${below}/x/../../logs/m`,
        `${below}/out/m`,
        `${below}/out/new/m`,
        `${below}/a\nb`,
        '/m',
      ]) {
        const { code, details } = await call(remote(server), message('second', base, prefix));
        assert.equal(code, INVALID, `${prefix}: ${details}`);
      }
      const good = message('second', base, join(below, 'asked'));
      const { code, details } = await call(remote(server), good);
      assert.equal(code, OK, details);
      const versions = await v1Versions(server, 'second');
      assert.ok([...versions.values()].some((one) => one.state === 'AVAILABLE'));
      await until('the request is logged', async () => {
        assert.equal((await predict(server, 'second', '{"instances":[1]}')).status, 200);
        return existsSync(below) && readdirSync(below).some((name) => name.startsWith('asked-'));
      });
      assert.deepEqual(readdirSync(logs), []);
      assert.equal(await metric(server, 'serval_request_log_stopped'), 0);
    });
  });
});
