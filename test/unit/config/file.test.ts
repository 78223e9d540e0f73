// The configuration file's text.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfigText } from '../../../ts/config/file.js';

test('an empty file and a file of comments set nothing', async () => {
  assert.equal((await parseConfigText('', 'c.yaml')).size, 0);
  assert.equal((await parseConfigText('# nothing\n', 'c.yaml')).size, 0);
});
