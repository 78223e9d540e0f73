// Loads through an import: the engine's input, and that no temporary folder outlives a load.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import type { ImportAnswer, ImportRequest } from '../../../../ts/importers/run/importer.js';
import type { ImportedTabular } from '../../../../ts/importers/plan/imported.js';
import type { ImportedModel } from '../../../../ts/importers/tensorflow/imported.js';
import { importingEngine } from '../../../../ts/importers/run/importing-engine.js';
import type { EngineControl, LoadedModel, ModelSpec } from '../../../../ts/model/engine-api.js';
import { FakeEngine, loadedModel, quietLogger } from '../../models/registry/fakes.js';
import { tempFolder } from '../../temp-folder.js';

class OneLoad extends FakeEngine {
  spec: ModelSpec | undefined;
  error: Error | undefined;
  /** True if the import's folder existed during the load. */
  sawFolder = false;
  folder = '';

  override load(spec: ModelSpec): Promise<LoadedModel> {
    this.spec = spec;
    this.sawFolder = existsSync(this.folder);
    return this.error === undefined ? Promise.resolve(loadedModel(7)) : Promise.reject(this.error);
  }
}

const MODEL: ImportedModel = {
  format: 'saved-model',
  tags: ['serve'],
  tensorflowVersion: '2.21.0',
  signatureDefs: [],
  weights: [],
  states: [],
  operators: [],
  warnings: ['a guess'],
  blocked: [
    {
      signature: 'bad',
      problems: [{ op: 'Foo', node: 'n', count: 2, reason: 'the operator is not supported' }],
    },
  ],
  graphs: [
    {
      signature: 'serving_default',
      methodName: 'm',
      inputs: [],
      outputs: [],
      weights: [],
      states: [],
      onnx: new Uint8Array([1]),
    },
  ],
};
const SPEC: ModelSpec = {
  name: 'm',
  version: '3',
  backend: 'onnxruntime',
  path: '/models/m/3',
  importer: { format: 'tensorflow', tags: ['t'], inputs: ['i'], outputs: ['o'], signature: 's' },
};

interface Setup {
  readonly engine: OneLoad;
  readonly control: EngineControl;
  readonly requests: ImportRequest[];
  readonly lines: string[];
  readonly folder: string;
}

function setup(t: TestContext, answer: Partial<ImportAnswer> | ServalError = {}): Setup {
  const folder = join(tempFolder(t), 'work');
  mkdirSync(folder);
  writeFileSync(join(folder, 'weights.bin'), 'x');
  const engine = new OneLoad();
  engine.folder = folder;
  const requests: ImportRequest[] = [];
  const lines: string[] = [];
  const control = importingEngine(engine, {
    cacheFolder: '/cache',
    logger: quietLogger(lines),
    importModel: (asked) => {
      requests.push(asked);
      if (answer instanceof ServalError) return Promise.reject(answer);
      return Promise.resolve({
        model: MODEL,
        temporaryFolder: folder,
        fromCache: false,
        ...answer,
      });
    },
  });
  return { engine, control, requests, lines, folder };
}

test('passes other models directly to the engine', async (t) => {
  const { engine, control, requests, folder } = setup(t);
  const { importer: _, ...plain } = SPEC;
  assert.equal((await control.load(plain)).handle, 7);
  assert.deepEqual([engine.spec, requests], [plain, []]);
  assert.ok(existsSync(folder));
});

test('an import: what is asked, what is loaded, what is said', async (t) => {
  const { engine, control, requests, lines, folder } = setup(t);
  const loaded = await control.load(SPEC);
  assert.deepEqual(requests, [
    {
      format: 'tensorflow',
      path: '/models/m/3',
      tags: ['t'],
      inputs: ['i'],
      outputs: ['o'],
      first: 's',
      allowRandom: true,
      signatures: [],
      cacheFolder: '/cache',
    },
  ]);
  assert.equal(engine.spec?.graphs?.length, 1);
  assert.ok(engine.sawFolder, 'its weights are there while they are loaded');
  assert.ok(!existsSync(folder));
  assert.deepEqual(
    [loaded.handle, loaded.producer, loaded.metadata],
    [7, 'tensorflow', { tensorflow_version: '2.21.0' }],
  );
  assert.match(loaded.signatureDefs?.blocked['bad'] ?? '', /Foo 'n' \(2 nodes\)/);
  const log = lines.join('');
  assert.match(log, /model imported/);
  assert.match(log, /a guess/);
  assert.match(log, /signature is not served.*Foo/);
});

