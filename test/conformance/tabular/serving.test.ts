// Tabular models on a running server: every request form (V1, V2, LeapFrame, CSV), metadata, schema
// files, archives, and the errors of models that cannot be served. Source: tabular.md 2.4, 2.5,
// 4.3; docs/reference/tabular.md.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { startServer, type ServalProcess } from '../../e2e/support/serval-process.js';
import { tarGzOf, zipOf } from '../../unit/importers/plan/archive/archives.js';
import { NORM_PIPELINE, sparkFolder } from '../../unit/importers/plan/spark-folder.js';

const entriesOf = (files: Record<string, string>): { name: string; content: string }[] =>
  Object.entries(files).map(([name, content]) => ({ name, content }));

const SUMS = sparkFolder([
  { kind: 'feature.SQLTransformer', params: { statement: 'SELECT *, a + b AS sum FROM __THIS__' } },
]);
const UNSUPPORTED = sparkFolder([
  { kind: 'feature.Unheard', params: {} },
  { kind: 'feature.Unknown', params: {} },
]);
const SCHEMA = JSON.stringify({
  inputs: [
    { name: 'a', datatype: 'INT32', shape: [-1] },
    { name: 'b', datatype: 'INT32', shape: [-1] },
  ],
});

/** The files of a repository. */
async function repository(): Promise<Record<string, string | Uint8Array>> {
  const below = (folder: string, files: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));
  return {
    ...below('norm/1', NORM_PIPELINE),
    ...below('sums/1', SUMS),
    ...below('typed/1', SUMS),
    'typed/1/schema.json': SCHEMA,
    'zipped/3/model.zip': zipOf(entriesOf(below('inner', SUMS))),
    'packed/1/model.gz': await tarGzOf(entriesOf(SUMS)),
    'packed/config.pbtxt': 'platform: "spark_pipelinemodel"',
    ...below('bad/1', UNSUPPORTED),
    'evil/1/model.zip': zipOf([{ name: '../../evil', content: 'x' }]),
  };
}

describe('tabular models on a server', () => {
  let server: ServalProcess;
  let folder = '';
  const url = (path: string): string => `http://127.0.0.1:${server.httpPort}${path}`;
  const get = async (path: string): Promise<unknown> => (await fetch(url(path))).json();
  const post = async (path: string, body: string | object): Promise<[number, string]> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(url(path), { method: 'POST', body: text });
    return [answer.status, await answer.text()];
  };
  const posted = async (path: string, body: string | object): Promise<unknown> => {
    const [status, text] = await post(path, body);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'serval-tabular-'));
    for (const [path, content] of Object.entries(await repository())) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    server = await startServer([folder, '--strict-readiness=false']);
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('metadata: platform, datatypes and shapes', async () => {
    assert.deepEqual(await get('/v2/models/norm'), {
      name: 'norm',
      versions: ['1'],
      platform: 'spark_pipelinemodel',
      inputs: [
        { name: 'a', datatype: 'FP64', shape: [-1] },
        { name: 'b', datatype: 'FP64', shape: [-1] },
      ],
      outputs: [{ name: 'norm', datatype: 'VECTOR', shape: [-1, 2] }],
    });
    const { extensions } = (await get('/v2')) as { extensions: string[] };
    assert.ok(extensions.includes('tabular_v1'));
    const v1 = JSON.stringify(await get('/v1/models/norm/metadata'));
    assert.match(v1, /"dtype":"DT_DOUBLE"/);
    const config = (await get('/v2/models/packed/config')) as Record<string, unknown>;
    assert.deepEqual([config['platform'], config['backend']], ['spark_pipelinemodel', 'tabular']);
  });

  test('one request in every protocol', async () => {
    const want = [0.6, 0.8];
    const inputs = [
      { name: 'a', datatype: 'FP64', shape: [1], data: [3] },
      { name: 'b', datatype: 'FP64', shape: [1], data: [4] },
    ];
    const v2 = (await posted('/v2/models/norm/infer', { inputs })) as {
      outputs: { name: string; shape: number[]; data: number[] }[];
    };
    assert.deepEqual(
      v2.outputs.map(({ name, shape, data }) => [name, shape, data]),
      [['norm', [1, 2], want]],
    );
    const v1 = JSON.stringify(
      await posted('/v1/models/norm:predict', { instances: [{ a: 3, b: 4 }] }),
    );
    assert.match(v1, /\[0\.6,0\.8\]/);
    const frame = {
      schema: {
        fields: [
          { name: 'a', type: 'double' },
          { name: 'b', type: 'double' },
        ],
      },
      rows: [[3, 4]],
    };
    const { rows } = (await posted('/models/norm/transform', frame)) as { rows: unknown };
    assert.deepEqual(rows, [[3, 4, { values: want, dimensions: [2] }]]);
    assert.deepEqual(await post('/v2/models/norm/csv', 'b,a,other\r\n4,3,x\r\n'), [
      200,
      'norm\r\n"[0.6,0.8]"\r\n',
    ]);
    assert.deepEqual(await post('/v2/models/norm/csv?outputs=features', 'a,b\n3,4\n'), [
      200,
      'features\r\n"[3.0,4.0]"\r\n',
    ]);
  });

  test('archives, in folders of their own or not', async () => {
    for (const model of ['zipped', 'packed', 'sums']) {
      const [status, text] = await post(`/v2/models/${model}/csv?outputs=sum`, 'a,b\n1,2\n');
      assert.deepEqual([status, text], [200, 'sum\r\n3\r\n'], model);
    }
    assert.equal((await post('/v2/models/zipped/versions/3/csv', 'a,b\n1,2\n'))[0], 200);
  });

  test('a schema gives types, which requests are held against', async () => {
    const { inputs } = (await get('/v2/models/typed')) as { inputs: unknown };
    assert.deepEqual(inputs, [
      { name: 'a', datatype: 'INT32', shape: [-1] },
      { name: 'b', datatype: 'INT32', shape: [-1] },
    ]);
    const ask = (datatype: string, data: unknown[]): Promise<[number, string]> =>
      post('/v2/models/typed/infer', {
        inputs: ['a', 'b'].map((name) => ({ name, datatype, shape: [1], data })),
      });
    assert.equal((await ask('INT16', [1]))[0], 200);
    const [status, text] = await ask('STRING', ['x']);
    assert.equal(status, 400);
    assert.match(text, /\ba\b.*INT32/);
    const [csvStatus, csvText] = await post('/v2/models/typed/csv', 'a,b\n1,x\n');
    assert.equal(csvStatus, 400);
    assert.match(csvText, /row 0, column \\"b\\": expected INT32, got \\"x\\"/);
  });

  test('models that cannot be served are not ready, and report all reasons at once', async () => {
    const index = (await posted('/v2/repository/index', {})) as {
      name: string;
      state: string;
      reason?: string;
    }[];
    const reason = (name: string): string => index.find((one) => one.name === name)?.reason ?? '';
    assert.match(reason('bad'), /Unheard.*Unknown/s);
    assert.match(reason('evil'), /points outside|relative path/);
    assert.equal((await post('/v2/models/bad/csv', 'a\n1\n'))[0], 503);
    assert.ok(!existsSync(join(folder, '..', 'evil')));
  });
});

