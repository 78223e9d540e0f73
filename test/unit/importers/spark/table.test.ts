// Tables of Spark models: parquet files of every shape and codec that Spark writes, in one part or
// several, and invalid files.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  integersCell,
  matrixCell,
  numberMap,
  textsCell,
  vectorCell,
} from '../../../../ts/importers/spark/read/cells.js';
import { StageProblem } from '../../../../ts/importers/spark/read/problem.js';
import { readTable } from '../../../../ts/importers/spark/read/table.js';
import {
  type Codec,
  dense,
  MATRIX,
  parquet,
  type Row,
  type Shape,
  sparse,
  VECTOR,
} from './support/parquet.js';

type Columns = Readonly<Record<string, Shape>>;

const read = (columns: Columns, rows: readonly Row[], codec: Codec = 'none') =>
  readTable('data', [{ name: 'data/part-0.parquet', bytes: parquet(columns, rows, codec) }]);

const problem = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StageProblem, String(error));
  assert.match(error.message, message);
  return true;
};

describe('tables', () => {
  for (const codec of ['none', 'snappy', 'gzip', 'brotli'] as const) {
    test(`values of every type, ${codec}`, async () => {
      const table = await read(
        { b: 'boolean', i: 'int', l: 'long', f: 'float', d: 'double', s: 'string' },
        [
          { b: true, i: -7, l: 2 ** 40, f: 0.5, d: 1 / 3, s: 'é' },
          { b: false, i: 2147483647, l: -1, f: -2, d: Number.NaN, s: '' },
          {},
        ],
        codec,
      );
      assert.equal(table.rowCount, 3);
      assert.deepEqual(table.columns, ['b', 'i', 'l', 'f', 'd', 's']);
      assert.deepEqual(table.column(['b']), [true, false, undefined]);
      assert.deepEqual(table.column(['i']), [-7, 2147483647, undefined]);
      assert.deepEqual(table.column(['l']), [2n ** 40n, -1n, undefined]);
      assert.deepEqual(table.column(['f']), [0.5, -2, undefined]);
      assert.deepEqual(table.column(['d']), [1 / 3, Number.NaN, undefined]);
      assert.deepEqual(table.column(['s']), ['é', '', undefined]);
    });
  }

  test('lists, structures and maps inside one another', async () => {
    const table = await read(
      {
        lists: { list: { list: 'string' } },
        maps: { map: ['int', { map: ['double', 'int'] }] },
        tree: { struct: { id: 'int', split: { struct: { values: { list: 'double' } } } } },
      },
      [
        {
          lists: [['a', 'b'], [], ['c']],
          maps: [
            [
              3,
              [
                [0.5, 1],
                [-0.5, 0],
              ],
            ],
            [1, []],
          ],
          tree: { id: 1, split: { values: [0.25] } },
        },
        { lists: [], maps: [], tree: { id: 2 } },
      ],
    );
    const [lists] = table.column(['lists']);
    assert.deepEqual(
      (lists as unknown[]).map((list) => textsCell(list, 'lists')),
      [['a', 'b'], [], ['c']],
    );
    const map = new Map(numberMap(table.column(['maps'])[0], 'maps'));
    assert.deepEqual(
      new Map(numberMap(map.get(3), 'maps')),
      new Map([
        [0.5, 1],
        [-0.5, 0],
      ]),
    );
    const trees = table.column(['tree']) as { id: number; split?: { values: number[] } }[];
    assert.deepEqual(
      trees.map(({ id }) => id),
      [1, 2],
    );
    assert.deepEqual([...(trees[0]?.split?.values ?? [])], [0.25]);
  });

  test('several parts are one table, empty ones too', async () => {
    const columns = { id: 'int' } as const;
    const parts = [[{ id: 1 }, { id: 2 }], [], [{ id: 3 }]].map((rows, i) => ({
      name: `part-${i}`,
      bytes: parquet(columns, rows, 'snappy'),
    }));
    const table = await readTable('data', parts);
    assert.deepEqual(table.column(['id']), [1, 2, 3]);
  });

  test('columns by name, by another name and by position', async () => {
    const table = await read({ _1: 'int', _2: 'string' }, [{ _1: 4, _2: 'x' }]);
    assert.deepEqual(table.column(['treeID', '_1']), [4]);
    assert.deepEqual(table.column(['metadata'], 1), ['x']);
    assert.equal(table.find('treeID'), undefined);
    assert.throws(
      () => table.column(['weights'], 2),
      problem(/^data has no column 'weights' \(its columns: _1, _2\)$/),
    );
  });

  test('refuses invalid and truncated parquet files', async () => {
    const good = parquet({ id: 'int', s: 'string' }, [{ id: 1, s: 'abcdefgh' }], 'snappy');
    const bad: [string, Uint8Array][] = [
      ['empty', new Uint8Array(0)],
      ['text', Buffer.from('{"class":"no parquet"}')],
      ['half', good.subarray(0, good.length / 2)],
      ['without its beginning', good.subarray(good.length / 2)],
    ];
    for (const [name, bytes] of bad) {
      await assert.rejects(
        readTable('data', [{ name, bytes }]),
        problem(new RegExp(`^${name} is not a Parquet file: `)),
        name,
      );
    }
  });

  test('a byte that is another one gives other values or a problem, nothing else', async () => {
    const columns = { id: 'int', split: { struct: { values: { list: 'double' } } } } as const;
    const rows = [0, 1, 2].map((id) => ({ id, split: { values: [id, 0.5] } }));
    const good = parquet(columns, rows, 'gzip');
    let refused = 0;
    for (let at = 0; at < good.length; at++) {
      const bytes = Uint8Array.from(good);
      bytes[at] = (bytes[at] ?? 0) ^ 0x15;
      try {
        await readTable('data', [{ name: 'changed', bytes }]);
      } catch (error) {
        assert.ok(error instanceof StageProblem, `byte ${at}: ${String(error)}`);
        refused += 1;
      }
    }
    assert.ok(refused > good.length / 4, `${refused} of ${good.length}`);
  });

  test('a page that would become too long is not unpacked', async () => {
    const bytes = parquet({ s: 'string' }, [{ s: 'abc' }], 'gzip', 2 ** 30 + 1);
    await assert.rejects(
      readTable('data', [{ name: 'huge', bytes }]),
      problem(
        /^huge is not a Parquet file: expected pages of at most 1073741824 bytes, got 1073741825$/,
      ),
    );
  });
});

