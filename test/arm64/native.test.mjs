// The native tests of code that has its own instructions on arm64, run by qemu. Test time only.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { FOLDER } from '../../scripts/arm64/build.mjs';
import { googleTestCounts } from '../native/google-test.mjs';
import { runProgram } from '../run/at-once.mjs';
import { emulated, nativeTargets, root } from './support.mjs';

const TIMEOUT_MS = 280_000;
const scratch = mkdtempSync(join(tmpdir(), 'serval-arm64-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

test('there are native tests of each area', () => {
  const areas = new Set(nativeTargets().map((name) => name.split('_')[0]));
  assert.deepEqual([...areas].sort(), ['base', 'codec', 'tabular']);
});

for (const target of nativeTargets()) {
  test(`${target} passes on arm64`, async () => {
    const report = join(scratch, `${target}.json`);
    const args = ['--gtest_brief=1', `--gtest_output=json:${report}`];
    const options = { cwd: root, env: { ...process.env, SERVAL_ROOT: root }, timeout: TIMEOUT_MS };
    const result = await runProgram(emulated(join(FOLDER, target), ...args), options);
    assert.equal(result.status, 0, `${result.reason}\n${result.stdout}${result.stderr}`);
    const counts = googleTestCounts(readFileSync(report, 'utf8'), result.stdout);
    assert.equal(counts.failed, 0, result.stdout);
    assert.ok(counts.passed > 0, `no test ran: ${result.stdout}`);
  });
}
