// Access rules of gRPC, and attempts to circumvent them: over both listeners, from loopback, a unix
// socket and another address of this machine.
import assert from 'node:assert/strict';
import { renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { digestOf } from '../../../ts/access/keys.js';
import { outsideAddress } from '../support/addresses.js';
import { ModelFolders } from '../support/model-folders.js';
import { DEADLINE_MS, startServer, type ServalProcess } from '../support/serval-process.js';

const MODEL = 'half_plus_three';
const EXPLICIT = ['--model-control-mode', 'explicit', '--load-model', MODEL];
const V2 = '/inference.GRPCInferenceService';
const TF = '/tensorflow.serving';
const OK = 0;
const DENIED = 7;
const UNAUTHENTICATED = 16;

/** Methods, with the group of their calls. Their response to an empty message does not matter. */
const UNARY: readonly (readonly [string, string])[] = [
  ['inference', `${V2}/ModelInfer`],
  ['inference', `${TF}.PredictionService/Predict`],
  ['inference', `${TF}.PredictionService/Classify`],
  ['inference', `${TF}.PredictionService/Regress`],
  ['inference', `${TF}.PredictionService/MultiInference`],
  ['inference', `${TF}.SessionService/SessionRun`],
  ['metadata', `${V2}/ServerMetadata`],
  ['metadata', `${V2}/ModelMetadata`],
  ['metadata', `${TF}.PredictionService/GetModelMetadata`],
  ['metadata', `${TF}.ModelService/GetModelStatus`],
  ['model-config', `${V2}/ModelConfig`],
  ['statistics', `${V2}/ModelStatistics`],
  ['health', `${V2}/ServerLive`],
  ['health', `${V2}/ServerReady`],
  ['health', `${V2}/ModelReady`],
  ['health', '/grpc.health.v1.Health/Check'],
  ['control', `${V2}/RepositoryIndex`],
  ['control', `${V2}/RepositoryModelLoad`],
  ['control', `${V2}/RepositoryModelUnload`],
  ['control', `${TF}.ModelService/HandleReloadConfigRequest`],
  ['logging', `${V2}/LogSettings`],
  ['tracing', `${V2}/TraceSetting`],
  ['shared-memory', `${V2}/SystemSharedMemoryStatus`],
  ['shared-memory', `${V2}/SystemSharedMemoryRegister`],
  ['shared-memory', `${V2}/CudaSharedMemoryUnregister`],
];
const STREAMS: readonly (readonly [string, string])[] = [
  ['inference', `${V2}/ModelStreamInfer`],
  ['metadata', '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'],
  ['metadata', '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo'],
];
const CHANGES = UNARY.filter(([group, path]) =>
  ['control', 'logging', 'tracing', 'shared-memory'].includes(group)
    ? !/Index|Status$/.test(path)
    : false,
);
const GROUPS = [...new Set(UNARY.map(([group]) => group))];
const keyOf = (group: string): string => `key-of-${group}`;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const lineOf = (group: string, key = keyOf(group)): string =>
  `${group} sha256:${digestOf(key)} ${group}\n`;
const same = (bytes: Buffer): Buffer => bytes;
type Headers = Readonly<Record<string, string>>;

/** Calls with raw bytes and the given headers. */
class Caller {
  readonly #client: Client;

  constructor(target: string) {
    this.#client = new Client(target, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  unary(path: string, headers: Headers = {}): Promise<{ code: number; details: string }> {
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        path,
        same,
        same,
        Buffer.alloc(0),
        metadataOf(headers),
        { deadline: Date.now() + DEADLINE_MS },
        (error) => resolve({ code: error?.code ?? OK, details: error?.details ?? '' }),
      );
    });
  }

  /** Opens a stream, sends nothing more unless `ends`, and waits for its status. */
  stream(path: string, headers: Headers = {}, ends = true): Promise<number> {
    const metadata = metadataOf(headers);
    const options = { deadline: Date.now() + DEADLINE_MS };
    const stream = this.#client.makeBidiStreamRequest(path, same, same, metadata, options);
    return new Promise((resolve) => {
      stream.on('data', () => undefined);
      stream.on('error', () => undefined);
      stream.on('status', ({ code }) => resolve(code));
      if (ends) stream.end();
    });
  }

  close(): void {
    this.#client.close();
  }
}

function metadataOf(headers: Headers): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