test('an import of which nothing is said: of the tag serve, random numbers allowed', async (t) => {
  const { control, requests } = setup(t);
  await control.load({ ...SPEC, importer: { format: 'tensorflow' } });
  const [request] = requests;
  assert.ok(request?.format === 'tensorflow');
  assert.deepEqual([request.tags, request.allowRandom], [['serve'], true]);
  await control.load({ ...SPEC, importer: { format: 'tensorflow', tags: [], allowRandom: false } });
  const other = requests[1];
  assert.ok(other?.format === 'tensorflow');
  assert.deepEqual([other.tags, other.allowRandom], [[], false]);
});

test('the temporary folder goes also when the engine refuses the graphs', async (t) => {
  const { engine, control, folder } = setup(t);
  engine.error = new ServalError(ErrorCode.ModelInvalid, 'no such operator');
  await assert.rejects(control.load(SPEC), /no such operator/);
  assert.ok(engine.sawFolder && !existsSync(folder));
});

test('and when nothing of the model can be served', async (t) => {
  const { engine, control, folder } = setup(t, { model: { ...MODEL, graphs: [] } });
  await assert.rejects(
    control.load(SPEC),
    (error: unknown) =>
      error instanceof ServalError &&
      error.code === ErrorCode.ModelInvalid &&
      /no signature can be served: signature 'bad': Foo/.test(error.message),
  );
  assert.equal(engine.spec, undefined);
  assert.ok(!existsSync(folder));
});

test("an import that fails is the load's failure, with its code", async (t) => {
  const { control, engine } = setup(t, new ServalError(ErrorCode.Unimplemented, 'TensorFlow Lite'));
  await assert.rejects(
    control.load(SPEC),
    (error: unknown) => error instanceof ServalError && error.code === ErrorCode.Unimplemented,
  );
  assert.equal(engine.spec, undefined);
});

test('a kept import has no temporary folder', async (t) => {
  const { control, folder } = setup(t, { temporaryFolder: '', fromCache: true });
  await control.load(SPEC);
  assert.ok(existsSync(folder));
});

const TABLE: ImportedTabular = {
  format: 'pmml',
  producer: 'PMML 4.4',
  plan: '/plan',
  planBytes: 8,
  fields: [],
  outputs: [],
  stages: [],
  timezone: '',
  warnings: [],
  verification: {
    outputs: [{ name: 'y', precision: 1e-6, zeroThreshold: 1e-16 }],
    records: [{ inputs: new Map([['x', '1']]), expected: new Map([['y', '2']]) }],
  },
};

/** An engine whose models refuse every record. */
class Refusing extends OneLoad {
  asked = 0;

  override warmUp(): Promise<Uint8Array> {
    this.asked += 1;
    return Promise.reject(new ServalError(ErrorCode.InvalidArgument, 'no'));
  }

  override unload(handle: number): Promise<void> {
    this.events.push(`unload ${handle}`);
    return Promise.resolve();
  }
}

function verifying(verification: 'fail' | 'warn' | 'off') {
  const engine = new Refusing();
  const lines: string[] = [];
  const control = importingEngine(engine, {
    cacheFolder: '',
    logger: quietLogger(lines),
    importModel: () => Promise.resolve({ model: TABLE, temporaryFolder: '', fromCache: false }),
  });
  const importer = { format: 'pmml', schema: '', timezone: '', ansi: '', verification } as const;
  return { engine, lines, load: () => control.load({ ...SPEC, backend: 'tabular', importer }) };
}

test('a model that does not answer as its file says does not load, and is unloaded', async () => {
  const { engine, load } = verifying('fail');
  await assert.rejects(
    load(),
    (error: unknown) =>
      error instanceof ServalError &&
      error.code === ErrorCode.ModelInvalid &&
      /verification records: record 1: refused: no$/.test(error.message),
  );
  assert.deepEqual(engine.events, ['unload 7']);
});

test('or it loads with a warning, or unasked', async () => {
  const warned = verifying('warn');
  assert.equal((await warned.load()).handle, 7);
  assert.match(warned.lines.join(''), /verification.*record 1: refused: no/);
  const off = verifying('off');
  assert.equal((await off.load()).handle, 7);
  assert.deepEqual([off.engine.asked, off.engine.events], [0, []]);
});
