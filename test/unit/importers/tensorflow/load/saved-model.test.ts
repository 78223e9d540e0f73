// SavedModels: tags, assets, init ops, checkpoints; built by hand.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { loadGraph } from '../../../../../ts/importers/tensorflow/load/index.js';
import {
  loadSavedModel,
  savedModelTags,
} from '../../../../../ts/importers/tensorflow/load/saved-model.js';
import { filledFolder, tempFolder } from '../../../temp-folder.js';
import { any, anyList, entry, graph, info, invalid, nodeList, savedModel } from '../messages.js';
import type { MetaGraphText } from '../messages.js';

const GRAPH = graph([
  { name: 'init', op: 'NoOp' },
  { name: 'main', op: 'NoOp' },
  { name: 'old', op: 'NoOp' },
]);

/** The version's folder "m/1" of a model with these meta graphs. */
function folderOf(t: TestContext, ...metaGraphs: readonly MetaGraphText[]): string {
  return join(filledFolder(t, { 'm/1/saved_model.pb': savedModel(metaGraphs) }), 'm', '1');
}

test('the tags must be the same set', (t) => {
  const folder = folderOf(t, { tags: ['serve'] }, { tags: ['gpu', 'serve'] }, {});
  assert.deepEqual(loadSavedModel(folder).tags, ['serve']);
  assert.deepEqual(loadSavedModel(folder, ['serve', 'gpu', 'gpu']).tags, ['gpu', 'serve']);
  assert.deepEqual(loadGraph(folder, { tags: [] }).tags, []);
  assert.deepEqual(savedModelTags(folder), [['serve'], ['gpu', 'serve'], []]);
  for (const tags of [['gpu'], ['serve', 'tpu'], ['Serve']]) {
    assert.match(
      invalid(() => loadGraph(folder, { tags })),
      /exactly the tags .*, got {serve} {gpu, serve} {}$/,
    );
  }
  assert.match(
    invalid(() => loadGraph(folderOf(t))),
    /got none$/,
  );
});

test('the init op: its signature, then the main op, then the old one', (t) => {
  const init = {
    __saved_model_init_op: (writer: Parameters<typeof GRAPH>[0]): void => {
      writer.message(2, entry('__saved_model_init_op', info('init', 0)));
    },
  };
  const main = { saved_model_main_op: nodeList(['main']) };
  const old = { legacy_init_op: nodeList(['old']) };
  const initOp = (text: MetaGraphText): string | undefined =>
    loadGraph(folderOf(t, { tags: ['serve'], graph: GRAPH, ...text })).initOp;
  assert.equal(initOp({ signatures: init, collections: { ...main, ...old } }), 'init');
  assert.equal(initOp({ collections: { ...old, ...main } }), 'main');
  assert.equal(initOp({ collections: old }), 'old');
  assert.equal(initOp({}), undefined);
  assert.match(
    invalid(() =>
      initOp({
        collections: {
          saved_model_main_op: nodeList(['main', 'old']),
        },
      }),
    ),
    /expected the name of one op, got 2/,
  );
  assert.match(
    invalid(() => initOp({ collections: { legacy_init_op: nodeList(['gone']) } })),
    /init op "gone": expected a node of the graph/,
  );
  assert.match(
    invalid(() => initOp({ signatures: { __saved_model_init_op: () => undefined } })),
    /expected one output with a name, got 0/,
  );
});

test('variables are there when their index is', (t) => {
  const folder = folderOf(t, { tags: ['serve'], saver: { filename: 'f:0', restore: 'r' } });
  assert.equal(loadGraph(folder).checkpoint, undefined);
  mkdirSync(join(folder, 'variables'));
  writeFileSync(join(folder, 'variables', 'variables.index'), '');
  const found = loadGraph(folder);
  assert.deepEqual(found.checkpoint, {
    version: 2,
    prefix: join(folder, 'variables', 'variables'),
  });
  assert.deepEqual(found.saver, { filenameTensor: 'f:0', restoreOp: 'r' });
});

