// The tidy rules of vendored files and of ONNX Runtime's function table, on small samples. Test
// time only.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CALLED_IF_NEW, functionVersions, runtimeCalls, thirdParty } from './rules/third-party.mjs';
import { sourceFile } from './source-files.mjs';

const messages = (violations) => violations.map(({ path, message }) => `${path}: ${message}`);
const sha256 = (text) => createHash('sha256').update(text).digest('hex');

// Runs `rule` on a folder with these files.
function check(rule, contents) {
  const root = mkdtempSync(join(tmpdir(), 'serval-tidy-'));
  try {
    for (const [path, text] of Object.entries(contents)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    const files = Object.entries(contents).map(([path, text]) => sourceFile(path, text));
    const sizes = files.map(({ path, text }) => ({ path, bytes: text.length }));
    return messages(rule({ root, files, sizes }));
  } finally {
    rmSync(root, { recursive: true });
  }
}

test('vendored files are those that their README.md lists', () => {
  const folder = 'native/third_party/x';
  const page = (rows) => `# x\n\n| file | SHA-256 |\n| --- | --- |\n${rows}\n`;
  const row = (name, text) => `| \`${name}\` | ${sha256(text)} |`;
  const at = (contents) =>
    check(
      thirdParty,
      Object.fromEntries(Object.entries(contents).map(([name, x]) => [`${folder}/${name}`, x])),
    );
  const whole = page(row('a.h', 'a\n'));
  assert.deepEqual(at({ 'a.h': 'a\n', 'README.md': whole }), []);
  assert.deepEqual(at({ 'a.h': 'b\n', 'README.md': whole }), [
    `${folder}/a.h: SHA-256 is ${sha256('b\n')}, in README.md ${sha256('a\n')}`,
  ]);
  assert.deepEqual(at({ 'a.h': 'a\n', 'b.h': '', 'README.md': whole }), [
    `${folder}/b.h: README.md does not list this file`,
  ]);
  assert.deepEqual(at({ 'README.md': whole }), [`${folder}/README.md: there is no ${folder}/a.h`]);
  assert.deepEqual(at({ 'a.h': 'a\n' }), [`${folder}: has no README.md`]);
});

const HEADER = `
struct OrtApi {
  /** \\brief Old */
  ORT_API2_STATUS(Run, _Inout_ OrtSession* session,
                  size_t count);
  /// @}
  ORT_CLASS_RELEASE(Session);  // Not in a comment: ORT_CLASS_RELEASE(Nothing)
  /** \\since Version 1.17. */
  void(ORT_API_CALL* Clear)(_Inout_ OrtIoBinding* binding, _In_ void (*fn)(void*));
  ORT_API2_STATUS(LikeClear, int x);
  /** \\since Version 1.18 */
  ORT_API_T(bool, Eighteen, int x);
${CALLED_IF_NEW.map((name) => `/** \\since Version 1.24. */ ORT_API2_STATUS(${name}, int x);`).join('\n')}
  /** \\since Version 1.25. */
  ORT_API2_STATUS(Newest, int x);
};
struct Other {
  ORT_API2_STATUS(Elsewhere, int x);
};
`;

test('the version of each function of the table is known', () => {
  const versions = [...functionVersions(HEADER)].map(([name, version]) => `${name} ${version}`);
  assert.deepEqual(versions, [
    ...['Run 0', 'ReleaseSession 0', 'Clear 17', 'LikeClear 17', 'Eighteen 18'],
    ...[...CALLED_IF_NEW.map((name) => `${name} 24`), 'Newest 25'],
  ]);
});

test('the official header has the known functions in their slots', () => {
  const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
  const path = 'native/third_party/onnxruntime/onnxruntime_c_api.h';
  const official = functionVersions(readFileSync(join(root, path), 'utf8'));
  const names = [...official.keys()];
  assert.equal(names.length, 422);
  // The runtime's own assertions pin the same slots.
  assert.deepEqual(
    [2, 9, 94, 133, 252, 274, 390, 414].map((slot) => names[slot]),
    [
      ...['GetErrorMessage', 'Run', 'ReleaseMemoryInfo', 'RunWithBinding'],
      ...['GetResizedStringTensorElementBuffer', 'KernelContext_ParallelFor'],
      ...['TensorTypeAndShape_HasShape', 'GetTensorElementTypeAndShapeDataReference'],
    ],
  );
  const versions = [...official.values()];
  assert.deepEqual(
    versions,
    versions.toSorted((a, b) => a - b),
  );
  for (const name of CALLED_IF_NEW) assert.ok(official.get(name) >= 18, name);
});

test('no call is newer than the function table', () => {
  const numbers = 'uint32_t kOrtApiVersion = 17;\nuint32_t kOrtShapeApiVersion = 24;\n';
  const calls = (code, versions = numbers) =>
    check(runtimeCalls, {
      'native/third_party/onnxruntime/onnxruntime_c_api.h': HEADER,
      'native/backend/onnxruntime/api.h': versions,
      'native/backend/onnxruntime/a.cc': code,
    });
  const known = CALLED_IF_NEW.map((name) => `api.${name}();`).join('\n');
  const all = `${known} api->Run(); &OrtApi::LikeClear; // api.Newest()\nqueue.push();`;
  assert.deepEqual(calls(all), []);
  for (const call of ['api.Newest()', 'api->Newest()', 'f(&OrtApi::Newest)', 'x = api_.Newest;']) {
    assert.deepEqual(calls(`${all}\n${call}`), [
      'native/backend/onnxruntime/a.cc: Newest is of 1.25; the requested table is of 1.17',
    ]);
  }
  assert.match(calls(all, numbers.replace('24', '23'))[0], / is of 1\.24; .* of 1\.23$/);
  assert.match(calls(all, numbers.replace('17', '16'))[0], /LikeClear is of 1\.17; .* of 1\.16$/);
  assert.match(calls(all, '')[0], /names no versions/);
  assert.match(calls(all.replace('HasShape', 'x'))[0], /_HasShape: nothing calls it$/);
  assert.deepEqual(check(runtimeCalls, {}), [
    'native/third_party/onnxruntime/onnxruntime_c_api.h: missing',
  ]);
});
