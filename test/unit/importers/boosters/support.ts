// Files of boosters for tests, and random damage to them. Test time only.
import assert from 'node:assert/strict';
import { importBytes } from '../../../../ts/importers/boosters/index.js';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import type { Output, Plan } from '../../../../ts/importers/plan/generated/plan.js';

/** f0 < 0.5 ? (f1 < 2 ? -0.25 : 0.75) : 1.5; a missing f0 goes left, a missing f1 right. */
export const TREE = {
  left_children: [1, 3, -1, -1, -1],
  right_children: [2, 4, -1, -1, -1],
  split_indices: [0, 1, 0, 0, 0],
  split_conditions: [0.5, 2, 1.5, -0.25, 0.75],
  default_left: [1, 0, 0, 0, 0],
};

export interface DocumentParts {
  readonly objective?: string;
  readonly parameters?: object;
  readonly learner?: object;
  readonly booster?: object;
  readonly trees?: readonly object[];
  readonly groups?: readonly number[];
  readonly model?: object;
}

/** A document of XGBoost. */
export function documentOf(parts: DocumentParts = {}): object {
  const { objective = 'reg:squarederror', trees = [TREE], groups = trees.map(() => 0) } = parts;
  const model = { trees, tree_info: groups, ...parts.model };
  return {
    learner: {
      attributes: {},
      feature_names: [],
      feature_types: [],
      gradient_booster: { model, name: 'gbtree', ...parts.booster },
      learner_model_param: {
        base_score: '5E-1',
        num_class: '0',
        num_feature: '2',
        num_target: '1',
        ...parts.parameters,
      },
      objective: { name: objective },
      ...parts.learner,
    },
    version: [3, 2, 0],
  };
}

export const jsonOf = (document: object): Buffer => Buffer.from(JSON.stringify(document));

/** The same tree as TREE for LightGBM, with categories {0, 33} of c in a second one. */
export const LIGHTGBM = `tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=2
objective=binary sigmoid:1
feature_names=a b c
feature_infos=[-1:1] [0:4] 0:33
tree_sizes=300 300

Tree=0
num_leaves=3
num_cat=0
split_feature=0 1
split_gain=1 1
threshold=0.5 2
decision_type=10 8
left_child=1 -1
right_child=-2 -3
leaf_value=-0.25 1.5 0.75
leaf_weight=1 1 1
is_linear=0
shrinkage=1


Tree=1
num_leaves=2
num_cat=1
split_feature=2
split_gain=1
threshold=0
decision_type=1
left_child=-1
right_child=-2
leaf_value=0.5 -0.5
cat_boundaries=0 2
cat_threshold=1 2
is_linear=0
shrinkage=1


end of trees

feature_importances:
a=1

parameters:
[boosting: gbdt]
end of parameters

pandas_categorical:null
`;

/** LIGHTGBM with a linear first tree. */
export const LINEAR = LIGHTGBM.replace(
  'is_linear=0',
  'is_linear=1\nleaf_const=1 2 3\nnum_features=1 2 0\n' +
    'leaf_features=1 0 1  \nleaf_coeff=0.5 10 100  ',
);

export const planOf = (file: Buffer | string): Plan =>
  importBytes(typeof file === 'string' ? Buffer.from(file) : file, 'model').plan;

/** Checks that an import fails with the importer's error, which matches. */
export function refuses(file: Buffer | string, expected: RegExp): void {
  assert.throws(
    () => planOf(file),
    (error: unknown) => {
      assert.ok(
        error instanceof ServalError && error.code === ErrorCode.ModelInvalid,
        String(error),
      );
      assert.match(error.message, /^model: /);
      assert.match(error.message, expected);
      return true;
    },
  );
}

const MEMORY_BYTES_MAX = 200_000_000;
/** Damaged files that are tried on a machine of any speed. */
const ROUNDS_LEAST = 60;

/** Bytes of the heap and of arrays outside of it. */
function memoryNow(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Numbers from 0 to 1, the same ones each time. */
export function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Damages the file in many ways, `most` times or for `budgetMs`: an import (`load`) either succeeds
 * or fails with the importer's error, soon and without much memory.
 */
export function surviveDamage(
  file: Buffer,
  most: number,
  words: readonly string[],
  budgetMs = Infinity,
  load: (made: Buffer) => unknown = planOf,
): void {
  const next = randoms(1);
  const start = performance.now();
  let rounds = 0;
  const least = Math.min(40, file.length / 2);
  const at = (length: number): number => Math.floor(next() * length);
  let refused = 0;
  for (let round = 0; round < most; round += 1) {
    if (round >= ROUNDS_LEAST && performance.now() - start > budgetMs) break;
    rounds += 1;
    let made = Buffer.from(file);
    for (let i = at(3); i >= 0; i -= 1) {
      const place = at(made.length);
      const kind = at(4);
      if (kind === 0) made[place] = at(256);
      else if (kind === 1) made = made.subarray(0, Math.max(least, place));
      else if (kind === 2) {
        const word = Buffer.from(words[at(words.length)] ?? '', 'latin1');
        made = Buffer.concat([made.subarray(0, place), word, made.subarray(place)]);
      } else {
        const other = at(made.length);
        const part = made.subarray(Math.min(place, other), Math.max(place, other));
        made = Buffer.concat([made.subarray(0, place), part, made.subarray(place)]);
      }
    }
    const began = performance.now();
    const before = memoryNow();
    try {
      load(made);
    } catch (error) {
      const isOurs = error instanceof ServalError && error.code === ErrorCode.ModelInvalid;
      assert.ok(isOurs, `round ${round}: ${error instanceof Error ? error.stack : String(error)}`);
      refused += 1;
    }
    assert.ok(performance.now() - began < 10_000, `round ${round} took too long`);
    const grown = memoryNow() - before;
    assert.ok(grown < MEMORY_BYTES_MAX, `round ${round} needed ${grown} bytes`);
  }
  assert.ok(refused > rounds / 5, `${refused} of ${rounds} refused`);
}

const EXPLANATIONS: readonly string[] = [
  ...['shap_values', 'expected_value', 'leaf_indices', 'tree_margins'],
];

/** The outputs besides those that explain the trees, all of which the plan must have. */
export function ownOutputs({ outputs }: Plan): readonly Output[] {
  const explaining = outputs.filter(({ name }) => EXPLANATIONS.includes(name));
  assert.deepEqual(
    explaining.map(({ name, extra }) => [name, extra]),
    EXPLANATIONS.map((name) => [name, true]),
  );
  return outputs.filter((output) => !explaining.includes(output));
}
