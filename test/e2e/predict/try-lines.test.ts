// The lines that `serval serve` prints for pasting: each is answered as it stands, those whose
// request is in a file too, and the files go with the server.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { after, describe, it } from 'node:test';
import { floatBytes, type OnnxModel } from '../../../ts/onnx/builder.js';
import { ModelFolders } from '../support/model-folders.js';
import { ServalProcess } from '../support/serval-process.js';

/** y = x + 1 for pictures of any size. */
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

const MAX = { maxBuffer: 64 * 1024 * 1024 };
interface Answer {
  readonly outputs?: unknown;
  readonly predictions?: unknown;
}