describe('cells', () => {
  test('vectors, dense and sparse', async () => {
    const table = await read({ v: VECTOR }, [
      { v: dense(1, 0, 2.5) },
      { v: sparse(4, [1, 3], [7, -8]) },
      { v: sparse(0, [], []) },
    ]);
    const vectors = table.column(['v']).map((cell) => [...vectorCell(cell, 'v')]);
    assert.deepEqual(vectors, [[1, 0, 2.5], [0, 7, 0, -8], []]);
  });

  test('matrices come row by row, however they are stored', async () => {
    const shape = { numRows: 2, numCols: 3 };
    const table = await read({ m: MATRIX }, [
      { m: { type: 1, ...shape, values: [1, 2, 3, 4, 5, 6], isTransposed: false } },
      { m: { type: 1, ...shape, values: [1, 3, 5, 2, 4, 6], isTransposed: true } },
      {
        m: {
          type: 0,
          ...shape,
          colPtrs: [0, 1, 1, 3],
          rowIndices: [1, 0, 1],
          values: [2, 5, 6],
          isTransposed: false,
        },
      },
      {
        m: {
          type: 0,
          ...shape,
          colPtrs: [0, 1, 3],
          rowIndices: [2, 0, 2],
          values: [5, 2, 6],
          isTransposed: true,
        },
      },
    ]);
    const matrices = table.column(['m']).map((cell) => [...matrixCell(cell, 'm').values]);
    assert.deepEqual(matrices, [
      [1, 3, 5, 2, 4, 6],
      [1, 3, 5, 2, 4, 6],
      [0, 0, 5, 2, 0, 6],
      [0, 0, 5, 2, 0, 6],
    ]);
  });

  test('refuses invalid vectors and matrices', () => {
    const vectors: unknown[] = [
      undefined,
      [1, 2],
      { type: 2, values: [] },
      { type: 0, size: 2, indices: [0, 1, 1], values: [1] },
      { type: 0, size: 2, indices: [2], values: [1] },
      { type: 0, size: 2, indices: [-1], values: [1] },
      { type: 0, size: -1, indices: [], values: [] },
      { type: 0, size: 2 ** 31, indices: [], values: [] },
      { type: 1, values: ['1'] },
    ];
    for (const cell of vectors) assert.throws(() => vectorCell(cell, 'std'), problem(/^std is /));
    const matrices: unknown[] = [
      { type: 1, numRows: 2, numCols: 2, values: [1, 2, 3] },
      { type: 1, numRows: -2, numCols: -2, values: [1, 2, 3, 4] },
      { type: 1, numRows: 2 ** 30, numCols: 2 ** 30, values: [] },
      { type: 0, numRows: 2, numCols: 1, colPtrs: [0, 9], rowIndices: [0], values: [1] },
      { type: 0, numRows: 2, numCols: 1, colPtrs: [0, 1], rowIndices: [2], values: [1] },
      { type: 0, numRows: 2, numCols: 2, colPtrs: [0, 5, 1], rowIndices: [0], values: [1] },
      { type: 0, numRows: 2, numCols: 1, colPtrs: [-3, 1], rowIndices: [0], values: [1] },
    ];
    for (const cell of matrices) assert.throws(() => matrixCell(cell, 'pc'), problem(/^pc is /));
    assert.throws(() => integersCell([1, 0.5], 'layers'), problem(/^layers is 0.5: expected an/));
  });
});
