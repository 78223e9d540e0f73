// The description of access in the start-up line.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf } from '../../../../ts/access/keys.js';
import { OPEN_POLICY, type Policy } from '../../../../ts/access/policy.js';
import { accessFacts, accessText } from '../../../../ts/cli/serve/access-text.js';

const DEFAULT: Policy = { ...OPEN_POLICY, openGroups: ['health', 'metrics'], remoteControl: false };
const CHANGED = 'control, logging, tracing, shared-memory';

test('one line says what is open to whom', () => {
  const key = { name: 'a', digest: digestOf('a'), groups: ['inference'] as const };
  const rule = { header: 'h', digest: digestOf('v'), groups: ['logging'] as const };
  const says = (change: Partial<Policy>): string => accessText({ ...DEFAULT, ...change });
  assert.equal(says({}), `access: anyone may read all; this machine may change ${CHANGED}`);
  assert.equal(
    says({ remoteControl: true }),
    `access: anyone may read all; anyone may change ${CHANGED}`,
  );
  assert.equal(
    says({ keys: [key] }),
    'access: anyone may read health, metrics; the rest needs one of 1 keys',
  );
  assert.equal(
    says({ keys: [key], openGroups: ['health', 'control'] }),
    'access: anyone may read health, control; this machine may change control; ' +
      'the rest needs one of 1 keys',
  );
  assert.match(
    says({ grpcRules: [rule] }),
    /this machine may change control, tracing, shared-memory; restricted by header: logging$/,
  );
});

test('the same for machines, and never a key or a digest', () => {
  const key = { name: 'name-of-key', digest: digestOf('a'), groups: ['inference'] as const };
  const facts = accessFacts({ ...DEFAULT, keys: [key] });
  assert.deepEqual(facts, {
    open: ['health', 'metrics'],
    changesFromAnywhere: [],
    changesFromHere: [],
    keys: 1,
    byHeader: [],
  });
});
