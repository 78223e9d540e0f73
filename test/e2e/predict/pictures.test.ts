// `serval predict --input x=@photo.png`: pixels for inputs of numbers, here and at a URL; the file
// as it is for inputs of BYTES.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { floatBytes, type OnnxModel } from '../../../ts/importers/onnx/builder.js';
import { ModelFolders } from '../support/model-folders.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

/** y = x + 1 for planes of any size. */
const PLANES: OnnxModel = {
  opsets: { '': 17 },
  graph: {
    name: 'planes',
    inputs: [{ name: 'x', type: 'float', shape: ['n', 3, 'h', 'w'] }],
    outputs: [{ name: 'y', type: 'float', shape: ['n', 3, 'h', 'w'] }],
    nodes: [{ op: 'Add', inputs: ['x', 'one'], outputs: ['y'] }],
    initializers: [{ name: 'one', type: 'float', dims: [1], data: floatBytes([1]) }],
  },
};
/** Two pixels: 10, 20, 30 and 40, 50, 60. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAD0lEQVR4nGPgEpHTMLIBAAI3ANNbVlHYAAAAAElFTkSuQmCC';

interface Printed {
  readonly outputs: readonly { readonly shape: unknown; readonly data: readonly unknown[] }[];
}

describe('serval predict with a picture', () => {
  const folders = new ModelFolders();
  const repository = folders.repository('pictures', ['text_identity']);
  const photo = join(repository, '..', 'photo.png');
  let server: ServalProcess;
  before(async () => {
    folders.add(repository, 'planes', PLANES);
    writeFileSync(photo, Buffer.from(PNG, 'base64'));
    server = await startServer([repository]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });
  const predict = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await runServal(['predict', ...args, '--json']);
    assert.equal(code, 0, stderr);
    const { outputs } = JSON.parse(stdout) as Printed;
    return outputs.map(({ shape, data }) => [shape, data]);
  };

  it('gives a model its pixels, scaled where that is said', async () => {
    const targets = [
      [repository, '--model', 'planes'],
      [`http://127.0.0.1:${server.httpPort}/v2/models/planes`],
      [`http://127.0.0.1:${server.httpPort}/v1/models/planes`],
      [`grpc://127.0.0.1:${server.grpcPort}/v2/models/planes`],
    ];
    for (const target of targets) {
      const plain = await predict(...target, '--input', `x=@${photo}`);
      assert.deepEqual(
        plain,
        [
          [
            [1, 3, 1, 2],
            [11, 41, 21, 51, 31, 61],
          ],
        ],
        target[0],
      );
    }
    const scaled = await predict(...(targets[0] ?? []), '--input', `x=@${photo}?scale=1/10`);
    assert.deepEqual(scaled, [
      [
        [1, 3, 1, 2],
        [2, 5, 3, 6, 4, 7],
      ],
    ]);
  });

  it('gives an input of BYTES the file as it is', async () => {
    const at = [repository, '--model', 'text_identity'];
    const { stdout: inputs } = await runServal([
      'inspect',
      join(repository, 'text_identity'),
      '--json',
    ]);
    const name = /"inputs":\s*\[\s*\{\s*"name":\s*"([^"]+)"/.exec(inputs)?.[1] ?? '';
    const [[, data]] = (await predict(...at, '--input', `${name}=@${photo}`)) as [
      [unknown, unknown],
    ];
    assert.deepEqual(data, [{ b64: PNG }]);
  });

  it('says what a picture needs', async () => {
    const wrong = async (query: string): Promise<string> => {
      const at = ['predict', repository, '--model', 'planes', '--input', `x=@${photo}${query}`];
      const { code, stderr } = await runServal(at);
      assert.equal(code, 2);
      return stderr;
    };
    assert.match(await wrong('?resize=big'), /resize: expected WIDTHxHEIGHT/);
    assert.match(await wrong('?layout=hwc'), /'x' has the shape \[\?,3,\?,\?\], which is not hwc/);
  });
});
