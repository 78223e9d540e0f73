// TensorFlow Lite files against its reference interpreter: single operators, Keras models, and the
// ways in which its converter quantises them. SERVAL_TFLITE_GOLDENS: the golden folder; if it is
// not set, the fixture script makes it. SERVAL_TFLITE_MODELS: only these, separated by commas.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ImportedModel } from '../../../ts/importers/tensorflow/imported.js';
import { importTensorFlow } from '../../../ts/importers/tensorflow/index.js';
import { LITE_OPERATORS } from '../../../ts/importers/tensorflow/lite/ops/index.js';
import { tensorNumbers } from '../../../ts/importers/tensorflow/lower/tensors.js';
import { isFloating } from '../../../ts/importers/tensorflow/lower/values.js';
import type { Tensor } from '../../../ts/importers/tensorflow/types.js';
import { blockedText } from '../../../ts/importers/run/imported-spec.js';
import { tempFolder } from '../../unit/temp-folder.js';
import { goldenFolder } from '../golden-folder.js';
import { tensorDifference } from './support/compare-tensors.js';
import { EngineRunner } from './support/engine-run.js';
import { type GoldenTensor, goldenTensor, NO_GOLDENS } from './support/golden-files.js';

interface LiteCase {
  readonly signature: string;
  readonly inputs: Readonly<Record<string, GoldenTensor>>;
  readonly outputs: Readonly<Record<string, GoldenTensor>>;
  /** How far integers may be from the interpreter's. */
  readonly quanta?: number;
  /** The same for floats. */
  readonly absolute?: number;
  /** Relative; absent: 1e-5. */
  readonly tolerance?: number;
}

interface LiteGolden {
  readonly operators: readonly string[];
  readonly cases: readonly LiteCase[];
}

/** The mean of the differences of integers may be this part of the limit, if there are many. */
const MEAN_MAX = 0.1;
const MANY = 100;

const goldens = goldenFolder('tflite');
const folder = goldens ?? '';
const all =
  goldens === undefined
    ? []
    : readdirSync(folder)
        .filter((name) => existsSync(join(folder, name.replace('.tflite', '.json'))))
        .filter((name) => name.endsWith('.tflite'))
        .map((name) => name.slice(0, -'.tflite'.length))
        .sort();
const names = process.env['SERVAL_TFLITE_MODELS']?.split(',') ?? all;

const goldenOf = (name: string): LiteGolden =>
  JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as LiteGolden;

/** Returns the difference beyond what the case allows; undefined if there is none. */
function difference(want: Tensor, got: Tensor, one: LiteCase): string | undefined {
  const limit = isFloating(want.dtype) ? one.absolute : one.quanta;
  if (limit === undefined) return tensorDifference(want, got, one.tolerance);
  if (want.dtype !== got.dtype || want.shape.join() !== got.shape.join()) {
    return `expected ${want.dtype}[${want.shape}], got ${got.dtype}[${got.shape}]`;
  }
  const have = tensorNumbers(got) ?? [];
  const apart = (tensorNumbers(want) ?? []).map((value, i) => Math.abs(value - (have[i] ?? NaN)));
  const [most, mean] = [Math.max(...apart), apart.reduce((a, b) => a + b, 0) / apart.length];
  const isMean = !isFloating(want.dtype) && apart.length >= MANY;
  const isNear = most <= limit && (!isMean || mean <= MEAN_MAX * limit);
  return isNear ? undefined : `differences up to ${most}, mean ${mean}: expected ${limit}`;
}

describe('TensorFlow Lite', { skip: goldens === undefined && NO_GOLDENS }, () => {
  let engine: EngineRunner;
  before(async () => {
    engine = await EngineRunner.open();
  });
  after(() => engine.close());

  async function differences(
    imported: ImportedModel,
    cases: readonly LiteCase[],
  ): Promise<string[]> {
    const found: string[] = [];
    for (const [i, one] of cases.entries()) {
      const graph = imported.graphs.find(({ signature }) => signature === one.signature);
      if (graph === undefined) return [`no signature ${one.signature}`];
      const feeds = new Map(
        Object.entries(one.inputs).map(([alias, value]) => [alias, goldenTensor(value)]),
      );
      const got = await engine.run(imported, graph, feeds).catch((error: unknown) => error);
      if (!(got instanceof Map)) {
        found.push(`call ${i}: ${String(got).slice(0, 600)}`);
        continue;
      }
      for (const [alias, value] of Object.entries(one.outputs)) {
        const output = got.get(alias) as Tensor | undefined;
        const text =
          output === undefined ? 'no output' : difference(goldenTensor(value), output, one);
        if (text !== undefined) found.push(`call ${i}, ${alias}: ${text}`);
      }
    }
    return found;
  }

  for (const name of names) {
    test(name, async (t) => {
      const { cases } = goldenOf(name);
      assert.notEqual(cases.length, 0);
      const workFolder = tempFolder(t);
      const imported = importTensorFlow(join(folder, `${name}.tflite`), { workFolder });
      assert.deepEqual(imported.blocked.map(blockedText), []);
      try {
        assert.deepEqual(await differences(imported, cases), []);
      } finally {
        await engine.unload(imported);
      }
    });
  }

  test('the comparison sees wrong numbers', async (t) => {
    const imported = importTensorFlow(join(folder, 'int8_conv.tflite'), {
      workFolder: tempFolder(t),
    });
    const { cases } = goldenOf('int8_conv');
    const inputs = cases[0]?.inputs ?? {};
    const wrong = cases.slice(1).map((one) => ({ ...one, inputs }));
    assert.notDeepEqual(await differences(imported, wrong), []);
    await engine.unload(imported);
  });

  test('the models contain most of the operators that are lowered', () => {
    const met = new Set(all.flatMap((name) => goldenOf(name).operators));
    const missing = Object.keys(LITE_OPERATORS).filter((name) => !met.has(name));
    assert.deepEqual(missing, UNMET);
  });
});

/** Operators that TensorFlow's current converter writes for none of the models. */
const UNMET: readonly string[] = [
  ...['BITCAST', 'FAKE_QUANT', 'IMAG', 'LOGICAL_NOT', 'REAL', 'CONV_3D_TRANSPOSE', 'L2_POOL_2D'],
  ...['UNIDIRECTIONAL_SEQUENCE_RNN', 'EMBEDDING_LOOKUP', 'RANK', 'SQUEEZE'],
];
