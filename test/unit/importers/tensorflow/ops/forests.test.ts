// Lowerings of decision forests: the ONNX operators of each kind of condition, and refusals. What
// they answer: test/conformance/tensorflow/added-models.test.ts.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FOREST_DEPTH_MAX } from '../../../../../ts/base/limits.js';
import type { Value } from '../../../../../ts/importers/tensorflow/lower/values.js';
import type { Shape } from '../../../../../ts/importers/tensorflow/types.js';
import { readEnsemble } from '../../../../../ts/importers/ydf/ensemble.js';
import {
  bin,
  COLOURS,
  contains,
  GROWN,
  higher,
  isMissing,
  isTrue,
  oblique,
  type TestModel,
  type TestNode,
  ydfFiles,
} from '../../boosters/ydf-files.js';
import { int, type Lowered, lowerOne, refusal, tensor } from './lower-one.js';

const PREDICT = 'SimpleMLInferenceOpWithHandle';
const LEAVES = 'SimpleMLInferenceLeafIndexOpWithHandle';

interface Given {
  readonly op?: string;
  /** null: even its rank is not known. */
  readonly numerical?: Shape | null;
  readonly boolean?: Shape;
  readonly categorical?: Shape;
  readonly width?: number;
  readonly isGeneral?: boolean;
  readonly handle?: Value;
}

function argumentsOf(model: TestModel, given: Given = {}): Parameters<typeof lowerOne> {
  const { op = PREDICT, numerical = [undefined, 2], boolean = [0, 0] } = given;
  const handle: Value = { kind: 'opaque', what: 'decision forest', data: 'model' };
  const inputs: Value[] = [
    tensor('float', numerical ?? undefined),
    tensor('float', boolean),
    tensor('int32', given.categorical ?? [0, 0]),
    tensor('int32', [0]),
    tensor('int64', [1]),
    tensor('int64', [1]),
    given.handle ?? handle,
  ];
  const loaded = { ensemble: readEnsemble(ydfFiles(model)), isGeneral: given.isGeneral === true };
  const attributes = op === PREDICT ? { dense_output_dim: int(given.width ?? 1) } : {};
  return [op, inputs, attributes, new Map([['model', loaded]])];
}

const lowered = (model: TestModel = {}, given: Given = {}): Lowered =>
  lowerOne(...argumentsOf(model, given));
const refused = (model: TestModel = {}, given: Given = {}): string =>
  refusal(...argumentsOf(model, given));
const one = (on: number, test: ReturnType<typeof higher>): readonly TestNode[] => [
  { on, test, no: 1, yes: 2 },
];
const COLOUR_BANKS = {
  numerical: [0, 0],
  boolean: [undefined, 1],
  categorical: [undefined, 2],
} as const;

describe('a decision forest', () => {
  test('becomes trees that find leaves, and one sum in the order of the trees', () => {
    const { values, nodes } = lowered();
    assert.deepEqual(
      values.map(({ dtype, shape }) => [dtype, shape]),
      [
        ['float', [undefined, 1]],
        ['string', [1]],
      ],
    );
    const trees = nodes.filter((op) => op === 'TreeEnsembleRegressor' || op === 'CumSum');
    assert.deepEqual(trees, ['TreeEnsembleRegressor', 'CumSum']);
  });

  test('adds in doubles if the general engine runs it', () => {
    const casts = (isGeneral: boolean): number =>
      lowered({}, { isGeneral }).nodes.filter((op) => op === 'Cast').length;
    assert.equal(casts(true), casts(false) + 1);
  });

  test('tests sets, flags, missing values and sums of features', () => {
    const colours = (grown: readonly TestNode[]): readonly string[] =>
      lowered({ columns: COLOURS, grown }, COLOUR_BANKS).nodes;
    assert.ok(colours(one(1, contains(1, 2))).includes('Where'));
    assert.ok(!colours(one(2, isTrue)).includes('Where'));
    assert.ok(colours(one(1, isMissing)).includes('Equal'));
    assert.ok(colours(one(2, isMissing)).includes('IsNaN'));
    const { nodes } = lowered({ grown: one(1, oblique([1, 2], [1, -1], 0.5)) });
    assert.deepEqual(
      nodes.filter((op) => op === 'Mul' || op === 'IsNaN'),
      ['Mul', 'Mul'],
    );
    const replaced = lowered({ grown: one(1, oblique([1, 2], [1, -1], 0.5, [3, 4])) });
    assert.equal(replaced.nodes.filter((op) => op === 'IsNaN').length, 2);
  });

  test('reads exactly its columns of an input whose width is not known', () => {
    const gathers = (numerical: Shape | null): number =>
      lowered({}, { numerical }).nodes.filter((op) => op === 'Gather').length;
    assert.equal(gathers([undefined, undefined]), gathers([undefined, 2]) + 1);
    assert.equal(gathers(null), gathers([undefined, 2]) + 1);
  });

  test('gives its leaves', () => {
    const { values } = lowered({}, { op: LEAVES });
    assert.deepEqual(
      values.map(({ dtype, shape }) => [dtype, shape]),
      [['int32', [undefined, 2]]],
    );
  });
});

