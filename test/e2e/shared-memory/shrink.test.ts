// A client that truncates its regions while the server reads and writes them: the errors say so,
// and the server continues. Over REST and over gRPC, batched and not.
import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { RawClient, encode, messageTypes } from '../../unit/protocols/raw-client.js';
import { ModelFolders } from '../support/model-folders.js';
import { DEADLINE_MS, startServer, type ServalProcess } from '../support/serval-process.js';

const types = messageTypes();
const SERVICE = '/inference.GRPCInferenceService';
const MODEL = 'identity_fp32';
const ELEMENTS = 262_144;
const BYTES = ELEMENTS * 4;
const PAGE = 4096;
/** The number of responses of each kind after which the test ends. */
const ENOUGH = 3;
const LOST = /has shrunk|memory of it was missing/;

/** This test's own object in /dev/shm. */
class ShmFile {
  readonly key: string;
  readonly #file: number;

  constructor(name: string) {
    this.key = `serval-test-${process.pid}-${name}`;
    this.#file = openSync(`/dev/shm/${this.key}`, 'w+');
    this.resize(BYTES);
  }
  resize(bytes: number): void {
    ftruncateSync(this.#file, bytes);
  }
  fill(value: number): void {
    writeSync(this.#file, Buffer.from(new Float32Array(ELEMENTS).fill(value).buffer), 0, BYTES, 0);
  }
  first(): number {
    const bytes = Buffer.alloc(4);
    readSync(this.#file, bytes, 0, 4, BYTES - 4);
    return bytes.readFloatLE();
  }
  remove(): void {
    closeSync(this.#file);
    rmSync(`/dev/shm/${this.key}`, { force: true });
  }
}

interface Outcome {
  readonly ok: boolean;
  readonly text: string;
}
type Ask = () => Promise<Outcome>;

describe('regions that shrink', () => {
  const folders = new ModelFolders();
  const files = { in: new ShmFile('in'), out: new ShmFile('out') };
  let server: ServalProcess;
  let client: RawClient;
  before(async () => {
    const repository = folders.repository('shm', [MODEL]);
    server = await startServer([repository, '--allow-client-shm=true']);
    client = new RawClient(server.grpcPort);
  });
  after(async () => {
    client.close();
    await server.stop();
    files.in.remove();
    files.out.remove();
    folders.remove();
  });

  const post = (path: string, body: object): Promise<Response> =>
    fetch(`http://127.0.0.1:${server.httpPort}/v2/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
  const registerAnew = async (): Promise<void> => {
    assert.equal((await post('systemsharedmemory/unregister', {})).status, 200);
    for (const [name, { key }] of Object.entries(files)) {
      const body = { key: `/${key}`, byte_size: BYTES };
      const answer = await post(`systemsharedmemory/region/${name}/register`, body);
      assert.equal(answer.status, 200, await answer.text());
    }
  };

  const place = (region: string) => ({
    shared_memory_region: region,
    shared_memory_byte_size: BYTES,
  });
  const overRest: Ask = async () => {
    const answer = await post(`models/${MODEL}/infer`, {
      inputs: [{ name: 'input', shape: [1, ELEMENTS], datatype: 'FP32', parameters: place('in') }],
      outputs: [{ name: 'output', parameters: place('out') }],
    });
    return { ok: answer.status === 200, text: await answer.text() };
  };
  const entries = (region: string) => [
    { key: 'shared_memory_region', value: { string_param: region } },
    { key: 'shared_memory_byte_size', value: { int64_param: BYTES } },
  ];
  const overGrpc: Ask = async () => {
    const message = encode(types, 'inference.ModelInferRequest', {
      model_name: MODEL,
      inputs: [
        { name: 'input', datatype: 'FP32', shape: [1, ELEMENTS], parameters: entries('in') },
      ],
      outputs: [{ name: 'output', parameters: entries('out') }],
    });
    const { code, details } = await client.unary(`${SERVICE}/ModelInfer`, message);
    return { ok: code === 0, text: details };
  };

  for (const [name, ask] of [
    ['REST', overRest],
    ['gRPC', overGrpc],
  ] as const) {
    it(`are errors of the requests that use them, over ${name}`, async () => {
      files.in.fill(1);
      await registerAnew();
      assert.deepEqual((await ask()).ok, true);
      assert.equal(files.out.first(), 1);
      for (const file of [files.in, files.out]) {
        file.resize(PAGE);
        const cut = await ask();
        assert.match(cut.text, /has shrunk: expected an object of 1048576 bytes or more, got 4096/);
        file.resize(BYTES);
        await registerAnew();
      }
      files.in.fill(2);
      assert.deepEqual((await ask()).ok, true);
      assert.equal(files.out.first(), 2);
    });

    it(`may shrink at any time, over ${name}`, async () => {
      await registerAnew();
      const seen = { served: 0, lost: 0 };
      const limit = Date.now() + DEADLINE_MS;
      while ((seen.served < ENOUGH || seen.lost < ENOUGH) && Date.now() < limit) {
        files.in.resize(BYTES);
        files.out.resize(BYTES);
        const asked = Array.from({ length: 8 }, () => ask());
        const first = await Promise.race(asked);
        const cut = seen.lost % 2 === 0 ? files.in : files.out;
        cut.resize(0);
        const outcomes = [first, ...(await Promise.all([...asked, ask()]))];
        for (const { ok, text } of outcomes) {
          if (ok) seen.served += 1;
          else seen.lost += 1;
          assert.ok(ok || LOST.test(text), text);
        }
        cut.resize(BYTES);
        await registerAnew();
      }
      assert.ok(seen.served >= ENOUGH && seen.lost >= ENOUGH, JSON.stringify(seen));
      assert.ok(server.running, server.stderr);
      files.in.fill(3);
      assert.equal((await ask()).ok, true);
      assert.equal(files.out.first(), 3);
    });
  }
});
