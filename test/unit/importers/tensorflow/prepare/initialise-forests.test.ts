// Models of TensorFlow Decision Forests during a SavedModel's initialization: which of its assets
// are read, and what is refused.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type {
  AssetDef,
  Initialised,
  LoadedForest,
  NodeDef,
} from '../../../../../ts/importers/tensorflow/types.js';
import { tempFolder } from '../../../temp-folder.js';
import { ydfFiles } from '../../boosters/ydf-files.js';
import { constant, list, node, strings, text, utf8 } from './graphs.js';
import { run } from './init-graphs.js';

const LOAD = 'SimpleMLLoadModelFromPathWithHandle';

/** The files below a folder `assets` of the model, as assets; the first one's tensor is "done". */
function assetsOf(
  t: TestContext,
  files: ReadonlyMap<string, Uint8Array>,
  { prefix = '', inside = '' } = {},
): AssetDef[] {
  const folder = join(tempFolder(t), inside, 'assets');
  mkdirSync(folder, { recursive: true });
  return [['done', Buffer.alloc(0)] as const, ...files].map(([name, bytes], i) => {
    const fileName = `${prefix}${name}`;
    const path = join(folder, fileName);
    writeFileSync(path, bytes);
    return { tensorName: i === 0 ? 'done:0' : `asset${i}:0`, fileName, path };
  });
}

/** The writers' graph: the path of the file "done" without its name is the folder. */
function graphOf(prefix: string, more: readonly NodeDef[] = []): NodeDef[] {
  return [
    constant('done', strings(['of the trainer'], [])),
    node('folder', 'StaticRegexReplace', ['done'], {
      pattern: text(`${prefix}done`),
      rewrite: text(''),
    }),
    node('model', 'SimpleMLCreateModelResource', [], { shared_name: text('m') }),
    node('load', LOAD, ['model', 'folder'], { file_prefix: text(prefix) }),
    ...more,
  ];
}

const loadedFrom = (nodes: readonly NodeDef[], assets: readonly AssetDef[]): Initialised =>
  run(nodes, ['load'], [], { assets }).state;
const modelOf = ({ forests }: Initialised): LoadedForest | undefined => forests.get('model');

describe('models of decision forests', () => {
  test('are read from the assets, by their prefix', (t) => {
    for (const prefix of ['', 'dc6ba1e1_']) {
      const state = loadedFrom(graphOf(prefix), assetsOf(t, ydfFiles(), { prefix }));
      assert.deepEqual(state.warnings, []);
      const { ensemble, isGeneral } = modelOf(state) ?? assert.fail('no model');
      assert.equal(ensemble.grown.roots.length, 2);
      assert.equal(isGeneral, false);
    }
  });

  test('are found in a folder whose name has that of the file', (t) => {
    const assets = assetsOf(t, ydfFiles(), { inside: 'abandoned' });
    assert.ok(modelOf(loadedFrom(graphOf(''), assets)));
  });

  test('with output types are run by the general engine', (t) => {
    const nodes = graphOf('').map((one) =>
      one.op === LOAD
        ? node('load', LOAD, ['model', 'folder'], {
            output_types: list({ bytes: [utf8('LEAVES')] }),
          })
        : one,
    );
    assert.equal(modelOf(loadedFrom(nodes, assetsOf(t, ydfFiles())))?.isGeneral, true);
  });

  test('of other folders, or with another prefix, are not read', (t) => {
    const elsewhere = assetsOf(t, ydfFiles())[0]?.path.replace(/done$/, '') ?? '';
    const nodes = graphOf('').map((one) =>
      one.name === 'folder' ? constant('folder', strings([elsewhere], [])) : one,
    );
    const refused = loadedFrom(nodes, assetsOf(t, ydfFiles()));
    assert.equal(modelOf(refused), undefined);
    assert.match(refused.warnings.join(), /has no assets of the model that begin with ''/);
    const other = loadedFrom(graphOf('x_'), assetsOf(t, ydfFiles()));
    assert.match(other.warnings.join(), /has no assets of the model that begin with 'x_'/);
  });

  test('that are broken are refused with the file', (t) => {
    const files = ydfFiles();
    const shown = (name: string, bytes?: Buffer): string => {
      const broken = new Map(files);
      if (bytes === undefined) broken.delete(name);
      else broken.set(name, bytes);
      const state = loadedFrom(graphOf(''), assetsOf(t, broken));
      assert.equal(modelOf(state), undefined);
      return state.warnings.join();
    };
    const nodes = files.get('nodes-00000-of-00001') ?? Buffer.alloc(0);
    assert.match(shown('data_spec.pb'), /the file data_spec\.pb is missing/);
    assert.match(shown('header.pb', Buffer.from([0xff])), /header\.pb/);
    assert.match(
      shown('nodes-00000-of-00001', nodes.subarray(0, nodes.length - 3)),
      /nodes-00000-of-00001: byte \d+: a blob has/,
    );
    assert.match(shown('nodes-00000-of-00001', nodes.subarray(0, 8)), /expected 2 trees, got 0/);
  });
});

test('only patterns that are plain texts are replaced while loading', (t) => {
  const nodes = graphOf('').map((one) =>
    one.name === 'folder'
      ? node('folder', 'StaticRegexReplace', ['done'], { pattern: text('d.ne'), rewrite: text('') })
      : one,
  );
  const { warnings } = loadedFrom(nodes, assetsOf(t, ydfFiles()));
  assert.match(warnings.join(), /the pattern "d\.ne" is not supported while loading/);
});
