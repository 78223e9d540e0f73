// TensorFlow Serving's SSLConfig.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSslConfig, readSslConfig } from '../../../../ts/models/config/ssl-config.js';
import { ConfigFileError } from '../../../../ts/protobuf/text-format.js';

const PAIR = 'server_key: "k\\nk"\nserver_cert: "c"\n';

function refused(text: string, message: RegExp): void {
  assert.throws(
    () => parseSslConfig(text, 'ssl.txt'),
    (error) => error instanceof ConfigFileError && message.test(error.message),
  );
}

test('PEM texts, with and without certificates of clients', () => {
  const [certificate, key] = [{ text: 'c' }, { text: 'k\nk' }];
  assert.deepEqual(parseSslConfig(PAIR, 'f'), { certificate, key, clientRequired: false });
  assert.deepEqual(parseSslConfig(`${PAIR}custom_ca: "r"`, 'f'), {
    certificate,
    key,
    roots: { text: 'r' },
    clientRequired: false,
  });
  assert.deepEqual(parseSslConfig(`${PAIR}custom_ca: "r" client_verify: true`, 'f'), {
    certificate,
    key,
    roots: { text: 'r' },
    clientRequired: true,
  });
});

test('reports missing and unknown fields with their place', async () => {
  refused('server_key: "k"', /^ssl\.txt:1:1: server_cert: expected PEM text, got none$/);
  refused('server_cert: "c"', /server_key: expected PEM text, got none$/);
  refused(
    `${PAIR}client_verify: true`,
    /custom_ca: expected PEM text with client_verify, got none/,
  );
  refused('server_keys: "k"', /^ssl\.txt:1:1: .*server_keys/);
  refused('server_key: 1', /^ssl\.txt:1:/);
  await assert.rejects(readSslConfig('/not/there.txt'), /\/not\/there\.txt/);
});
