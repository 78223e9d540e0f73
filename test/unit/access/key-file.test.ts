// The key file while the server runs: it is reloaded when it changes; a broken one changes nothing.
import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { KeyFile } from '../../../ts/access/key-file.js';
import { digestOf, type ApiKey } from '../../../ts/access/keys.js';
import { filledFolder } from '../temp-folder.js';

const line = (name: string): string => `${name} sha256:${digestOf(name)} all\n`;

interface Told {
  readonly names: readonly string[] | undefined;
  readonly problem: string;
}

/** Watches a file; next() resolves to its notifications, one by one. */
function watched(path: string, lookMs: number): { file: KeyFile; next: () => Promise<Told> } {
  const told: Told[] = [];
  let wake = (): void => undefined;
  const changed = (keys: readonly ApiKey[] | undefined, problem: string): void => {
    told.push({ names: keys?.map((key) => key.name), problem });
    wake();
  };
  const file = new KeyFile({ path, changed, lookMs });
  const next = async (): Promise<Told> => {
    while (told.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, 1000);
      });
    }
    return told.shift() as Told;
  };
  return { file, next };
}

test('a change is seen, also by a file that takes its place; a broken one is told', async (context) => {
  const folder = filledFolder(context, { keys: line('one') });
  const path = `${folder}/keys`;
  const { file, next } = watched(path, 5);
  context.after(() => file.close());
  writeFileSync(path, line('two') + line('three'));
  assert.deepEqual(await next(), { names: ['two', 'three'], problem: '' });
  writeFileSync(`${path}.new`, line('four'));
  renameSync(`${path}.new`, path);
  assert.deepEqual((await next()).names, ['four']);
  writeFileSync(path, 'broken');
  const { names, problem } = await next();
  assert.deepEqual([names, /keys:1: expected "NAME/.test(problem)], [undefined, true], problem);
  assert.deepEqual(
    file.keys.map((key) => key.name),
    ['four'],
  );
  rmSync(path);
  assert.match((await next()).problem, /cannot read the key file/);
  writeFileSync(path, line('five'));
  assert.deepEqual((await next()).names, ['five']);
});

test('a file that is emptied takes all keys away; at start it is an error', async (context) => {
  for (const empty of ['', '# nobody any more\n\n']) {
    const folder = filledFolder(context, { keys: line('one') });
    const path = `${folder}/keys`;
    const { file, next } = watched(path, 5);
    context.after(() => file.close());
    writeFileSync(path, empty);
    assert.deepEqual(await next(), { names: [], problem: '' });
    assert.deepEqual(file.keys, []);
    writeFileSync(path, line('two'));
    assert.deepEqual((await next()).names, ['two']);
    writeFileSync(path, empty);
    file.reload();
    assert.deepEqual((await next()).names, [], 'at once when it is asked for');
    const options = { path, changed: () => undefined };
    assert.throws(() => new KeyFile(options), /expected a key at least, got none/);
  }
});

test('it is read anew when that is asked for; a bad one is an error at start', async (context) => {
  const folder = filledFolder(context, { keys: line('one'), bad: 'x' });
  const { file, next } = watched(`${folder}/keys`, 3_600_000);
  context.after(() => file.close());
  file.reload();
  assert.deepEqual((await next()).names, ['one']);
  assert.throws(() => watched(`${folder}/bad`, 5), /bad:1: expected/);
});
