// The share of models that are batched, among those for which generated rows show no coupling: at
// least 95 in 100, over all models of the fixture scripts, the examples and TensorFlow Serving's
// own beside the checkout. Prints the others, with the node. Source: docs/guides/batching.md.
//
//   make t T=test/conformance/joined/share.test.ts
import assert from 'node:assert/strict';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { LoadedModel } from '../../../ts/model/engine-api.js';
import type { Engine } from '../../../ts/engine/engine.js';
import { tempFolder } from '../../unit/temp-folder.js';
import { candidateSets, openEngine, verdictOf } from './candidates.js';

const SHARE_MIN = 0.95;

/** Models that do couple rows, although generated rows do not show it. */
const COUPLED: Readonly<Record<string, string>> = {
  keras2_text_int: 'texts are filled up to the longest of the batch',
};

/** Models without signatures: nothing can be loaded. */
const EMPTY = /bad_half_plus_two/;

/** True if the reason is not the graph: a vector as input, unequal first dimensions. */
const isOther = ({ batchProof, batchFinding }: LoadedModel): boolean =>
  batchProof === 'untried' || /the first dim of /.test(batchFinding);

const isTooSlow = ({ batchFinding }: LoadedModel): boolean =>
  /too slow for the check/.test(batchFinding);

interface Share {
  readonly joined: string[];
  /** Name -> node. */
  readonly kept: Map<string, string>;
}

async function shareOf(t: TestContext, engine: Engine): Promise<Share> {
  const share: Share = { joined: [], kept: new Map() };
  for (const { models } of candidateSets()) {
    for (const one of models) {
      if (EMPTY.test(one.path)) continue;
      const { plain, asked } = await verdictOf(engine, one, tempFolder(t));
      const proved = (plain.rows ?? []).every(({ verdict }) => verdict === 'proved');
      if (proved && plain.batchProof === 'contradicted') {
        assert.fail(`${one.name}: proved, but ${plain.batchFinding}`);
      }
      if (asked.batchProof !== 'proven' && !isTooSlow(asked)) continue;
      if (isOther(plain)) continue;
      if (plain.batchMode === 'auto') share.joined.push(one.name);
      else share.kept.set(one.name, plain.batchFinding);
    }
  }
  return share;
}

describe('models that are joined', () => {
  const missing = candidateSets().flatMap((one) => one.missing ?? []);
  const skip = missing.length > 0 && missing.join('; ');
  let engine: Engine;
  before(async () => {
    engine = await openEngine();
  });
  after(() => engine.close());

  test('are 95 in 100 of those that made-up rows find nothing against', { skip }, async (t) => {
    const { joined, kept } = await shareOf(t, engine);
    for (const name of Object.keys(COUPLED)) {
      assert.ok(kept.delete(name), `${name} couples rows: ${COUPLED[name]}`);
    }
    const all = joined.length + kept.size;
    t.diagnostic(`${joined.length} of ${all} models are joined`);
    for (const [name, why] of kept) t.diagnostic(`not joined: ${name}: ${why}`);
    assert.ok(all > 80, `only ${all} models are tried`);
    assert.ok(joined.length >= all * SHARE_MIN, `${joined.length} of ${all}`);
  });
});
