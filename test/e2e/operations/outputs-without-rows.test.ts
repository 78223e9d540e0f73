// Models whose outputs do not begin with the batch: joining and padding must never show in an
// answer. Source: docs/guides/batching.md; TensorFlow Serving fails such batches (tfserving.md
// 3.5).
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { exchange, jsonOf } from '../support/raw-http.js';
import { startServer } from '../support/serval-process.js';

const SIZES = `max_batch_size { value: 8 }
allowed_batch_sizes: [4, 8]
num_batch_threads { value: 1 }
`;

describe('outputs that do not begin with the batch', () => {
  const folders = new ModelFolders();
  after(() => folders.remove());

  it('are those of the request alone, padded or joined as they may have been', async (context) => {
    const base = join(folders.folder, 'transposing');
    const port = (name: string, shape: readonly (string | number)[]) =>
      ({ name, type: 'float', shape }) as const;
    folders.add(folders.folder, 'transposing', {
      graph: {
        name: 'transposing',
        inputs: [port('x', ['batch', 3])],
        outputs: [port('y', ['free', 'b'])],
        initializers: [],
        nodes: [{ op: 'Transpose', inputs: ['x'], outputs: ['y'] }],
      },
    });
    const file = join(folders.folder, 'batching.txt');
    writeFileSync(file, SIZES);
    const server = await startServer([
      '--model-base-path',
      base,
      '--model-name',
      'transposing',
      '--enable-batching',
      '--batching-parameters-file',
      file,
    ]);
    context.after(() => server.stop());
    const ask = async (row: readonly number[]): Promise<unknown> => {
      const body = JSON.stringify({ inputs: [row] });
      return jsonOf(
        await exchange(server.httpPort, 'POST', '/v1/models/transposing:predict', body),
      );
    };
    const rows = Array.from({ length: 12 }, (_, i) => [i, i + 0.25, i + 0.5]);
    const answers = await Promise.all(rows.map(ask));
    assert.deepEqual(
      answers,
      rows.map((row) => ({ outputs: row.map((value) => [value]) })),
    );
  });
});