const FRAMES = [join('..', 'shared'), join('..', '..', 'shared')]
  .map((shared) => join(shared, 'models', 'mleap'))
  .find((path) => existsSync(join(path, 'INDEX.json')));
const MISSING = '../shared/models/mleap is not there';

describe('LeapFrames of MLeap bundles', { skip: FRAMES === undefined && MISSING }, () => {
  if (FRAMES === undefined) return;
  const entries = JSON.parse(readFileSync(join(FRAMES, 'INDEX.json'), 'utf8')) as {
    readonly id: string;
    readonly bundle: string;
    readonly frame: string;
    readonly expected: string;
  }[];
  let server: ServalProcess;
  before(async () => {
    server = await startServer(entries.map(({ bundle }) => join(FRAMES, bundle)));
  });
  after(() => server.stop());

  for (const { id, frame, expected } of entries) {
    test(id, async () => {
      const want = JSON.parse(readFileSync(join(FRAMES, expected), 'utf8')) as Record<
        string,
        unknown
      >[];
      const names = Object.keys(want[0] ?? {});
      const path = `/models/${encodeURIComponent(id)}/transform`;
      const answer = await fetch(
        `http://127.0.0.1:${server.httpPort}${path}?outputs=${encodeURIComponent(names.join())}`,
        { method: 'POST', body: readFileSync(join(FRAMES, frame)) },
      );
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      const { schema, rows } = JSON.parse(text) as {
        schema: { fields: { name: string }[] };
        rows: unknown[][];
      };
      assert.equal(rows.length, want.length);
      rows.forEach((row, i) => {
        for (const name of names) {
          const at = schema.fields.findIndex((field) => field.name === name);
          near(row[at], want[i]?.[name], `row ${i}, ${name}`);
        }
      });
    });
  }
});

/** Compares numbers to 1e-12 relative, and all else exactly. */
function near(got: unknown, want: unknown, where: string): void {
  const value =
    typeof got === 'object' && got !== null && 'values' in got ? (got.values as unknown) : got;
  if (Array.isArray(want) && Array.isArray(value)) {
    assert.equal(value.length, want.length, where);
    want.forEach((one, i) => near(value[i], one, `${where}[${i}]`));
  } else if (typeof want === 'number' && typeof value === 'number') {
    const scale = Math.max(1e-9, Math.abs(want));
    assert.ok(Math.abs(value - want) <= 1e-12 * scale, `${where}: ${value}, expected ${want}`);
  } else {
    assert.deepEqual(value, want, where);
  }
}

describe("README's examples of tabular models", () => {
  let server: ServalProcess;
  before(async () => {
    server = await startServer([join(packageRoot(), 'examples', 'models')]);
  });
  after(() => server.stop());

  const WANTED: readonly (readonly [string, RegExp])[] = [
    ['loan_risk', /"reason":"CAR"[^}]*"risk":1\.0|"risk":1\.0[^}]*"reason":"CAR"/],
    ['iris_tree', /\r\nsetosa,setosa,1\.0,0\.0,0\.0\r\nversicolor,versicolor,0\.0,0\.907/],
    ['house_price', /\[3,80,"Shelbyville",168000\.0\]/],
  ];
  const readme = readFileSync(join(packageRoot(), 'README.md'), 'utf8');
  // A command is an indented line, with the more deeply indented ones after it.
  const commands = [...readme.matchAll(/^ {4}(?:curl|printf) .*(?:\n {8}.*)*/gm)].map(
    ([all]) => all,
  );
  for (const [model, answer] of WANTED) {
    test(model, () => {
      const command = commands.find((one) => one.includes(`/${model}`));
      assert.ok(command !== undefined, `README has a command for ${model}`);
      const here = command.replace('localhost:8000', `127.0.0.1:${server.httpPort}`);
      const { stdout, stderr } = spawnSync('bash', ['-c', here.replace('curl ', 'curl -s ')], {
        encoding: 'utf8',
      });
      assert.match(stdout, answer, `${here}\n${stderr}`);
    });
  }
});
