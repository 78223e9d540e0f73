// The key file's lines, their errors, and new keys.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALL_GROUPS } from '../../../ts/access/groups.js';
import { digestOf, makeKey, parseKeys, readGroups, readKeyFile } from '../../../ts/access/keys.js';
import { ACCESS_KEYS_MAX, CONFIG_FILE_BYTES_MAX } from '../../../ts/base/limits.js';
import { filledFolder } from '../temp-folder.js';

const HEX = digestOf('secret');
const OTHER = digestOf('other');

function refuses(text: string, message: RegExp): void {
  assert.throws(() => parseKeys(text, 'keys.txt'), message);
}

test('a line is a name, a digest and groups', () => {
  const text = `# who may what\n\nci sha256:${HEX} inference\n  ops\tsha256:${OTHER.toUpperCase()} control, logging # both\r\n`;
  assert.deepEqual(parseKeys(text, 'keys.txt'), [
    { name: 'ci', digest: HEX, groups: ['inference'] },
    { name: 'ops', digest: OTHER, groups: ['control', 'logging'] },
  ]);
});

test('metadata has what describes models, all has all; a group counts once', () => {
  const groups = ['metadata', 'model-config', 'statistics'];
  assert.deepEqual(readGroups('metadata,statistics,', 'x'), groups);
  assert.deepEqual(readGroups('all', 'x'), CALL_GROUPS);
});

test('errors name file, line and what was expected, and never a digest', () => {
  refuses(`\nci ${HEX} inference`, /keys\.txt:2: expected "NAME sha256:HEX/);
  refuses('ci sha256:12 inference', /got no sha256: with 64 digits after the name$/);
  refuses(`ci sha256:${HEX}`, /keys\.txt:1: .*got no group$/);
  refuses(`ci sha256:${HEX} inference,everything`, /got "everything"$/);
  refuses(`ci sha256:${HEX} constructor`, /got "constructor"$/);
  refuses(`c/i sha256:${HEX} all`, /got the name "c\/i"$/);
  refuses(`a sha256:${HEX} all\na sha256:${OTHER} all`, /keys\.txt:2: key a is there twice$/);
  refuses(
    `a sha256:${HEX} all\nb sha256:${HEX} all`,
    /:2: key b is the same key as another line's$/,
  );
  const lines = Array.from(
    { length: ACCESS_KEYS_MAX + 1 },
    (_, i) => `k${i} sha256:${digestOf(`${i}`)} all`,
  );
  refuses(lines.join('\n'), /expected at most 1000 keys, got 1001$/);
});

test('a file that is not there, or is too large, is named', (context) => {
  const folder = filledFolder(context, { 'large.txt': '#'.repeat(CONFIG_FILE_BYTES_MAX + 1) });
  assert.throws(
    () => readKeyFile(`${folder}/none.txt`),
    /none\.txt: cannot read the key file: ENOENT/,
  );
  assert.throws(() => readKeyFile(`${folder}/large.txt`), /expected at most 1048576 bytes of keys/);
});

test('a new key is random, and its line has its digest', () => {
  const [one, two] = [makeKey('ci', 'inference, health'), makeKey('ci', 'all')];
  assert.match(one.key, /^[A-Za-z0-9_-]{43}$/);
  assert.notEqual(one.key, two.key);
  assert.equal(one.line, `ci sha256:${digestOf(one.key)} inference,health`);
  assert.deepEqual(parseKeys(one.line, 'x')[0]?.groups, ['inference', 'health']);
  assert.throws(() => makeKey('a b', 'all'), /NAME: expected letters/);
  assert.throws(() => makeKey('a', ','), /GROUPS: expected groups of/);
});
