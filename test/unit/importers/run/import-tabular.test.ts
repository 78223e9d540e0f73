// The import of tabular models around the importers: which one is called, what is written, what is
// cached.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import {
  importTabular,
  type TabularImporters,
} from '../../../../ts/importers/run/import-tabular.js';
import { isTabularImport, type TabularRequest } from '../../../../ts/importers/run/importer.js';
import {
  beginEntry,
  cacheKey,
  finishEntry,
  quicklyCached,
  readCached,
} from '../../../../ts/importers/run/model-cache.js';
import { importingEngine } from '../../../../ts/importers/run/importing-engine.js';
import type { LoadedModel, ModelSpec } from '../../../../ts/model/engine-api.js';
import { encodePlan } from '../../../../ts/importers/plan/builder.js';
import { PLAN_VERSION } from '../../../../ts/base/generated/plan-version.js';
import type { ImportedTabular } from '../../../../ts/importers/plan/imported.js';
import { FakeEngine, loadedModel, quietLogger } from '../../models/registry/fakes.js';
import { archiveIn, tarGzOf, zipOf } from '../plan/archive/archives.js';
import { fieldsPlan } from '../plan/plans.js';
import { filledFolder, tempFolder } from '../../temp-folder.js';

/** Importers that record their calls. */
function importers(asked: string[]): TabularImporters {
  const one = (format: string) => () =>
    Promise.resolve((path: string) => {
      asked.push(`${format} ${path}`);
      return Promise.resolve({ plan: fieldsPlan(), warnings: ['a guess'] });
    });
  return {
    spark: one('spark'),
    mleap: one('mleap'),
    pmml: one('pmml'),
    xgboost: one('xgboost'),
    lightgbm: one('lightgbm'),
    catboost: one('catboost'),
    ydf: one('ydf'),
    sklearn: one('sklearn'),
  };
}

const request = (path: string, more: Partial<TabularRequest> = {}): TabularRequest => ({
  format: 'pmml',
  path,
  schema: '',
  timezone: '',
  ansi: '',
  cacheFolder: '',
  ...more,
});

test('writes the plan to its file, and describes it', async (t) => {
  const work = tempFolder(t);
  const asked: string[] = [];
  const table = await importTabular(request('/m/iris.pmml'), work, importers(asked));
  assert.deepEqual(asked, ['pmml /m/iris.pmml']);
  assert.equal(table.plan, join(work, 'plan.bin'));
  assert.deepEqual(
    new Uint8Array(readFileSync(table.plan)),
    new Uint8Array(encodePlan(fieldsPlan())),
  );
  assert.equal(table.planBytes, readFileSync(table.plan).byteLength);
  assert.deepEqual(
    [table.format, table.producer, table.warnings],
    ['pmml', 'Tester 1', ['a guess']],
  );
  assert.deepEqual(
    table.fields.map(({ name, type, optional }) => `${name} ${type}${optional ? '?' : ''}`),
    [
      'age double',
      'when date',
      'free any (double)',
      'numbers any (vector)',
      'features vector[4]',
      'words list of string',
      'label string?',
    ],
  );
  assert.deepEqual(
    table.outputs.map(({ name, optional }) => [name, optional]),
    [
      ['age', false],
      ['features', true],
    ],
  );
  assert.deepEqual(table.fields.at(-1)?.about, 'the target');
});

test('chooses the importer by the contents of an archive', async (t) => {
  const folder = tempFolder(t);
  const spark = [
    { name: 'm/metadata/part-00000', content: '{}' },
    { name: 'm/stages/x', content: '' },
  ];
  const mleap = [
    { name: 'bundle.json', content: '{}' },
    { name: 'root/model.json', content: '{}' },
  ];
  const ydf = ['data_spec.pb', 'header.pb'].map((name) => ({ name: `m/x_${name}`, content: '' }));
  const asked: string[] = [];
  for (const bytes of [zipOf(spark), await tarGzOf(spark), zipOf(mleap), zipOf(ydf)]) {
    const path = archiveIn(folder, `${asked.length}`, bytes);
    await importTabular(request(path, { format: 'archive' }), folder, importers(asked));
  }
  assert.deepEqual(
    asked,
    ['spark', 'spark', 'mleap', 'ydf'].map((format, i) => `${format} ${folder}/${i}`),
  );
  const other = archiveIn(folder, 'other', zipOf([{ name: 'readme.md', content: 'x' }]));
  await assert.rejects(
    importTabular(request(other, { format: 'archive' }), folder, importers(asked)),
    /other: expected a model that Spark has saved .* a YDF model .* got 1 files: readme\.md/,
  );
});

test('the schema is applied, and its faults fail the import', async (t) => {
  const folder = filledFolder(t, {
    'good.json': JSON.stringify({
      outputs: [{ name: 'features', datatype: 'VECTOR', shape: [-1, 4] }],
    }),
    'bad.json': JSON.stringify({ outputs: [{ name: 'none', datatype: 'FP64', shape: [-1] }] }),
  });
  const work = tempFolder(t);
  const good = request('/m', { schema: join(folder, 'good.json') });
  const table = await importTabular(good, work, importers([]));
  assert.deepEqual(
    table.outputs.map(({ name, optional }) => [name, optional]),
    [
      ['features', false],
      ['age', true],
    ],
  );
  const bad = request('/m', { schema: join(folder, 'bad.json') });
  await assert.rejects(importTabular(bad, work, importers([])), /the model has no output "none"/);
});

