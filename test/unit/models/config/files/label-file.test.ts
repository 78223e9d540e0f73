// Label files: one label per line, never outside the model's folder.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LABEL_BYTES_MAX, readLabels } from '../../../../../ts/models/config/files/label-file.js';
import type { TritonConfig } from '../../../../../ts/models/config/types.js';
import { filledFolder } from '../../../temp-folder.js';

function config(...files: readonly string[]): TritonConfig {
  return { output: files.map((file, i) => ({ name: `y${i}`, label_filename: file })) };
}

test('labels of each output, by line', async (t) => {
  const folder = filledFolder(t, {
    'm/a.txt': 'cat\ndog\n\nbird',
    'm/sub/b.txt': '\uFEFFé\r\n1\r\n',
    'm/empty.txt': '',
  });
  const found = await readLabels(
    join(folder, 'm'),
    config('a.txt', 'sub/b.txt', '', 'empty.txt', './a.txt'),
  );
  assert.deepEqual(found.problems, []);
  assert.deepEqual(
    [...found.labels],
    [
      ['y0', ['cat', 'dog', '', 'bird']],
      ['y1', ['é', '1']],
      ['y3', []],
      ['y4', ['cat', 'dog', '', 'bird']],
    ],
  );
  assert.deepEqual(await readLabels(folder, {}), { labels: new Map(), problems: [] });
});

test('a link inside the folder is followed', async (t) => {
  const folder = filledFolder(t, { 'm/a.txt': 'cat', 'real/a.txt': 'dog' });
  symlinkSync('a.txt', join(folder, 'm/link.txt'));
  symlinkSync(join(folder, 'm'), join(folder, 'linked'));
  assert.deepEqual((await readLabels(join(folder, 'm'), config('link.txt'))).labels.get('y0'), [
    'cat',
  ]);
  assert.deepEqual((await readLabels(join(folder, 'linked'), config('a.txt'))).labels.get('y0'), [
    'cat',
  ]);
});

test("no path leaves the model's folder", async (t) => {
  const folder = filledFolder(t, { 'm/a.txt': 'cat', 'm2/b.txt': 'secret', 'c.txt': 'secret' });
  symlinkSync('../c.txt', join(folder, 'm/out.txt'));
  symlinkSync('../m2', join(folder, 'm/dir'));
  const model = join(folder, 'm');
  for (const file of [
    '../c.txt',
    '../m/a.txt',
    join(folder, 'm/a.txt'),
    'out.txt',
    'dir/b.txt',
    'x/../../c.txt',
    '..\\c.txt',
    'a.txt\0',
  ]) {
    const { labels, problems } = await readLabels(model, config(file));
    assert.equal(labels.size, 0, file);
    assert.deepEqual(problems, [
      {
        place: join(model, file),
        message: `label_filename: expected a file in the model's folder, got ${JSON.stringify(file)}`,
      },
    ]);
  }
});

test('limits an unreadable file to a problem of its output', async (t) => {
  const folder = filledFolder(t, { 'a.txt': 'cat', 'bad.txt': Uint8Array.of(0xff), 'big.txt': '' });
  truncateSync(join(folder, 'big.txt'), LABEL_BYTES_MAX + 1);
  mkdirSync(join(folder, 'dir'));
  const { labels, problems } = await readLabels(
    folder,
    config('gone.txt', 'bad.txt', 'a.txt', 'dir', 'big.txt'),
  );
  assert.deepEqual([...labels], [['y2', ['cat']]]);
  const [gone, ...rest] = problems.map(({ message }) => message);
  assert.match(gone ?? '', /^label_filename: cannot read the file: ENOENT/);
  assert.deepEqual(rest, [
    'label_filename: expected UTF-8 text, got other bytes',
    'label_filename: expected a file',
    `label_filename: expected at most ${LABEL_BYTES_MAX} bytes, got ${LABEL_BYTES_MAX + 1}`,
  ]);
});