test('assets: of the meta graph, else of the old collection; missing files are no error', (t) => {
  const collection = anyList([
    any('tensorflow.AssetFileDef', (writer) =>
      writer.message(1, info('b:0', 7)).string(2, 'b.txt'),
    ),
  ]);
  const folder = folderOf(
    t,
    {
      tags: ['serve'],
      assets: [['a:0', 'a.txt']],
      collections: { saved_model_assets: collection },
    },
    { tags: ['old'], collections: { saved_model_assets: collection } },
  );
  assert.deepEqual(loadGraph(folder).assets, [
    { tensorName: 'a:0', fileName: 'a.txt', path: join(folder, 'assets', 'a.txt') },
  ]);
  assert.deepEqual(
    loadGraph(folder, { tags: ['old'] }).assets.map(({ tensorName }) => tensorName),
    ['b:0'],
  );
});

test('assets may not lie outside', (t) => {
  for (const name of [
    '../secret',
    '/etc/passwd',
    '..',
    '.',
    '',
    'a/b',
    'a\\b',
    'a\0b',
    'a'.repeat(1025),
  ]) {
    const folder = folderOf(t, { tags: ['serve'], assets: [['a:0', name]] });
    assert.match(
      invalid(() => loadGraph(folder)),
      /expected the name of a file below assets\//,
    );
  }
});

test('checkpoint links may end in the model, nowhere else', (t) => {
  const folder = folderOf(t, { tags: ['serve'] });
  const outside = folderOf(t, { tags: ['serve'] });
  mkdirSync(join(folder, 'variables'));
  writeFileSync(join(folder, 'variables', 'variables.index'), '');
  writeFileSync(join(folder, 'kept'), '');
  writeFileSync(join(outside, 'secret'), '');
  const data = join(folder, 'variables', 'variables.data-00000-of-00001');
  symlinkSync(join(folder, 'kept'), data);
  assert.equal(loadGraph(folder).checkpoint?.version, 2);
  symlinkSync(join(outside, 'secret'), data.replace('00000-of', '00001-of'));
  assert.match(
    invalid(() => loadGraph(folder)),
    /checkpoint file .*got a link to .*secret/,
  );
});

test('asset links may end in the version or in the model, nowhere else', (t) => {
  const folder = folderOf(t, { tags: ['serve'], assets: [['a:0', 'link']] });
  const outside = join(tempFolder(t), 'secret');
  writeFileSync(outside, 'x');
  mkdirSync(join(folder, 'assets'));
  const link = join(folder, 'assets', 'link');
  symlinkSync(outside, link);
  assert.match(
    invalid(() => loadGraph(folder)),
    /asset "link": .*got a link to .*secret/,
  );

  const inside = folderOf(t, {
    tags: ['serve'],
    assets: [
      ['a:0', 'one'],
      ['b:0', 'two'],
    ],
  });
  writeFileSync(join(inside, 'kept.txt'), 'x');
  writeFileSync(join(inside, '..', 'shared.txt'), 'x');
  mkdirSync(join(inside, 'assets'));
  symlinkSync('../kept.txt', join(inside, 'assets', 'one'));
  symlinkSync('../../shared.txt', join(inside, 'assets', 'two'));
  assert.equal(loadGraph(inside).assets.length, 2);

  const whole = folderOf(t, { tags: ['serve'], assets: [['a:0', 'secret']] });
  symlinkSync(join(outside, '..'), join(whole, 'assets'));
  assert.match(
    invalid(() => loadGraph(whole)),
    /got a link to/,
  );
});

test('the text form, and binary before text', (t) => {
  const text = 'meta_graphs { meta_info_def { tags: "serve" tensorflow_version: "text" } }';
  const only = filledFolder(t, { 'saved_model.pbtxt': text });
  assert.equal(loadGraph(only).tensorflowVersion, 'text');
  const both = filledFolder(t, {
    'saved_model.pbtxt': text,
    'saved_model.pb': savedModel([{ tags: ['serve'] }]),
  });
  assert.equal(loadGraph(both).tensorflowVersion, '2.0.0');
  assert.equal(loadGraph(join(both, 'saved_model.pbtxt')).tensorflowVersion, 'text');
});

test('errors begin with the file', (t) => {
  const folder = filledFolder(t, { 'saved_model.pb': Uint8Array.of(0x12, 0x05, 0x0a) });
  const file = join(folder, 'saved_model.pb');
  assert.ok(invalid(() => loadGraph(folder)).startsWith(`${file}: SavedModel`));
  assert.match(
    invalid(() => loadSavedModel(tempFolder(t))),
    /expected saved_model.pb/,
  );
});
