// Names of models, signatures, inputs and files with invisible characters, or with characters that
// reverse the rest of a line: every text for people shows them as escapes.
import assert from 'node:assert/strict';
import { readFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { plusModel, v2Body } from '../support/operating.js';
import { until } from '../support/polling.js';
import { exchange } from '../support/raw-http.js';
import { runServal, ServalProcess } from '../support/serval-process.js';

/** ESC, DEL, C1's CSI, a line separator, right-to-left override, a zero-width space, a tag. */
const ODD = 'a\x1b[2J\x7f\x9b\u2028\u202e\u200b\u{e0041}b';
const SHOWN = 'a\\u001b[2J\\u007f\\u009b\\u2028\\u202e\\u200b\\u{e0041}b';
const HIDDEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const folders = new ModelFolders();
const repository = join(folders.folder, 'odd');
const log = join(folders.folder, 'access.log');
let server: ServalProcess;

/** Checks that no line hides anything. */
function isPlain(text: string, what: string): void {
  const found = HIDDEN.exec(text);
  const at = found === null ? '' : JSON.stringify(text.slice(found.index - 60, found.index + 9));
  assert.equal(found, null, `${what}: ${at}`);
}

before(async () => {
  mkdirSync(join(repository, ODD, '1'), { recursive: true });
  writeFileSync(join(repository, ODD, '1', 'model.onnx'), plusModel(1));
  mkdirSync(join(repository, `${ODD}broken`, '1'), { recursive: true });
  writeFileSync(join(repository, `${ODD}broken`, '1', 'model.onnx'), 'no model');
  const ports = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
  const access = ['--access-log', log, '--log-format', 'text', '--strict-readiness=false'];
  server = new ServalProcess(['serve', repository, ...ports, ...access]);
  await server.printed(({ stdout }) => stdout.includes('HTTP on'));
});
after(async () => {
  await server.stop();
  folders.remove();
});

it('the start list and the log show them', () => {
  isPlain(server.stdout, 'the start list');
  isPlain(server.stderr, 'the log');
  for (const text of [server.stdout, server.stderr]) {
    assert.ok(text.replaceAll('\\\\', '\\').includes(SHOWN), text);
  }
});

it('so do the metrics and the access log', async () => {
  const port = Number(/HTTP on [^:]+:(\d+)/.exec(server.stdout)?.[1]);
  const path = `/v2/models/${encodeURIComponent(ODD)}/infer`;
  const id = JSON.stringify(ODD);
  const body = v2Body('x', [1]).replace('{', `{"id":${id},`);
  assert.equal((await exchange(port, 'POST', path, body)).status, 200);
  const page = (await exchange(port, 'GET', '/metrics')).body.toString();
  isPlain(page, 'the metrics');
  const label = `model="${SHOWN.replaceAll('\\', '\\\\')}"`;
  for (const name of ['serval_model_ready', 'nv_inference_request_success']) {
    const line = page.split('\n').find((one) => one.startsWith(`${name}{`) && one.includes(label));
    assert.ok(line, `${name}: ${page}`);
  }
  const lines = await until('the request is in the access log', () => {
    const text = readFileSync(log, 'utf8');
    return text.endsWith('\n') ? text : undefined;
  });
  isPlain(lines, 'the access log');
  const { model } = JSON.parse(lines.slice(0, lines.indexOf('\n'))) as { model: string };
  assert.equal(model, ODD);
});

it('inspect shows them, and its JSON has the names as they are', async () => {
  const place = join(repository, ODD);
  const text = await runServal(['inspect', place]);
  assert.equal(text.code, 0, text.stderr);
  isPlain(text.stdout, 'inspect');
  assert.ok(text.stdout.includes(SHOWN));
  const json = await runServal(['inspect', place, '--json']);
  isPlain(json.stdout, 'inspect --json');
  assert.equal((JSON.parse(json.stdout) as { name: string }).name, ODD);
});

it('errors of the command line show them', async () => {
  for (const args of [
    ['inspect', join(repository, `${ODD}none`)],
    ['inspect', join(repository, `${ODD}broken`)],
    ['serve', join(repository, `${ODD}none`)],
    ['serve', `--${ODD}`],
    [`${ODD}`],
    ['serve', '--log-format', ODD],
    ['key', ODD, ODD],
  ]) {
    const { code, stderr } = await runServal(args);
    assert.notEqual(code, 0);
    assert.notEqual(stderr, '');
    isPlain(stderr, args.join(' '));
  }
});
