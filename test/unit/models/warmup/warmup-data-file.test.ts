// Data files of model_warmup: read from <model folder>/warmup and from nowhere else.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readWarmupDataFile } from '../../../../ts/models/warmup/warmup-data-file.js';
import { filledFolder, tempFolder } from '../../temp-folder.js';
import { errorOf, hexOf } from './support.js';

const FILES = {
  'model/warmup/a': 'abcdef',
  'model/warmup/sub/b': 'xyz',
  'model/warmup/empty': '',
  'model/secret': 'no',
  'model/warmup-2/c': 'no',
  'outside/d': 'no',
};

describe('warmup data file', () => {
  it('is read whole, or as many bytes as are wanted', async (context) => {
    const model = join(filledFolder(context, FILES), 'model');
    const text = async (file: string, bytes?: number): Promise<string> =>
      Buffer.from(await readWarmupDataFile(model, file, bytes)).toString();
    assert.equal(await text('a'), 'abcdef');
    assert.equal(await text('a', 6), 'abcdef');
    assert.equal(await text('a', 2), 'ab');
    assert.equal(await text('a', 0), '');
    assert.equal(await text('sub/b'), 'xyz');
    assert.equal(await text('./sub//b'), 'xyz');
    assert.equal(await text('empty'), '');
  });

  it('may be a link inside the folder, and the model folder may be one', async (context) => {
    const root = filledFolder(context, FILES);
    symlinkSync('sub/b', join(root, 'model/warmup/link'));
    symlinkSync('model', join(root, 'alias'));
    const bytes = await readWarmupDataFile(join(root, 'alias'), 'link', undefined);
    assert.equal(hexOf(bytes), '78797a');
  });

  it('is never outside the folder', async (context) => {
    const root = filledFolder(context, FILES);
    const model = join(root, 'model');
    for (const file of [
      '',
      '..',
      '../secret',
      'sub/../a',
      '../warmup-2/c',
      '../../outside/d',
      join(root, 'outside/d'),
      '/etc/passwd',
      'a\0b',
    ]) {
      assert.equal(
        await errorOf(() => readWarmupDataFile(model, file, undefined)),
        `INVALID_ARGUMENT: input_data_file ${JSON.stringify(file)}: expected a path below the ` +
          "model's warmup folder",
        file,
      );
    }
  });

  it('is not reached through a link that leads out', async (context) => {
    const root = filledFolder(context, FILES);
    const model = join(root, 'model');
    symlinkSync('../secret', join(model, 'warmup/file'));
    symlinkSync('../warmup-2', join(model, 'warmup/folder'));
    symlinkSync('../../outside', join(model, 'warmup/far'));
    for (const file of ['file', 'folder/c', 'far/d']) {
      const error = await errorOf(() => readWarmupDataFile(model, file, undefined));
      assert.match(error, /^INVALID_ARGUMENT: input_data_file "[a-z/]+": leads outside of /);
    }
    mkdirSync(join(root, 'second'));
    symlinkSync('../outside', join(root, 'second/warmup'));
    assert.match(
      await errorOf(() => readWarmupDataFile(join(root, 'second'), 'd', undefined)),
      /^INVALID_ARGUMENT: input_data_file "d": leads outside of /,
    );
  });

  it('says why it cannot be read', async (context) => {
    const root = filledFolder(context, FILES);
    const model = join(root, 'model');
    execFileSync('mkfifo', [join(model, 'warmup/pipe')]);
    symlinkSync('loop', join(model, 'warmup/loop'));
    const error = (file: string, bytes?: number): Promise<string> =>
      errorOf(() => readWarmupDataFile(model, file, bytes));
    assert.match(await error('none'), /^MODEL_INVALID: .*warmup\/none: cannot be read: ENOENT/);
    assert.match(await error('a/b'), /^MODEL_INVALID: .*: cannot be read: ENOTDIR/);
    assert.match(await error('loop'), /^MODEL_INVALID: .*: cannot be read: ELOOP/);
    assert.match(await error('sub'), /^MODEL_INVALID: .*warmup\/sub: expected a regular file$/);
    assert.match(await error('.'), /^INVALID_ARGUMENT: .*leads outside of/);
    assert.match(await error('pipe'), /^MODEL_INVALID: .*pipe: expected a regular file$/);
    assert.match(await error('a', 7), /^INVALID_ARGUMENT: .*\/a: expected 7 bytes, got 6$/);
    assert.match(await error('empty', 1), /^INVALID_ARGUMENT: .*: expected 1 bytes, got 0$/);
    assert.match(
      await errorOf(() => readWarmupDataFile(tempFolder(context), 'a', 1)),
      /^MODEL_INVALID: .*: cannot be read: ENOENT/,
    );
  });
});
