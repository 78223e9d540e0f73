// Values of PATH: several files, folders of files, names; and files of other tools.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ServalProcess } from '../support/serval-process.js';
import { adder, folderOf, infer, started, written } from './support.js';

const X = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1], data: [1] }] };
const OFF = ['--http-port=0', '--grpc-port=0', '--exit-on-error'];

describe('PATHs', () => {
  it('serve each model under its own name', async (t) => {
    const folder = folderOf(t);
    mkdirSync(join(folder, 'more'));
    const first = written(folder, 'first.onnx', adder(1));
    const second = written(folder, 'second.onnx', adder(2));
    written(join(folder, 'more'), 'third.onnx', adder(3));
    written(join(folder, 'more'), 'fourth.onnx', adder(4));
    const server = await started(t, first, `other=${second}`, join(folder, 'more'));
    for (const [name, sum] of Object.entries({ first: 2, other: 3, third: 4, fourth: 5 })) {
      assert.deepEqual((await infer(server, name, X))['y']?.data, [sum]);
    }
  });

  it('are an error that names both if they have the same name', async (t) => {
    const folder = folderOf(t);
    const [a, b] = [written(folder, 'a.onnx', adder(1)), written(folder, 'b.onnx', adder(2))];
    const server = new ServalProcess(['serve', a, `a=${b}`, ...OFF]);
    assert.notEqual((await server.ended).code, 0);
    assert.ok(server.stderr.includes(`${b}: model 'a' is also in ${a}`), server.stderr);
  });

  it('that are files of other tools say what to do', async (t) => {
    const folder = folderOf(t);
    const pointer = join(folder, 'big.onnx');
    writeFileSync(pointer, 'version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n');
    const weights = join(folder, 'weights.pt');
    writeFileSync(weights, '\u0080\u0002ccollections\nOrderedDict\nq\u0000)Rq\u0001', 'latin1');
    const fast = join(folder, 'fast.onnx');
    writeFileSync(
      fast,
      Buffer.from('18000000', 'hex').toString('latin1') + 'ORTM' + '\0'.repeat(64),
    );
    for (const [path, expected] of [
      [pointer, /big\.onnx: is a pointer of Git LFS.*git lfs pull/],
      [weights, /weights\.pt: has PyTorch weights.*torch\.onnx\.export/],
      [fast, /fast\.onnx: is in ONNX Runtime's own format/],
    ] as const) {
      const server = new ServalProcess(['serve', path, ...OFF]);
      assert.notEqual((await server.ended).code, 0);
      assert.match(server.stderr, expected);
    }
  });
});
