// The tidy rules that compare documents with sources, on small samples. Test time only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  changelog,
  citedSections,
  errorCodes,
  errorPages,
  errorRows,
  requestTrace,
  requiredFiles,
  traceRows,
} from './rules/documents.mjs';
import { sourceFile } from './source-files.mjs';

const tree = (pairs) => ({
  files: Object.entries(pairs).map(([path, text]) => sourceFile(path, text)),
});
const messages = (violations) => violations.map(({ path, message }) => `${path}: ${message}`);

const TRACE = [
  '# Architecture',
  '| decode | not/here.cc | f | outside the section |',
  '## Request trace',
  '| stage | file | function | thread |',
  '| --- | --- | --- | --- |',
  '| receive | `native/addon/exports.cc` | `Submit()` | JavaScript |',
  '| decode | native/codec/serving/json.cc | json_v1::decode | any |',
  '| decode | native/codec/v2/wire.cc | decode, peek (gRPC) | any |',
  ...['route', 'queue', 'check', 'run', 'encode', 'reply'].map(
    (stage) => `| ${stage} | native/engine/${stage}.cc | ${stage} | any |`,
  ),
  '## Threads',
  '| run | x/y.cc | f | outside |',
].join('\n');

const SOURCES = {
  'docs/reference/request-trace.md': TRACE,
  'native/addon/exports.cc': '// Hot path: receive.\nvoid Submit() {}',
  'native/codec/serving/json.cc': '// Hot path: decode.\nvoid decode() {}',
  'native/codec/v2/wire.cc': '// Hot path: decode.\nvoid decode() { peek(); }',
  ...Object.fromEntries(
    ['route', 'queue', 'check', 'run', 'encode', 'reply'].map((stage) => [
      `native/engine/${stage}.cc`,
      `// Hot path: ${stage} (queued).`,
    ]),
  ),
};

test('the trace is read from its section only', () => {
  assert.deepEqual(
    traceRows(TRACE)
      .slice(0, 3)
      .map(({ stage, file, names }) => [stage, file, ...names]),
    [
      ['receive', 'native/addon/exports.cc', 'Submit'],
      ['decode', 'native/codec/serving/json.cc', 'decode'],
      ['decode', 'native/codec/v2/wire.cc', 'decode', 'peek'],
    ],
  );
  assert.equal(traceRows(TRACE).length, 9);
  assert.deepEqual(requestTrace(tree(SOURCES)), []);
});

test('each way that trace and sources can disagree is named', () => {
  const disagree = (changes) => messages(requestTrace(tree({ ...SOURCES, ...changes })));
  const page = (from, to) =>
    disagree({ 'docs/reference/request-trace.md': TRACE.replace(from, to) });
  const [noPage] = messages(requestTrace(tree({ 'native/a.cc': '' })));
  assert.match(noPage, /missing/);
  assert.match(
    disagree({ 'docs/reference/request-trace.md': '# Request trace\nno table' })[0],
    /no rows/,
  );
  assert.match(page('| receive |', '| recieve |').join(), /receive is missing.*no such stage/);
  assert.match(page('Submit()', 'Send()')[0], /no Send in/);
  assert.match(page('serving/json.cc', 'serving/plain.cc')[0], /no file/);
  const unmarked = { 'native/codec/v2/wire.cc': 'void decode() { peek(); }' };
  assert.match(disagree(unmarked)[0], /no comment "Hot path: decode/);
  const stray = { 'native/engine/model/serve.cc': '// Hot path: decode. Serves.' };
  assert.match(disagree(stray)[0], /no such row for this file/);
  const unknown = { 'native/addon/exports.cc': '// Hot path: receive. Hot path: submit.\nSubmit' };
  assert.match(disagree(unknown)[0], /no such row for this file/);
});

const ERRORS = {
  'proto/engine.fbs': 'enum ErrorCode : ubyte {\n  Ok = 0,\n  QueueFull = 10,  // full\n}\n',
  'ts/base/errors.ts':
    "  [ErrorCode.Ok]: row('OK', 200, 200, 'OK'),\n" +
    "  [ErrorCode.QueueFull]: row('QUEUE_FULL', 503, 503, 'UNAVAILABLE'),\n",
  'docs/reference/errors.md':
    '| 0 | OK | 200 | 200 | OK |\n| 10 | QUEUE_FULL | 503 | 503 | UNAVAILABLE |\n' +
    '### QUEUE_FULL\nThe queue is full.\n',
  'test/e2e/queue.test.mjs': 'assert.equal(code, ErrorCode.QueueFull)',
};

test('error codes: enum, table, page and tests agree', () => {
  assert.deepEqual(errorCodes(ERRORS['proto/engine.fbs']), { Ok: 0, QueueFull: 10 });
  assert.deepEqual(errorRows(ERRORS['ts/base/errors.ts']).QueueFull, {
    name: 'QUEUE_FULL',
    v1Http: 503,
    v2Http: 503,
    grpc: 'UNAVAILABLE',
  });
  assert.deepEqual(errorPages(tree(ERRORS)), []);
});

test('each way that error pages can disagree is named', () => {
  const disagree = (path, from, to) =>
    messages(errorPages(tree({ ...ERRORS, [path]: ERRORS[path].replace(from, to) })));
  assert.match(disagree('ts/base/errors.ts', '503, 503', '429, 503')[0], /no table row .*429/);
  assert.match(
    disagree('ts/base/errors.ts', 'ErrorCode.QueueFull', 'ErrorCode.Other')[0],
    /no row in ts/,
  );
  assert.match(
    disagree('docs/reference/errors.md', '### QUEUE_FULL', 'QUEUE_FULL')[0],
    /no paragraph/,
  );
  assert.match(disagree('test/e2e/queue.test.mjs', 'QueueFull', 'Other')[0], /no test names/);
  assert.match(disagree('proto/engine.fbs', 'enum ErrorCode', 'enum Other')[0], /no enum/);
});

test('required files and the changelog', () => {
  assert.ok(messages(requiredFiles(tree({ 'README.md': '' }))).includes('LICENSE: missing'));
  const manifest = '{"version":"0.1.0"}';
  const log = (text) => changelog(tree({ 'package.json': manifest, 'CHANGELOG.md': text }));
  assert.deepEqual(log('# Changes\n\n## 0.1.0 (unreleased)\n'), []);
  assert.equal(log('# Changes\n\n## 0.2.0\n').length, 1);
  assert.equal(log('# Changes\n\n## 0.1.01\n').length, 1);
});

test('cited sections are there', () => {
  const page = sourceFile('docs/spec/a-b.md', '# A\n\n## 1. One\n\n### 1.2 Two\n');
  const citing = (text) => citedSections({ files: [page, sourceFile('ts/a.ts', text)] });
  assert.deepEqual(citing('// Source: a-b.md 1.2, c.md 7; a-b.md 1 "words".'), []);
  assert.deepEqual(citing('\n// Source: a-b.md 1.3.'), [
    { path: 'ts/a.ts', line: 2, message: 'docs/spec/a-b.md has no 1.3' },
  ]);
  assert.equal(citedSections({ files: [] }).length, 1);
});
