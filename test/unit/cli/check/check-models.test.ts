// The order in which `serval check` loads and unloads the models of ensembles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkedModels } from '../../../../ts/cli/check/check-models.js';
import { ErrorCode } from '../../../../ts/base/errors.js';
import type { DesiredModel } from '../../../../ts/models/registry/desired.js';
import type { Servable } from '../../../../ts/models/registry/snapshot-build.js';
import { desired, loadedModel } from '../../models/registry/fakes.js';

function ensemble(name: string, models: readonly string[]): DesiredModel {
  const plain = desired(name, ['1']);
  const versions = plain.versions.map((one) => ({
    ...one,
    spec: { name, version: '1', backend: 'ensemble' as const },
    ensemble: models.map((model) => ({ model, version: '', inputs: [], outputs: [] })),
  }));
  return { ...plain, versions };
}

/** Returns what happened, and "name: reason" of every model. */
async function check(
  models: readonly DesiredModel[],
  broken: readonly string[] = [],
): Promise<{ readonly events: readonly string[]; readonly results: readonly string[] }> {
  const events: string[] = [];
  let handles = 0;
  const results = await checkedModels(models, {
    load: ({ name, desired: { spec } }: Servable) => {
      const steps = spec.ensemble?.map(({ handle }) => handle).join() ?? '';
      events.push(`load ${name}${steps === '' ? '' : ` of ${steps}`}`);
      if (broken.includes(name)) {
        const error = { errorCode: ErrorCode.ModelInvalid, errorMessage: 'broken' };
        return Promise.resolve({ state: 'END' as const, ...error });
      }
      handles += 1;
      return Promise.resolve({ state: 'AVAILABLE' as const, loaded: loadedModel(handles) });
    },
    unload: ({ name }: Servable) => {
      events.push(`unload ${name}`);
      return Promise.resolve({});
    },
  });
  const lines = results.map(({ name, ok, reason }) => `${name}: ${ok ? 'ok' : reason}`);
  return { events, results: lines };
}

test('models without ensembles are loaded one at a time', async () => {
  const { events } = await check([desired('a', ['1']), desired('b', ['1'])]);
  assert.deepEqual(events, ['load a', 'unload a', 'load b', 'unload b']);
});

test('steps stay loaded until their ensembles are checked', async () => {
  const models = [
    ensemble('f', ['e', 'b']),
    ensemble('e', ['a', 'b']),
    ...['a', 'b', 'c'].map((name) => desired(name, ['1'])),
  ];
  const { events, results } = await check(models);
  assert.deepEqual(events, [
    ...['load a', 'load b', 'load c', 'unload c', 'load e of 1,2', 'load f of 4,2'],
    ...['unload f', 'unload e', 'unload b', 'unload a'],
  ]);
  assert.deepEqual(results, ['f: ok', 'e: ok', 'a: ok', 'b: ok', 'c: ok']);
});

test('an ensemble whose step fails, is missing or is itself is reported', async () => {
  const models = [
    ensemble('e', ['a', 'b']),
    ensemble('n', ['nowhere']),
    ensemble('x', ['y']),
    ensemble('y', ['x']),
    desired('a', ['1']),
    desired('b', ['1']),
  ];
  const { events, results } = await check(models, ['b']);
  assert.deepEqual(results, [
    "e: step 2 needs model 'b', which failed to load: broken",
    "n: step 1 needs model 'nowhere', which is not loaded",
    "x: expected ensembles without a cycle, got 'x' -> 'y' -> 'x'",
    "y: expected ensembles without a cycle, got 'y' -> 'x' -> 'y'",
    'a: ok',
    'b: broken',
  ]);
  assert.deepEqual(events, ['load a', 'load b', 'unload a']);
});
