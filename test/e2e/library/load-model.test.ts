// loadModel() of the built package, in a separate program: every format, errors, a server beside
// it, and a process that ends by itself. The examples of docs/guides/library.md are run unchanged.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { packageRoot } from '../../../ts/base/package-files.js';
import { DEADLINE_MS } from '../support/serval-process.js';

const root = packageRoot();
const run = promisify(execFile);

describe('loadModel', () => {
  const folder = mkdtempSync(join(tmpdir(), 'serval-library-'));
  before(() => {
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(root, join(folder, 'node_modules', 'serval'));
    symlinkSync(join(root, 'examples', 'models'), join(folder, 'models'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const program = async (code: string): Promise<string> => {
    const file = join(folder, 'program.mjs');
    writeFileSync(file, code);
    const options = { cwd: folder, timeout: DEADLINE_MS };
    const { stdout } = await run(process.execPath, [file], options);
    return stdout;
  };
  it('prints an uncaught error as a few readable lines with the installed file', async () => {
    const begin = `import { loadModel } from 'serval';\n`;
    const model = join(folder, 'models/half_plus_three');
    for (const [code, stack] of [
      [`await loadModel('/nowhere');`, /^ServalError: \/nowhere: no such file.*\n {4}at \w{4,}/m],
      [`await (await loadModel('${model}')).infer({ z: [1] });`, /^ServalError: .*z.*\n {4}at \w/m],
    ] as const) {
      const { stderr } = await program(begin + code).then(
        () => assert.fail('no error'),
        (error: { stderr: string }) => error,
      );
      assert.ok(stderr.length < 4000, `${stderr.length} characters`);
      assert.match(stderr, stack);
      const [, file = '', line] = /^(\/.*):(\d+)$/m.exec(stderr) ?? [];
      const source = readFileSync(file, 'utf8').split('\n')[Number(line) - 1] ?? '';
      assert.ok(stderr.includes(source) && source.trim() !== '', stderr);
      assert.match(stderr, /at (async )?(Model\.infer|loadModelWith) /);
    }
  });

  const answer = async (code: string): Promise<unknown> => {
    const begin = `import { loadModel, startServer, ErrorCode, ServalError } from 'serval';\n`;
    const show = `(_, value) => typeof value === 'bigint' ? value + 'n' : value`;
    const text = await program(
      `${begin}const results = await (async () => {\n${code}\n})();\n` +
        `process.stdout.write(JSON.stringify(results, ${show}));\n`,
    );
    return JSON.parse(text) as unknown;
  };

  it('runs the examples of its page', async () => {
    const page = readFileSync(join(root, 'docs', 'guides', 'library.md'), 'utf8');
    const blocks = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code ?? '');
    const code = blocks.join('\n');
    const wanted = [...code.matchAll(/console\.log\(.*\); \/\/ (.*)/g)].map(([, text]) => text);
    assert.equal(wanted.length, 2);
    assert.deepEqual((await program(code)).trim().split('\n'), wanted);
  });

  it('answers models of tensors, many calls at a time and several models', async () => {
    const got = await answer(`
      const half = await loadModel('models', { name: 'half_plus_three' });
      const sums = await loadModel('models/add_sub');
      const many = await Promise.all(Array.from({ length: 64 }, (_, i) => half.infer({ x: [i] })));
      const ones = new Int32Array(16).fill(1);
      const { OUTPUT0 } = await sums.infer({ INPUT0: ones, INPUT1: [Array(16).fill(2)] });
      const only = await sums.infer({ INPUT0: ones, INPUT1: ones }, { outputs: ['OUTPUT1'] });
      return [many.map(({ y }) => y.data[0]), OUTPUT0.shape, [...OUTPUT0.data], Object.keys(only)];`);
    const halves = Array.from({ length: 64 }, (_, i) => i / 2 + 3);
    assert.deepEqual(got, [halves, [1, 16], Array(16).fill(3), ['OUTPUT1']]);
  });

  it('serves tabular models, by rows and by columns, with missing values', async () => {
    const got = await answer(`
      const loans = await loadModel('models/loan_risk');
      const iris = await loadModel('models/iris_tree');
      const house = await loadModel('models/house_price');
      const rows = [{ amount: 900, income: 1000, purpose: ' car ' }, { amount: 1, purpose: 'x' }];
      const { risk, reason } = await loans.infer(rows);
      const { species } = await iris.infer({ petal_length: [1.4, 4.5], petal_width: [0.2, 1.5] });
      const town = { town: 'Shelbyville', rooms: 3, square_metres: 80 };
      const { features } = await house.infer([town], { outputs: ['features'] });
      return [loans.format, risk.data, reason.data, species.data, features.shape];`);
    const species = ['setosa', 'versicolor'];
    assert.deepEqual(got, ['spark', [1, null], ['CAR', 'X'], species, [1, 3]]);
  });

  it('rejects as a server answers', async () => {
    const got = await answer(`
      const caught = [];
      const half = await loadModel('models/half_plus_three');
      const tell = (e) => caught.push([e instanceof ServalError, e.code, e.message]);
      for (const bad of [{ x: ['a'] }, {}, { y: [1] }, [1]]) await half.infer(bad).catch(tell);
      await half.infer({ x: [1] }, { outputs: ['z'] }).catch(tell);
      await half.infer({ x: [1] }, { signal: AbortSignal.abort() }).catch(tell);
      await half.close();
      await half.close();
      await half.infer({ x: [1] }).catch(tell);
      await loadModel('models').catch(tell);
      await loadModel('models', { name: 'nope' }).catch(tell);
      await loadModel('models/add_sub', { version: '9' }).catch(tell);
      await loadModel('models/add_sub', { signature: 'x' }).catch(tell);
      await loadModel('models/add_sub', { httpPort: 1 }).catch(tell);
      await loadModel('nowhere').catch(tell);
      return [caught, ErrorCode];`);
    const [caught, codes] = got as [[boolean, number, string][], Record<string, number>];
    const wanted: readonly (readonly [string, RegExp])[] = [
      ['InvalidArgument', /input 'x': element 0: expected a number that FP32 holds, got "a"/],
      ['InvalidArgument', /input 'x' is missing/],
      ['InvalidArgument', /input 'y': the model has no such input/],
      ['InvalidArgument', /an object by input name/],
      ['InvalidArgument', /z/],
      ['Cancelled', /cancelled/],
      ['ShuttingDown', /closed/],
      ['InvalidArgument', /expected one model or the name of one of its 6: add_sub, /],
      ['ModelNotFound', /no model 'nope', there is add_sub/],
      ['ModelNotFound', /no version "9", there is 1/],
      ['InvalidArgument', /only TensorFlow models/],
      ['InvalidArgument', /"http-port" is an option of startServer/],
      ['InvalidArgument', /nowhere: no such file or folder/],
    ];
    assert.equal(caught.length, wanted.length);
    wanted.forEach(([code, text], i) => {
      const [isOurs, number, message] = caught[i] ?? [];
      assert.deepEqual([isOurs, number], [true, codes[code]], message);
      assert.match(message ?? '', text);
    });
  });

  it('works beside a server, before, during and after it', async () => {
    const got = await answer(`
      const half = await loadModel('models/half_plus_three');
      const options = { host: '127.0.0.1', httpPort: 0, grpcPort: 0, logLevel: 'off' };
      const seen = [];
      for (let i = 0; i < 2; i += 1) {
        const server = await startServer({ paths: ['models'], ...options });
        const url = 'http://127.0.0.1:' + server.http.port + '/v1/models/half_plus_three:predict';
        const reply = await fetch(url, { method: 'POST', body: '{"instances": [1]}' });
        seen.push(await reply.json(), [...(await half.infer({ x: [2] })).y.data]);
        await server.stop();
      }
      seen.push([...(await half.infer({ x: [3] })).y.data]);
      await half.close();
      return seen;`);
    const predictions = { predictions: [3.5] };
    assert.deepEqual(got, [predictions, [4], predictions, [4], [4.5]]);
  });
});
