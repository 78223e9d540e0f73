// The configuration file.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseConfigText } from '../../../ts/config/file.js';
import { filledFolder } from '../temp-folder.js';
import { parse, refuses } from './parsing.js';

test('an empty file and a file of comments set nothing', async () => {
  assert.equal((await parseConfigText('', 'c.yaml')).size, 0);
  assert.equal((await parseConfigText('# nothing\n', 'c.yaml')).size, 0);
});

test('the file: every spelling; the command line wins; paths count from the file', async (t) => {
  const text = [
    '# a comment',
    'httpPort: 18000',
    'grpc-port: 18001',
    'model_repository: [repo, /abs]',
    'strict_readiness: false',
    'providers:',
    '  - cuda:device_id=1',
    '  - cpu',
    'host: "::"',
    '',
  ].join('\n');
  const folder = filledFolder(t, { 'etc/serval.yaml': text });
  const config = await parse(`--config=${folder}/etc/serval.yaml`, '--http-port=9', 'here');
  assert.equal(config.httpPort, 9);
  assert.equal(config.grpcPort, 18001);
  assert.equal(config.host, '::');
  assert.equal(config.strictReadiness, false);
  assert.deepEqual(config.sources.modelRepositories, [join(folder, 'etc/repo'), '/abs']);
  assert.deepEqual(config.sources.paths, ['/somewhere/here']);
  assert.deepEqual(
    config.model.providers.map((one) => one.name),
    ['cuda', 'cpu'],
  );
  const fromFile = await parse(`--config=${folder}/etc/serval.yaml`);
  assert.equal(fromFile.httpPort, 18000);
});

test('errors of the file carry line and column', async (t) => {
  const cases: [string, RegExp][] = [
    ['host: a\nhttp-prot: 1\n', /:2:1: unknown key "http-prot"; did you mean "http-port"\?$/],
    ['\n  http-port: 70000\n', /:2:14: http-port: expected a whole number .*got "70000"$/],
    ['http-port: 1\nrest_api_port: 2\n', /:2:1: http-port is given twice$/],
    ['host: a\nhost: b\n', /:2:1: .*unique/],
    ['config: other.yaml\n', /:1:1: unknown key "config"/],
    ['host: [a, b]\n', /:1:7: host: expected one value$/],
    ['host:\n', /:1:\d+: host: expected one value$/],
    ['model-repository: [[a]]\n', /:1:19: model-repository: expected one value$/],
    ['- host\n', /:1:1: expected "name: value" lines$/],
    ['just text\n', /:1:1: expected "name: value" lines$/],
    ['host: "unfinished\n', /:\d+:\d+: /],
    ['host: &a x\nmodel-name: *a\n', /:2:13: model-name: YAML aliases are not used here$/],
    ['{[1]: 2}\n', /:1:2: expected one value$/],
    ['log-level: loud\n', /:1:12: log-level: expected debug or .*got "loud"$/],
  ];
  for (const [text, message] of cases) {
    const folder = filledFolder(t, { 'c.yaml': text });
    await refuses(['m', `--config=${folder}/c.yaml`], message);
  }
});

test('a file above the limit is refused', async (t) => {
  const folder = filledFolder(t, { 'c.yaml': `host: ${'x'.repeat(1_048_576)}\n` });
  await refuses(['m', `--config=${folder}/c.yaml`], /expected at most 1048576 bytes/);
});