describe('gRPC with keys', () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let caller: Caller;
  let keyFile = '';
  before(async () => {
    const models = folders.repository('access', [MODEL]);
    keyFile = join(folders.folder, 'keys');
    writeFileSync(keyFile, GROUPS.map((group) => lineOf(group)).join(''));
    const keys = ['--api-key-file', keyFile, '--api-key-header', 'X-Api-Key'];
    server = await startServer(['--model-repository', models, ...EXPLICIT, ...keys]);
    caller = new Caller(`127.0.0.1:${server.grpcPort}`);
  });
  after(async () => {
    caller?.close();
    await server?.stop();
    folders.remove();
  });

  it('every method asks for a key of its group, but the open ones', async () => {
    for (const [group, path] of UNARY) {
      const codes = [await caller.unary(path), await caller.unary(path, bearer('nobody'))];
      const locked = group === 'health' ? [] : [UNAUTHENTICATED, UNAUTHENTICATED];
      if (locked.length > 0)
        assert.deepEqual(
          codes.map(({ code }) => code),
          locked,
          path,
        );
      else for (const { code } of codes) assert.ok(code !== UNAUTHENTICATED && code !== DENIED);
      const { code } = await caller.unary(path, bearer(keyOf(group)));
      assert.ok(code !== UNAUTHENTICATED && code !== DENIED, `${path}: ${code}`);
    }
    for (const [group, path] of STREAMS) {
      assert.equal(await caller.stream(path), UNAUTHENTICATED, path);
      assert.equal(await caller.stream(path, bearer('nobody'), false), UNAUTHENTICATED, path);
      assert.equal(await caller.stream(path, bearer(keyOf(group))), OK, path);
    }
  });

  it('a key of another group is PERMISSION_DENIED', async () => {
    for (const [group, path] of UNARY.filter(([one]) => one !== 'health')) {
      const other = group === 'inference' ? 'control' : 'inference';
      const { code, details } = await caller.unary(path, bearer(keyOf(other)));
      assert.deepEqual(
        [code, details],
        [DENIED, `the key that was sent is not for ${group} calls`],
        path,
      );
    }
    assert.equal(await caller.stream(`${V2}/ModelStreamInfer`, bearer(keyOf('control'))), DENIED);
  });

  it('a key comes in two headers, in its form', async () => {
    const key = keyOf('inference');
    const path = `${V2}/ModelInfer`;
    const passes = async (headers: Headers): Promise<boolean> =>
      (await caller.unary(path, headers)).code !== UNAUTHENTICATED;
    assert.equal(await passes({ 'x-api-key': key }), true);
    assert.equal(await passes({ authorization: `bEARER  ${key}` }), true);
    for (const headers of [
      { authorization: key },
      { authorization: `Basic ${key}` },
      { authorization: `Bearer${key}` },
      { authorization: `Bearer ${key} x` },
      { authorization: 'Bearer' },
      { authorization: `Bearer ${digestOf(key)}` },
      { 'x-api-key': `Bearer ${key}` },
      { 'api-key': key },
      { 'triton-grpc-protocol-x-api-key': key },
    ]) {
      assert.equal(await passes(headers), false, JSON.stringify(headers));
    }
  });

  it('refuses before a message has come', async () => {
    for (const path of [`${V2}/ModelInfer`, `${V2}/RepositoryModelLoad`]) {
      assert.equal(await caller.stream(path, {}, false), UNAUTHENTICATED, path);
    }
  });

  it('keys are reloaded while calls run', async () => {
    const path = `${V2}/ModelInfer`;
    const code = async (key: string): Promise<number> =>
      (await caller.unary(path, bearer(key))).code;
    const streamInfer = `${V2}/ModelStreamInfer`;
    const reflection = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    const revoked = [
      caller.stream(streamInfer, bearer(keyOf('inference')), false),
      caller.stream(reflection, bearer(keyOf('metadata')), false),
    ];
    let running = true;
    const codes = new Set<number>();
    const load = (async () => {
      while (running) codes.add(await code(keyOf('inference')));
    })();
    let kept: Promise<number> | undefined;
    for (const next of ['second', 'third']) {
      writeFileSync(
        `${keyFile}.new`,
        lineOf('inference', next) + lineOf('control') + lineOf('metadata', 'stays'),
      );
      renameSync(`${keyFile}.new`, keyFile);
      const limit = Date.now() + DEADLINE_MS;
      while ((await code(next)) === UNAUTHENTICATED && Date.now() < limit);
      assert.notEqual(await code(next), UNAUTHENTICATED);
      kept ??= caller.stream(reflection, bearer('stays'), false);
    }
    running = false;
    await load;
    // Streams of removed keys have ended; a stream of a remaining key continues.
    assert.deepEqual(await Promise.all(revoked), [UNAUTHENTICATED, UNAUTHENTICATED]);
    assert.equal(await Promise.race([kept, 'open']), 'open');
    assert.equal(await code('second'), UNAUTHENTICATED);
    assert.ok(codes.has(UNAUTHENTICATED), 'the old key went on');
  });
});

