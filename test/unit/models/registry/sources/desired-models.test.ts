// The desired models, decided from scanned sources: no folders, no engine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DesiredModels,
  sameDesired,
  notFound,
} from '../../../../../ts/models/registry/sources/desired-models.js';
import type { Desired, Seen } from '../../../../../ts/models/registry/sources/desired-models.js';
import { ExplicitModels } from '../../../../../ts/models/registry/sources/explicit-models.js';
import type { FoundModel } from '../../../../../ts/models/registry/sources/scan.js';
import { found } from './found-model.js';
import { CONFIG } from './source-setup.js';

type Control = Partial<(typeof CONFIG)['control']>;

function asking(control: Control = {}): { explicit: ExplicitModels; models: DesiredModels } {
  const config = { ...CONFIG, control: { ...CONFIG.control, ...control } };
  const explicit = new ExplicitModels(config.control);
  return { explicit, models: new DesiredModels(config, explicit) };
}

function seen(models: readonly FoundModel[], problems: readonly string[] = []): Seen {
  const places = [{ what: '/r', faults: problems, problems }];
  return { found: models, batching: undefined, notes: [], repositories: ['/r'], places };
}

const NONE_SERVE = (): readonly string[] => [];
const names = ({ models }: Desired): string =>
  models.map(({ name, versions }) => `${name}/${versions.map((one) => one.version)}`).join(' ');

test('a name found twice is asked for once, as it was found first', () => {
  const { models } = asking();
  const first = found('1a', { basePath: '/first' });
  const desired = models.decide(seen([first, found('2a', { basePath: '/second' })]), NONE_SERVE);
  assert.equal(names(desired), 'm/1');
  assert.deepEqual(desired.problems, [
    "model 'm' is in /first and in /second: the first is served",
  ]);
});

test('explicit: what was said by call, or at start, and base paths', () => {
  const { explicit, models } = asking({ mode: 'explicit', loadModels: ['b', 'none'] });
  const everything = seen([
    ...['a', 'b', 'c'].map((name) => found('1a', { name })),
    found('1a', { name: 'base', source: 'base-path' }),
  ]);
  const decide = (): Desired => models.decide(everything, NONE_SERVE);
  assert.equal(names(decide()), 'b/1 base/1');
  explicit.load('a', undefined);
  explicit.unload('b', ['1']);
  const desired = decide();
  assert.equal(names(desired), 'a/1 base/1');
  assert.deepEqual(
    desired.models.map((one) => one.required),
    [false, true],
  );
  const { message } = notFound('none', everything);
  assert.equal(message, "model 'none' not found: searched /r");
  assert.deepEqual(desired.faults, [`--load-model: ${message}`]);
});

test('returns the same object for unchanged models, so that nothing is done', () => {
  const { explicit, models } = asking({ mode: 'explicit', loadModels: ['m'] });
  const [one, other] = [found('1a'), found('1a', { name: 'n' })];
  const before = models.decide(seen([one]), NONE_SERVE);
  assert.equal(sameDesired(undefined, before), false);
  assert.equal(sameDesired(before, models.decide(seen([one, other]), NONE_SERVE)), true);
  explicit.load('n', undefined);
  const both = models.decide(seen([one, other]), NONE_SERVE);
  assert.equal(sameDesired(before, both), false);
  assert.equal(both.models[0], before.models[0]);
});

test('faults of the start, and models without versions, are grave', () => {
  const { models } = asking();
  const good = found('1a', { problems: ['m/2 has no model'] });
  const empty = found('', { name: 'empty', problems: ['empty has no version'] });
  const desired = models.decide(seen([good, empty], ['/r is odd']), NONE_SERVE);
  assert.deepEqual(desired.faults, ['/r is odd']);
  assert.deepEqual([...desired.grave], ['/r is odd', 'empty has no version']);
  assert.ok(desired.problems.includes('m/2 has no model'));
  models.decide(seen([good]), NONE_SERVE);
  assert.deepEqual(models.decide(seen([good], ['/r is odd']), NONE_SERVE).faults, []);
});

test('labels for versions that are not there are refused where asked, and stay', () => {
  const { models } = asking({ labelsForUnavailable: false });
  const decide = (labels: Record<string, string>, serves: readonly string[] = []): Desired =>
    models.decide(seen([found('1a', { labels, pending: ['2'] })]), () => serves);
  const labelsOf = ({ models: [one] }: Desired): unknown => one?.labels;
  assert.deepEqual(labelsOf(decide({ a: '1', b: '2' })), { a: '1', b: '2' });
  const refused = decide({ a: '9', b: '1' });
  assert.deepEqual(labelsOf(refused), { a: '1', b: '1' });
  assert.match(refused.problems.join(), /assign label to version 9 of model m/);
  assert.deepEqual(labelsOf(decide({ a: '8' }, ['8'])), { a: '8' });
});
