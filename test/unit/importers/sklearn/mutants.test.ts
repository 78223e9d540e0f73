// Random damage to .skops files: a mutant loads, or is refused with the importer's error; it never
// takes long. The seed is fixed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { importSklearnParts } from '../../../../ts/importers/sklearn/index.js';
import { json, list, logistic, object, objects, pipeline, SkopsWriter } from './files.js';

const ROUNDS = 1500;
const BUDGET_MS = 20_000;
const WORDS = [
  'null',
  '-1',
  '1e999',
  '""',
  '[]',
  '{}',
  '"NdArrayNode"',
  '"JsonNode"',
  '"..."',
  '9',
];

/** Numbers from 0 to below `limit`, always the same. */
function randomOf(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function fileOf(): Map<string, Uint8Array> {
  const writer = new SkopsWriter();
  const encoder = object('OneHotEncoder', {
    handle_unknown: json('error'),
    categories_: list(objects(json('a'), json('b'), json(null))),
  });
  const scaler = object('StandardScaler', {
    with_mean: json(true),
    with_std: json(true),
    mean_: writer.reals([1]),
    scale_: writer.reals([2]),
  });
  const columns = object('ColumnTransformer', {
    transformers_: list(
      list(json('text'), encoder, list(json(0))),
      list(json('number'), scaler, writer.integers([1])),
    ),
    n_features_in_: json(2),
  });
  const model = logistic(writer, {
    coef_: writer.reals([1, 2, 3, 4], [1, 4]),
    n_features_in_: json(4),
  });
  return writer.file(pipeline(['prepare', columns], ['model', model]));
}

/** Replaces a value or a name of the schema, or bytes of an array. */
function damaged(
  parts: ReadonlyMap<string, Uint8Array>,
  random: (limit: number) => number,
): Map<string, Uint8Array> {
  const made = new Map(parts);
  const names = [...parts.keys()];
  const isSchema = random(3) > 0;
  const name = isSchema ? 'schema.json' : (names[random(names.length)] ?? '');
  const bytes = Buffer.from(parts.get(name) ?? []);
  if (isSchema) {
    const text = bytes.toString('utf8');
    const values = [...text.matchAll(/"(?:[^"\\]|\\.)*"|\d+|null|true|false/g)];
    const value = values[random(values.length)];
    const at = value?.index ?? 0;
    const end = at + (value?.[0].length ?? 0);
    const word = WORDS[random(WORDS.length)] ?? '';
    made.set(name, Buffer.from(text.slice(0, at) + word + text.slice(end)));
    return made;
  }
  if (random(4) === 0) {
    made.set(name, bytes.subarray(0, random(bytes.length)));
    return made;
  }
  for (let i = 0; i <= random(4); i += 1) bytes[random(bytes.length)] = random(256);
  made.set(name, bytes);
  return made;
}

test('mutants load or are refused', async () => {
  const file = fileOf();
  assert.equal((await importSklearnParts('m', file)).plan.outputs.length, 5);
  const random = randomOf(7);
  const began = performance.now();
  let refusals = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    try {
      await importSklearnParts('m', damaged(file, random));
    } catch (error) {
      assert.ok(error instanceof ServalError, `round ${round}: ${String(error)}`);
      assert.equal(error.code, ErrorCode.ModelInvalid);
      assert.doesNotMatch(error.message, /undefined|is not a function|Cannot read/, `${round}`);
      refusals += 1;
    }
  }
  assert.ok(refusals > ROUNDS / 4, `${refusals} refusals`);
  assert.ok(performance.now() - began < BUDGET_MS);
});