describe("gRPC with Triton's restrictions", () => {
  const folders = new ModelFolders();
  let server: ServalProcess;
  let caller: Caller;
  before(async () => {
    const models = folders.repository('restricted', [MODEL]);
    server = await startServer([
      ...['--model-repository', models, ...EXPLICIT],
      ...['--grpc-restricted-protocol', 'model-repository,health:Admin-Key=admin-value'],
      ...['--grpc-restricted-protocol', 'inference:infer-key=infer-value'],
    ]);
    caller = new Caller(`127.0.0.1:${server.grpcPort}`);
  });
  after(async () => {
    caller?.close();
    await server?.stop();
    folders.remove();
  });

  it('asks for the header of the group', async () => {
    const prefix = 'triton-grpc-protocol-';
    const code = async (method: string, headers: Headers = {}): Promise<number> =>
      (await caller.unary(`${V2}/${method}`, headers)).code;
    const denied = "This protocol is restricted, expecting header 'triton-grpc-protocol-infer-key'";
    assert.deepEqual(await caller.unary(`${V2}/ModelInfer`), { code: DENIED, details: denied });
    assert.notEqual(await code('ModelInfer', { [`${prefix}infer-key`]: 'infer-value' }), DENIED);
    assert.equal(await code('ModelInfer', { [`${prefix}infer-key`]: 'other' }), DENIED);
    assert.equal(await code('ModelInfer', { 'infer-key': 'infer-value' }), DENIED);
    assert.equal(await code('ModelInfer', { [`${prefix}admin-key`]: 'admin-value' }), DENIED);
    assert.equal(await code('ServerLive'), DENIED);
    assert.equal(await code('ServerLive', { [`${prefix}admin-key`]: 'admin-value' }), OK);
    assert.equal(await code('RepositoryIndex'), DENIED);
    assert.equal(await code('RepositoryIndex', { [`${prefix}admin-key`]: 'admin-value' }), OK);
    assert.equal(await code('ServerMetadata'), OK);
  });
});

describe('a unix socket of gRPC', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());

  it('is for its owner, unless --socket-mode opens it, under any umask', async () => {
    const models = folders.repository('sockets', [MODEL]);
    const modes = { '0700': [], '0770': ['--socket-mode', '0770'], '0777': ['--socket-mode=0777'] };
    for (const [mode, given] of Object.entries(modes)) {
      const path = join(folders.folder, `mode-${mode}.sock`);
      const args = ['--model-repository', models, '--grpc-socket-path', path, ...given];
      const umask = mode === '0700' ? '0000' : '0077';
      const before = ['sh', '-c', `umask ${umask}; exec "$@"`, 'sh'];
      const server = await startServer(args, {}, before);
      const caller = new Caller(`unix:${path}`);
      try {
        assert.equal((statSync(path).mode & 0o777).toString(8), mode.slice(1));
        assert.equal((await caller.unary(`${V2}/ServerLive`)).code, OK);
      } finally {
        caller.close();
        await server.stop();
      }
    }
  });
});

const outside = outsideAddress();
const skip = outside === undefined && 'this machine has no address but loopback';

describe('gRPC from another machine', () => {
  describe('over its address', { skip }, () => {
    const folders = new ModelFolders();
    const servers: ServalProcess[] = [];
    const callers: Caller[] = [];
    const start = async (...more: readonly string[]): Promise<ServalProcess> => {
      const models = folders.repository(`remote${servers.length}`, [MODEL]);
      const args = ['--model-repository', models, ...EXPLICIT, '--host', '0.0.0.0'];
      const server = await startServer([...args, ...more]);
      servers.push(server);
      return server;
    };
    const callerOf = (target: string): Caller => {
      const caller = new Caller(target);
      callers.push(caller);
      return caller;
    };
    after(async () => {
      for (const caller of callers) caller.close();
      for (const server of servers) await server.stop();
      folders.remove();
    });

    it('reads and infers; changes nothing, whatever its headers say', async () => {
      const socket = join(folders.folder, 'grpc.sock');
      const server = await start('--grpc-socket-path', socket);
      const remote = callerOf(`${outside}:${server.grpcPort}`);
      for (const method of UNARY) {
        const { code } = await remote.unary(method[1]);
        assert.equal(code === DENIED, CHANGES.includes(method), `${method[1]}: ${code}`);
      }
      const forged = { 'x-forwarded-for': '127.0.0.1', authorization: 'Bearer x' };
      const locals = [callerOf(`127.0.0.1:${server.grpcPort}`), callerOf(`unix:${socket}`)];
      for (const [, path] of CHANGES) {
        const { code, details } = await remote.unary(path, forged);
        assert.equal(code, DENIED);
        assert.match(details, /call changes the server: without a key it is accepted from this/);
        for (const local of locals) {
          assert.notEqual((await local.unary(path)).code, DENIED, path);
          for (const name of ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via']) {
            const proxied = await local.unary(path, { [name]: '127.0.0.1' });
            assert.equal(proxied.code, DENIED, `${path} ${name}`);
          }
        }
      }
    });

    it('changes with --allow-remote-control', async () => {
      const server = await start('--allow-remote-control');
      const remote = callerOf(`${outside}:${server.grpcPort}`);
      for (const [, path] of CHANGES) assert.notEqual((await remote.unary(path)).code, DENIED);
    });
  });
});
