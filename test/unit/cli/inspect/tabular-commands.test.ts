// `serval inspect` and `serval import` with tabular models.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { importCommand } from '../../../../ts/cli/import/import-command.js';
import { inspectCommand } from '../../../../ts/cli/inspect/inspect-command.js';
import { tabularText, type TabularReport } from '../../../../ts/cli/inspect/tabular-report.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { describePlan } from '../../../../ts/importers/plan/imported.js';
import { fieldsPlan } from '../../importers/plan/plans.js';
import { NORM_PIPELINE } from '../../importers/plan/spark-folder.js';
import { filledFolder, tempFolder } from '../../temp-folder.js';

/** Returns the output of a command. */
async function printed(t: TestContext, run: () => Promise<number>): Promise<string> {
  const lines: string[] = [];
  const own = process.stdout.write.bind(process.stdout);
  const write = t.mock.method(process.stdout, 'write', (text: string | Uint8Array) => {
    if (typeof text !== 'string') return own(text); // the runner's own reports are bytes
    lines.push(text);
    return true;
  });
  try {
    assert.equal(await run(), 0);
  } finally {
    write.mock.restore();
  }
  return lines.join('');
}

const REPORT: TabularReport = {
  name: 'm',
  version: '1',
  versions: ['1'],
  path: '/m',
  schema: '',
  format: 'pmml',
  planBytes: 760,
  warnings: ['a guess'],
  ...describePlan(fieldsPlan()),
};

test('the report for people', () => {
  assert.equal(
    tabularText(REPORT),
    `model       m
version     1 of 1
path        /m
format      PMML document
written by  Tester 1
plan        760 bytes
warning     a guess
fields
  age       FP64    [-1]       double
  when      DATE    [-1]       date
  free      FP64    [-1]       any (double)
  numbers   VECTOR  [-1,1,-1]  any (vector)
  features  VECTOR  [-1,4]     vector[4]
  words     STRING  [-1,1,-1]  list of string
  label     STRING  [-1]       string          optional; the target
outputs
  age  FP64  [-1]  double
returned on request
  features  VECTOR  [-1,4]  vector[4]
stages
  none
`,
  );
});

test('inspect and import of a pipeline that Spark saved', async (t) => {
  const folder = filledFolder(t, NORM_PIPELINE);
  const text = await printed(t, () => inspectCommand([folder, '--json']));
  const report = JSON.parse(text) as TabularReport;
  assert.deepEqual([report.format, report.producer], ['spark', 'Spark 3.5.5']);
  assert.deepEqual(report.fields.map(({ name }) => name).sort(), ['a', 'b']);
  const names = report.outputs.map(({ name }) => name);
  assert.ok(names.includes('norm'), names.join());
  assert.ok(report.stages.length > 0);
  assert.match(await printed(t, () => inspectCommand([folder])), /format +Spark ML model/);
  const out = join(tempFolder(t), 'm.plan');
  const said = await printed(t, () => importCommand([folder, '--out', out]));
  assert.match(said, /m\.plan {2}plan of a spark model: 2 fields/);
  assert.equal(readFileSync(out).subarray(4, 8).toString(), 'SVTP');
});

test('a model that is not supported: all reasons, and nothing is written', async (t) => {
  const folder = filledFolder(t, {
    ...NORM_PIPELINE,
    'stages/1_Normalizer_1/metadata/part-00000': NORM_PIPELINE[
      'stages/1_Normalizer_1/metadata/part-00000'
    ]?.replace('feature.Normalizer', 'feature.Unheard') as string,
  });
  const out = join(folder, 'm.plan');
  for (const run of [() => inspectCommand([folder]), () => importCommand([folder, '--out', out])]) {
    await assert.rejects(run, (error: ServalError) => {
      assert.equal(error.code, ErrorCode.ModelInvalid);
      assert.match(error.message, /Unheard/);
      return true;
    });
  }
  assert.ok(!existsSync(out));
  await assert.rejects(
    importCommand([folder, '--out', join(folder, 'none', 'm')]),
    /expected a file in an existing folder/,
  );
});

test('an import that cannot be written leaves nothing behind', async (t) => {
  const folder = filledFolder(t, NORM_PIPELINE);
  const scratch = tempFolder(t);
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = scratch;
  t.after(() => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  });
  await assert.rejects(importCommand([folder, '--out', folder]), /EISDIR|illegal operation|EACCES/);
  assert.deepEqual(readdirSync(scratch), []);
});