test('a time zone and the ANSI mode are for Spark models', async (t) => {
  const asked: string[] = [];
  const all: TabularImporters = {
    ...importers([]),
    spark: () =>
      Promise.resolve((_, settings) => {
        asked.push(`${settings.timezone} ${settings.ansi}`);
        return Promise.resolve({ plan: fieldsPlan(), warnings: [] });
      }),
  };
  const berlin = { timezone: 'Europe/Berlin', ansi: 'true' };
  const work = tempFolder(t);
  const spark = await importTabular(request('/m', { format: 'spark', ...berlin }), work, all);
  assert.deepEqual([asked, spark.warnings], [['Europe/Berlin true'], []]);
  const { warnings } = await importTabular(request('/m', berlin), work, all);
  assert.deepEqual(warnings.slice(1), [
    "timezone 'Europe/Berlin': it has no effect on pmml models",
    "spark.ansi 'true': it has no effect on pmml models",
  ]);
});

test('kept plans: the key is that of model and schema, a damaged one is none', async (t) => {
  const folder = filledFolder(t, { 'm.pmml': 'x', 'schema.json': '{}' });
  const cacheFolder = join(folder, 'cache');
  const asked = request(join(folder, 'm.pmml'), {
    schema: join(folder, 'schema.json'),
    cacheFolder,
  });
  const key = cacheKey(asked, '1');
  assert.notEqual(cacheKey({ ...asked, schema: '' }, '1'), key);
  assert.notEqual(cacheKey({ ...asked, format: 'archive' }, '1'), key);
  assert.notEqual(cacheKey({ ...asked, timezone: 'Asia/Tokyo' }, '1'), key);
  assert.notEqual(cacheKey({ ...asked, ansi: 'false' }, '1'), key);
  const building = beginEntry(cacheFolder);
  const made = await importTabular({ ...asked, schema: '' }, building, importers([]));
  const kept = finishEntry(cacheFolder, key, building, made);
  assert.equal(kept.plan, join(cacheFolder, key, 'plan.bin'));
  assert.ok(existsSync(kept.plan));
  assert.deepEqual(quicklyCached(asked, '1'), kept);
  writeFileSync(join(folder, 'schema.json'), '{"inputs":[]}');
  assert.equal(quicklyCached(asked, '1'), undefined, 'another schema');
  truncateSync(kept.plan, 10);
  assert.equal(readCached(cacheFolder, key), undefined);
  rmSync(kept.plan);
  assert.equal(readCached(cacheFolder, key), undefined);
});

test('imports a model again when the kept plan has another version', async (t) => {
  const folder = filledFolder(t, { 'm.pmml': 'x' });
  const cacheFolder = join(folder, 'cache');
  const asked = request(join(folder, 'm.pmml'), { cacheFolder });
  const old = cacheKey(asked, '1', Infinity, PLAN_VERSION - 1);
  const building = beginEntry(cacheFolder);
  finishEntry(cacheFolder, old, building, await importTabular(asked, building, importers([])));
  assert.ok(existsSync(join(cacheFolder, old, 'plan.bin')));
  assert.equal(quicklyCached(asked, '1'), undefined);
  const now = beginEntry(cacheFolder);
  const key = cacheKey(asked, '1');
  finishEntry(cacheFolder, key, now, await importTabular(asked, now, importers([])));
  assert.equal(
    quicklyCached<ImportedTabular>(asked, '1')?.plan,
    join(cacheFolder, key, 'plan.bin'),
  );
});

test('a load: the engine gets the plan, readers what was found', async (t) => {
  const work = tempFolder(t);
  class OneLoad extends FakeEngine {
    spec: ModelSpec | undefined;
    override load(spec: ModelSpec): Promise<LoadedModel> {
      this.spec = spec;
      assert.ok(existsSync(spec.path ?? ''), 'the plan is there while it is loaded');
      return Promise.resolve(loadedModel(7));
    }
  }
  const engine = new OneLoad();
  const requests: unknown[] = [];
  const lines: string[] = [];
  const control = importingEngine(engine, {
    cacheFolder: '',
    logger: quietLogger(lines),
    importModel: async (asked) => {
      requests.push(asked);
      assert.ok(asked.format !== 'tensorflow');
      const model: ImportedTabular = await importTabular(asked, work, importers([]));
      assert.ok(isTabularImport(model));
      return { model, temporaryFolder: work, fromCache: false };
    },
  });
  const path = archiveIn(tempFolder(t), 'm.zip', zipOf([{ name: 'metadata/x', content: '' }]));
  const spec: ModelSpec = {
    name: 'm',
    version: '1',
    backend: 'tabular',
    path,
    importer: {
      format: 'archive',
      schema: '',
      timezone: 'Asia/Tokyo',
      ansi: '',
      verification: 'fail',
    },
  };
  const loaded = await control.load(spec);
  assert.deepEqual(requests, [
    { format: 'archive', path, schema: '', timezone: 'Asia/Tokyo', ansi: '', cacheFolder: '' },
  ]);
  assert.deepEqual([engine.spec?.backend, engine.spec?.path], ['tabular', join(work, 'plan.bin')]);
  assert.deepEqual(loaded.found, { format: 'spark', platform: 'spark_pipelinemodel' });
  assert.deepEqual(
    [loaded.producer, loaded.table],
    ['Tester 1', { extra: ['features'], open: ['free', 'numbers'], untyped: [], examples: {} }],
  );
  assert.match(lines.join(''), /model imported.*spark.*a guess/s);
  assert.ok(!existsSync(work));
});

test("an import that fails is the load's failure", async (t) => {
  const failing: TabularImporters = {
    ...importers([]),
    pmml: () =>
      Promise.resolve(() => Promise.reject(new ServalError(ErrorCode.ModelInvalid, 'line 3: no'))),
  };
  await assert.rejects(importTabular(request('/m'), tempFolder(t), failing), /line 3: no/);
});
