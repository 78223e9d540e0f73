// The suites' counts, read from GoogleTest, from Node's runner and from each other. Test time only.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { addCounts, noCounts, parseSummary, parseTap, summaryLine } from '../../run/counts.mjs';
import { ALONE } from '../../run/alone.mjs';
import { parseTimes } from '../../run/suite.mjs';
import { stepsOf } from '../../run/suites.mjs';
import { missingPackages } from '../../../scripts/ensure-deps.mjs';
import { runtimeClosure } from '../../../scripts/licences.mjs';
import { googleTestCounts } from '../../native/google-test.mjs';

test('counts add up and print as one plain line', () => {
  const total = { ...noCounts(), passed: 2, skipped: ['a'] };
  addCounts(total, { passed: 3, failed: 1, skipped: ['b'], failures: ['c'] });
  assert.equal(summaryLine(total), '5 passed, 1 failed, 2 skipped');
  assert.deepEqual(total.failures, ['c']);
});

test('the last summary of an output counts, with the names of what was skipped or failed', () => {
  const output = [
    '1 passed, 0 failed, 0 skipped',
    'SKIPPED gpu: no device',
    'FAILED a: crash',
    'FAILED a: crash',
    '7 passed, 1 failed, 2 skipped',
    '',
  ].join('\n');
  const skipped = ['gpu: no device', 'unnamed'];
  assert.deepEqual(parseSummary(output), { passed: 7, failed: 1, skipped, failures: ['a: crash'] });
  assert.equal(parseSummary('all is well'), undefined);
});

test('TAP of node: passes, failures, cancelled tests, reasons of skips', () => {
  const tap = [
    'TAP version 13',
    '    ok 1 - inner # SKIP no device',
    'ok 2 - plain',
    'not ok 3 - bad',
    '# tests 4',
    '# suites 0',
    '# pass 1',
    '# fail 1',
    '# cancelled 1',
    '# skipped 1',
    '# todo 0',
  ].join('\n');
  const expected = { passed: 1, failed: 2, skipped: ['inner: no device'], failures: ['bad'] };
  assert.deepEqual(parseTap(tap), expected);
  assert.equal(parseTap('TAP version 13\nok 1 - cut off'), undefined);
});

test('the times of files come slowest first', () => {
  const times = parseTimes('12 /t/a.test.js\n3400 /t/b.test.js\nnot a time\n');
  assert.deepEqual(times, [
    { file: '/t/b.test.js', ms: 3400 },
    { file: '/t/a.test.js', ms: 12 },
  ]);
});

test('suites that leave a core free run beside their neighbours', () => {
  const names = ['tidy', 'boundary', 'unit', 'clients', 'fuzz', 'package'];
  const steps = [['tidy', 'boundary'], ['unit'], ['clients'], ['fuzz'], ['package']];
  assert.deepEqual(stepsOf(names), steps);
});

test('every file that runs alone is there, with its reason', () => {
  for (const [file, reason] of ALONE) {
    assert.ok(existsSync(new URL(`../../../${file}`, import.meta.url)), file);
    assert.ok(reason.length > 20, file);
  }
});

test('GoogleTest report: a test without a result is a failure', () => {
  const suite = (...testsuite) => JSON.stringify({ testsuites: [{ name: 'S', testsuite }] });
  const run = { status: 'RUN', result: 'COMPLETED' };
  const skipped = ['S.c: no device', 'S.d: disabled'];
  assert.deepEqual(
    googleTestCounts(
      suite(
        { name: 'a', ...run },
        { name: 'b', ...run, failures: [{ failure: 'x' }] },
        { name: 'c', status: 'RUN', result: 'SKIPPED' },
        { name: 'd', status: 'NOTRUN', result: 'SUPPRESSED' },
        { name: 'e', status: 'RUN' },
      ),
      'f.cc:1: Skipped\nno device\n\n',
    ),
    { passed: 1, failed: 2, skipped, failures: ['S.b', 'S.e'] },
  );
  assert.deepEqual(googleTestCounts('{"cut'), noCounts());
});

test('packages to install: absent, other versions, not the optional ones', () => {
  const wanted = {
    '': { version: '1.0.0' },
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.0' },
    'node_modules/c': { version: '3.0.0', optional: true },
    'node_modules/d': { version: '4.0.0' },
  };
  const installed = {
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.1' },
  };
  assert.deepEqual(missingPackages(wanted, installed), ['node_modules/b', 'node_modules/d']);
});

test('the run-time closure: what is needed, leaves alone, no nested copies', () => {
  const lock = {
    'node_modules/a': { dependencies: { b: '1' } },
    'node_modules/b': {},
    'node_modules/dev': { dev: true },
    'node_modules/leaf': { dependencies: { dev: '1' } },
  };
  assert.deepEqual(runtimeClosure(lock, ['a', 'leaf'], ['leaf']), ['a', 'b', 'leaf']);
  assert.throws(() => runtimeClosure(lock, ['zz']), /zz is not in package-lock/);
  const nested = { ...lock, 'node_modules/a/node_modules/b': {} };
  assert.throws(() => runtimeClosure(nested, ['a']), /nested package/);
});

test('a program that ends loses nothing of what a pipe has not taken', async () => {
  const counts = new URL('../../run/counts.mjs', import.meta.url).href;
  const program = `import { exitWhenWritten, summaryLine } from ${JSON.stringify(counts)};
    setInterval(() => undefined, 1000); // what is left open does not keep it
    process.stderr.write('e'.repeat(4_000_000));
    process.stdout.write('x'.repeat(4_000_000) + '\\n');
    process.stdout.write(summaryLine({ passed: 1, failed: 2, skipped: [] }) + '\\n');
    exitWhenWritten(3);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
  let [output, errorBytes] = ['', 0];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  child.stderr.on('data', (bytes) => {
    errorBytes += bytes.length;
  });
  const status = await new Promise((resolve) => {
    child.on('close', resolve);
  });
  assert.equal(status, 3);
  assert.equal(errorBytes, 4_000_000);
  assert.deepEqual(parseSummary(output), { passed: 1, failed: 2, skipped: [], failures: [] });
});