/** A tree of this number of levels. */
function deep(levels: number): TestNode {
  let tree: TestNode = 0;
  for (let level = 0; level < levels; level += 1) {
    tree = { on: 1, test: higher(level), no: 1, yes: tree };
  }
  return tree;
}

describe('a decision forest is refused', () => {
  test('without a loaded model', () => {
    const handle: Value = { kind: 'opaque', what: 'decision forest', data: 'other' };
    assert.match(refused({}, { handle }), /the model 'other' was not loaded/);
    assert.match(
      refused({}, { handle: tensor('float', []) }),
      /input 6 is a tensor, expected a decision forest/,
    );
  });

  test('with inputs or outputs of another width', () => {
    assert.equal(
      refused({}, { numerical: [4, 3] }),
      'numerical_features: expected 2 columns, got 3',
    );
    assert.equal(refused({}, { numerical: [2] }), 'numerical_features: expected rank 2, got 1');
    assert.equal(
      refused({}, { width: 2 }),
      'dense_output_dim: expected 1, the outputs of the model, got 2',
    );
  });

  test('with features or conditions that do not fit', () => {
    const columns = [...COLOURS.slice(0, 1), { name: 'set', type: 'CATEGORICAL_SET' } as const];
    assert.equal(
      refused({ columns, grown: [1] }, { numerical: [0, 0] }),
      "feature 'set': features of type CATEGORICAL_SET are not supported",
    );
    const colour = { columns: COLOURS };
    assert.equal(
      refused({ ...colour, grown: one(1, higher(1)) }, COLOUR_BANKS),
      "feature 'colour': a condition 'higher' does not fit",
    );
    assert.equal(
      refused({ ...colour, grown: one(1, contains(9)) }, COLOUR_BANKS),
      "feature 'colour': category 9 does not exist",
    );
    assert.equal(refused({ grown: one(2, bin(9)) }), "feature 'b': bin 9 does not exist");
    assert.match(refused({ grown: one(1, higher(Number.NaN)) }), /a threshold is NaN/);
    assert.match(
      refused({ grown: one(1, oblique([1, 2], [1], 0)) }),
      /has 2 attributes, 1 weights and 0 na_replacements/,
    );
  });

  test('with trees that are too deep, no trees, or a loss that is not supported', () => {
    const most = lowered({ grown: [deep(FOREST_DEPTH_MAX)] }, { op: LEAVES });
    assert.ok(most.nodes.includes('TreeEnsembleRegressor'));
    assert.equal(
      refused({ grown: [GROWN[0] ?? 1, deep(FOREST_DEPTH_MAX + 1)] }),
      `tree 1: expected at most ${FOREST_DEPTH_MAX} levels, got more`,
    );
    assert.equal(refused({ grown: [] }), 'the model has no trees');
    assert.match(refused({ loss: 10 }), /the loss COX_PROPORTIONAL_HAZARD is not supported/);
  });
});
