// Parsing of Triton's restriction flags.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../../ts/access/keys.js';
import { GRPC_HEADER_PREFIX, readRestrictions } from '../../../ts/access/restrictions.js';

const read = (texts: readonly string[], prefix = '') =>
  readRestrictions(texts, prefix, (message) => new Error(message));

test('APIs, header and value; a value may have anything in it', () => {
  assert.deepEqual(read(['model-repository,health:Admin-Key=a=b:c', 'trace:k=v']), [
    { header: 'admin-key', digest: digestOf('a=b:c'), groups: ['control', 'health'] },
    { header: 'k', digest: digestOf('v'), groups: ['tracing'] },
  ]);
  assert.equal(read(['inference:k=v'], GRPC_HEADER_PREFIX)[0]?.header, 'triton-grpc-protocol-k');
});

test('what is wrong is named, without the value', () => {
  const form = /^expected API\[,API\.\.\.\]:HEADER=VALUE$/;
  for (const text of ['', 'health', ':k=v', 'health:k', 'health:=v', 'health:k=', 'health=k:v']) {
    assert.throws(() => read([text]), { message: form }, text);
  }
  assert.throws(
    () => read(['infer:k=secret']),
    (error: Error) => {
      assert.match(error.message, /^expected APIs of health, metadata, .*, got "infer"$/);
      return !error.message.includes('secret');
    },
  );
  assert.throws(() => read(['health:a b=v']), {
    message: 'expected the name of a header, got "a b"',
  });
  assert.throws(() => read(['health:a=v', 'trace,health:b=w']), {
    message: '"health" is restricted twice',
  });
});
