// `serval key`: the line on stdout, the key on stderr, and that they match.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { digestOf } from '../../../../ts/access/keys.js';
import { keyCommand } from '../../../../ts/cli/key/key-command.js';
import { UsageError } from '../../../../ts/cli/usage.js';

function captured(context: TestContext): { out: string; err: string } {
  const texts = { out: '', err: '' };
  context.mock.method(process.stdout, 'write', (text: string) => (texts.out += text) !== '');
  context.mock.method(process.stderr, 'write', (text: string) => (texts.err += text) !== '');
  return texts;
}

test('prints a line for the file and the key once', async (context) => {
  const texts = captured(context);
  assert.equal(await keyCommand(['ci', 'inference', 'health']), 0);
  context.mock.restoreAll();
  const key = /not stored: (\S{43})\n$/.exec(texts.err)?.[1] ?? '';
  assert.equal(texts.out, `ci sha256:${digestOf(key)} inference,health\n`);
});

test('a wrong command line is a usage error', async () => {
  for (const args of [[], ['ci'], ['--x', 'all'], ['a b', 'all'], ['ci', 'everything']]) {
    await assert.rejects(keyCommand(args), UsageError);
  }
});
