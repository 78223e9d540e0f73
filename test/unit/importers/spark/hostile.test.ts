// Models with damaged bytes, members and files: the result is a plan or MODEL_INVALID, never
// another error, and never an endless run.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ErrorCode, ServalError } from '../../../../ts/base/errors.js';
import { lowerSpark } from '../../../../ts/importers/spark/index.js';
import { modelFiles, openFiles, pipeline } from './support/model.js';
import { assembler, ensemble, logistic, oneHot, stringIndexer } from './support/stages.js';

const leaf = (prediction: number) => ({ prediction, stats: [1, 2] });
const split = { ...leaf(0), split: [0, 0.5] as const, left: leaf(0), right: leaf(1) };
const model = modelFiles(
  pipeline(
    stringIndexer('c', 'i', ['x', 'y', 'z']),
    oneHot('i', 'v', 3),
    assembler(['v', 'a']),
    logistic([1, 2, 3], 0.5, { predictionCol: 'p', probabilityCol: 'q', rawPredictionCol: 'r' }),
    ensemble('classification.RandomForestClassificationModel', [split, leaf(1)], [1, 1], {
      numFeatures: 3,
      numClasses: 2,
    }),
  ),
);

function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** True if it is refused. */
async function isRefused(files: Map<string, Uint8Array>, what: string): Promise<boolean> {
  try {
    await lowerSpark(openFiles(files));
    return false;
  } catch (error) {
    assert.ok(error instanceof ServalError, `${what}: ${String((error as Error).stack)}`);
    assert.equal(error.code, ErrorCode.ModelInvalid, what);
    return true;
  }
}

const names = [...model.keys()].filter((name) => /part-[^.]*\.?.*(?<!crc)$/.test(name));

describe('hostile models', () => {
  test('accepts the undamaged model', async () => {
    assert.equal(await isRefused(model, 'the model'), false);
  });

  test('other bytes anywhere', async () => {
    const random = randomNumbers(11);
    let refused = 0;
    for (let round = 0; round < 200; round++) {
      const name = names[random(names.length)] ?? '';
      const bytes = Uint8Array.from(model.get(name) ?? []);
      for (let i = 0; i <= random(3); i++) bytes[random(bytes.length)] = random(256);
      const files = new Map(model).set(name, bytes);
      if (await isRefused(files, `${name}, round ${round}`)) refused += 1;
    }
    assert.ok(refused > 60, `${refused} of 200`);
  });

  test('files cut short, empty or away', async () => {
    for (const name of names) {
      const bytes = model.get(name) ?? new Uint8Array();
      for (const length of [0, 1, 9, bytes.length >> 1, bytes.length - 1]) {
        const files = new Map(model).set(name, bytes.subarray(0, length));
        // A JSON object is complete without the line's end.
        const isWhole = name.includes('metadata/') && length === bytes.length - 1;
        assert.equal(await isRefused(files, `${name} of ${length}`), !isWhole, `${name} ${length}`);
      }
      const files = new Map(model);
      files.delete(name);
      // The other parts of a table may be a complete tree.
      await isRefused(files, `without ${name}`);
    }
  });

  test('members of the metadata that are something else', async () => {
    const values = [null, 7, -1, 'x', [], [[]], {}, true, 1e300, ['x', 7]];
    const random = randomNumbers(5);
    for (const name of names.filter((file) => file.includes('metadata/part'))) {
      const json = JSON.parse(Buffer.from(model.get(name) ?? []).toString()) as Record<
        string,
        object
      >;
      for (const member of Object.keys(json)) {
        const value = values[random(values.length)];
        const bytes = Buffer.from(JSON.stringify({ ...json, [member]: value }));
        await isRefused(new Map(model).set(name, bytes), `${name}: ${member}`);
      }
      for (const param of Object.keys(json['paramMap'] ?? {})) {
        for (const value of values) {
          const paramMap = { ...json['paramMap'], [param]: value };
          const bytes = Buffer.from(JSON.stringify({ ...json, paramMap }));
          await isRefused(new Map(model).set(name, bytes), `${name}: ${param}`);
        }
      }
    }
  });
});
