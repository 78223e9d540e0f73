// `serval inspect` shows what the graph proves of the rows of a batch. The proof decides for
// isolated models as for others. Source: docs/guides/batching.md.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { OnnxModel, OnnxNode } from '../../../ts/importers/onnx/builder.js';
import { ModelFolders } from '../support/model-folders.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const N = undefined;

const over = (...nodes: readonly OnnxNode[]): OnnxModel => ({
  graph: {
    name: 'rows',
    inputs: [{ name: 'x', type: 'float', shape: [N, 4] }],
    outputs: [{ name: 'y', type: 'float', shape: [N, 4] }],
    nodes,
    initializers: [],
  },
  opsets: { '': 17 },
});
const independent = over({ op: 'Tanh', inputs: ['x'], outputs: ['y'] });
const centred = over(
  { op: 'ReduceMean', name: 'mean', inputs: ['x'], outputs: ['m'] },
  { op: 'Sub', inputs: ['x', 'm'], outputs: ['y'] },
);
const COUPLED = "coupled: node 'mean' (ReduceMean): it reduces the batch axis";
const WITH_BATCHES = 'max_batch_size: 4\ndynamic_batching { }\n';

describe('the proof of rows', () => {
  const folders = new ModelFolders();
  const repository = join(folders.folder, 'rows');
  const fileOf = (name: string): string => join(repository, name, '1', 'model.onnx');

  before(() => {
    folders.add(repository, 'independent', independent);
    folders.add(repository, 'centred', centred);
    folders.add(repository, 'asked', centred);
    writeFileSync(join(repository, 'asked', 'config.pbtxt'), WITH_BATCHES);
  });
  after(() => folders.remove());

  it('is shown by serval inspect, or the first node that couples rows', async () => {
    const proved = await runServal(['inspect', fileOf('independent')]);
    assert.match(proved.stdout, /^rows +independent \(proved\)$/m, proved.stderr);
    const coupled = await runServal(['inspect', fileOf('centred')]);
    assert.match(coupled.stdout, /^rows +coupled: node 'mean' \(ReduceMean\): it reduces the/m);
    const json = await runServal(['inspect', fileOf('centred'), '--json']);
    const { rows } = JSON.parse(json.stdout) as { rows: { verdict: string; text: string }[] };
    assert.deepEqual(
      rows.map(({ verdict, text }) => `${verdict}: ${text}`),
      [COUPLED],
    );
  });

  for (const isolate of ['none', 'all']) {
    it(`decides which models are joined, with --isolate ${isolate}`, async () => {
      const flags = ['--model-repository', repository, '--isolate', isolate];
      let server: ServalProcess | undefined;
      try {
        server = await startServer(flags);
        const { httpPort } = server;
        const isJoined = async (name: string): Promise<boolean> => {
          const config = await fetch(`http://127.0.0.1:${httpPort}/v2/models/${name}/config`);
          return 'dynamic_batching' in ((await config.json()) as object);
        };
        assert.equal(await isJoined('independent'), true);
        assert.equal(await isJoined('centred'), false);
        assert.equal(await isJoined('asked'), true);
        const told = server.stderr.split('\n').filter((line) => line.includes('"asked"'));
        const named = told.filter((line) => line.includes(COUPLED));
        assert.ok(
          named.some((line) => line.includes('model loaded')),
          told.join('\n'),
        );
        assert.ok(named.some((line) => line.includes('not proved to be independent')));
      } finally {
        await server?.stop();
      }
    });
  }
});
