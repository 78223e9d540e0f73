// The lines that `serval serve` prints for copying: each works unchanged, including those with
// their request in a file, and the files are removed with the server.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { floatBytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { ModelFolders } from '../support/model-folders.js';
import { ServalProcess } from '../support/serval-process.js';

/** y = x + 1 for images of any size. */
const PICTURES: OnnxModel = {
  opsets: { '': 17 },
  graph: {
    name: 'pictures',
    inputs: [{ name: 'x', type: 'float', shape: ['n', 'h', 'w', 3] }],
    outputs: [{ name: 'y', type: 'float', shape: ['n', 'h', 'w', 3] }],
    nodes: [{ op: 'Add', inputs: ['x', 'one'], outputs: ['y'] }],
    initializers: [{ name: 'one', type: 'float', dims: [1], data: floatBytes([1]) }],
  },
};

describe('try: lines', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());

  for (const models of [['half_plus_three'], []]) {
    it(`work as pasted: ${[...models, 'pictures'].join(', ')}`, async (context) => {
      const repository = folders.repository(`try-${models.length}`, models);
      folders.add(repository, 'pictures', PICTURES);
      const ports = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
      const server = new ServalProcess(['serve', repository, ...ports]);
      context.after(() => server.stop());
      await server.printed(({ stdout }) => stdout.includes('serval is ready'));
      const [, text = ''] = /try:\n((?: {2}.*\n)+)/.exec(server.stdout) ?? [];
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line) => line.trim());
      const called = lines.filter((line) => line.startsWith('curl -d'));
      assert.equal(called.length, models.length === 0 ? 2 : 3);
      for (const line of called) {
        const answer = execFileSync('sh', ['-c', line.replace('curl', 'curl -s')], MAX);
        const { outputs, predictions } = JSON.parse(answer.toString()) as Answer;
        assert.ok(
          outputs !== undefined || predictions !== undefined,
          answer.toString().slice(0, 200),
        );
      }
      const [file = ''] = /\/[^\s@']*pictures\.v2\.json/.exec(text) ?? [];
      assert.ok(existsSync(file), text);
      server.signal('SIGTERM');
      assert.equal((await server.ended).code, 0);
      assert.equal(existsSync(dirname(file)), false);
    });
  }
});

/** Strings and numbers from domains: values outside are refused. */
const PMML = `<?xml version="1.0"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="color" optype="categorical" dataType="string"><Value value="it's"/><Value value="b"/></DataField>
<DataField name="size" optype="continuous" dataType="double"><Interval closure="closedClosed" leftMargin="7" rightMargin="9"/></DataField>
<DataField name="y" optype="continuous" dataType="double"/></DataDictionary>
<RegressionModel functionName="regression"><MiningSchema><MiningField name="color"/><MiningField name="size"/>
<MiningField name="y" usageType="target"/></MiningSchema><RegressionTable intercept="1">
<NumericPredictor name="size" coefficient="2"/><CategoricalPredictor name="color" value="it's" coefficient="100"/>
</RegressionTable></RegressionModel></PMML>`;

it('work as pasted for a tabular model, with values of its domains', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-try-'));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'cars.pmml'), PMML);
  const ports = ['--host', '127.0.0.1', '--http-port', '0', '--grpc-port', '0'];
  const server = new ServalProcess(['serve', join(folder, 'cars.pmml'), ...ports]);
  context.after(() => server.stop());
  await server.printed(({ stdout }) => stdout.includes('serval is ready'));
  const lines = server.stdout.split('\n').filter((line) => line.startsWith('  curl -d'));
  assert.equal(lines.length, 2, server.stdout);
  const [v1, v2] = lines.map((line) =>
    execFileSync('sh', ['-c', line.replace('curl', 'curl -s')], MAX).toString(),
  );
  assert.deepEqual(JSON.parse(v1 ?? ''), { predictions: [117] });
  assert.deepEqual(
    (JSON.parse(v2 ?? '') as { outputs: { data: unknown }[] }).outputs[0]?.data,
    [117],
  );
});

const MAX = { maxBuffer: 64 * 1024 * 1024 };
interface Answer {
  readonly outputs?: unknown;
  readonly predictions?: unknown;
}
