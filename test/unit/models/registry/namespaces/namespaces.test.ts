// Models of equal names in several repositories: their names, what stands for the plain name, the
// steps of ensembles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DesiredModels,
  sameDesired,
} from '../../../../../ts/models/registry/sources/desired-models.js';
import type { Desired, Seen } from '../../../../../ts/models/registry/sources/desired-models.js';
import { ExplicitModels } from '../../../../../ts/models/registry/sources/explicit-models.js';
import type { FoundModel } from '../../../../../ts/models/registry/sources/scan.js';
import { NO_CONFIG } from '../../../../../ts/models/registry/sources/scan.js';
import { found } from '../sources/found-model.js';
import { CONFIG } from '../sources/source-setup.js';

function deciding(namespacing = true): (models: readonly FoundModel[]) => Desired {
  const config = { ...CONFIG, control: { ...CONFIG.control, namespacing } };
  const models = new DesiredModels(config, new ExplicitModels(config.control));
  return (all) => {
    const seen: Seen = {
      found: all,
      batching: undefined,
      notes: [],
      repositories: ['/one', '/two'],
      places: [],
    };
    return models.decide(seen, () => []);
  };
}

const at = (repository: string, name: string, more: Partial<FoundModel> = {}): FoundModel =>
  found('1a', { name, basePath: `/${repository}/${name}`, ...more });

function ensemble(repository: string, name: string, steps: readonly string[]): FoundModel {
  const step = steps.map((model) => ({ model_name: model, model_version: -1 }));
  const config = { platform: 'ensemble', ensemble_scheduling: { step } };
  return at(repository, name, { config: { ...NO_CONFIG, config } });
}

const namesOf = ({ models }: Desired): readonly string[] =>
  models.map(({ name, versions }) => `${name}/${versions.length}`);
const stepsOf = ({ models }: Desired, name: string): readonly string[] | undefined =>
  models.find((one) => one.name === name)?.versions[0]?.ensemble?.map(({ model }) => model);

test('equal names get their namespace; the plain name says so, and is not required', () => {
  const desired = deciding()([at('one', 'm'), at('two', 'm'), at('two', 'n')]);
  assert.deepEqual(namesOf(desired), ['n/1', 'one::m/1', 'two::m/1', 'm/0']);
  const stand = desired.models.find(({ name }) => name === 'm');
  assert.equal(
    stand?.problem,
    'the name is that of several models: expected one of one::m, two::m',
  );
  assert.equal(stand.required, false);
  assert.deepEqual(desired.problems, []);
});

test('repositories of equal names are called by their paths', () => {
  const desired = deciding()([at('a/models', 'm'), at('b/models', 'm'), at('c', 'm')]);
  assert.deepEqual(namesOf(desired), ['/a/models::m/1', '/b/models::m/1', 'c::m/1', 'm/0']);
});

test("a model that is no repository's keeps its plain name beside them", () => {
  const own = at('base', 'm', { source: 'base-path' });
  const desired = deciding()([own, at('one', 'm'), at('two', 'm')]);
  assert.deepEqual(namesOf(desired), ['m/1', 'one::m/1', 'two::m/1']);
});

test('a folder named like a generated name is refused with that model; both are named', () => {
  const decide = deciding();
  const all = [at('one', 'm'), at('two', 'm'), at('three', 'one::m'), at('three', 'n')];
  const desired = decide(all);
  assert.deepEqual(namesOf(desired), ['n/1', 'two::m/1', 'm/0', 'one::m/0']);
  const stand = desired.models.find(({ name }) => name === 'one::m');
  const reason =
    'the name is that of /one/m (by its namespace) and of /three/one::m (its own name): ' +
    'rename one of them';
  assert.equal(stand?.problem, reason);
  assert.deepEqual(desired.problems, [`model 'one::m': ${reason}`]);
  assert.ok(desired.grave.has(`model 'one::m': ${reason}`));
  assert.equal(sameDesired(desired, decide(all)), true);
  const renamed = decide([at('one', 'm'), at('two', 'm'), at('three', 'n')]);
  assert.deepEqual(namesOf(renamed), ['n/1', 'one::m/1', 'two::m/1', 'm/0']);
});

test('a folder of such a name is served while no model gets that name', () => {
  const desired = deciding()([at('one', 'm'), at('three', 'one::m')]);
  assert.deepEqual(namesOf(desired), ['m/1', 'one::m/1']);
  assert.deepEqual(desired.problems, []);
});

test('two generated names that are equal are refused', () => {
  const desired = deciding()([
    ...[at('a', 'b::m'), at('c', 'b::m')],
    ...[at('a::b', 'm'), at('d', 'm')],
  ]);
  assert.deepEqual(namesOf(desired), ['c::b::m/1', 'd::m/1', 'b::m/0', 'm/0', 'a::b::m/0']);
  assert.match(
    desired.problems.join(),
    /is that of \/a\/b::m \(by its namespace\) and of \/a::b\/m \(by its namespace\)/,
  );
});

test('off: the first is served', () => {
  const desired = deciding(false)([at('one', 'm'), at('two', 'm')]);
  assert.deepEqual(namesOf(desired), ['m/1']);
  assert.match(desired.problems.join(), /the first is served/);
});

test('a step uses the model of its own repository, or else the only model of that name', () => {
  const both = [at('one', 'm'), at('two', 'm'), at('two', 'n')];
  const desired = deciding()([
    ...both,
    ensemble('one', 'e', ['m', 'n']),
    ensemble('two', 'f', ['m']),
    ensemble('three', 'g', ['m']),
    ensemble('one', 'h', ['m']),
    ensemble('two', 'h', ['m']),
  ]);
  assert.deepEqual(stepsOf(desired, 'e'), ['one::m', 'n']);
  assert.deepEqual(stepsOf(desired, 'f'), ['two::m']);
  assert.deepEqual(stepsOf(desired, 'g'), ['m'], 'it is refused with the reason of m');
  assert.deepEqual(stepsOf(desired, 'one::h'), ['one::m']);
  assert.deepEqual(stepsOf(desired, 'two::h'), ['two::m']);
});

test('a step follows the models that come and go', () => {
  const decide = deciding();
  const [one, two, chain] = [at('one', 'm'), at('two', 'm'), ensemble('two', 'e', ['m'])];
  assert.deepEqual(stepsOf(decide([one, chain]), 'e'), ['m']);
  assert.deepEqual(stepsOf(decide([one, two, chain]), 'e'), ['two::m']);
  assert.deepEqual(stepsOf(decide([two, chain]), 'e'), ['m']);
});

test('nothing is done when nothing has changed', () => {
  const decide = deciding();
  const all = [at('one', 'm'), at('two', 'm'), ensemble('one', 'e', ['m'])];
  assert.equal(sameDesired(decide(all), decide(all)), true);
});
