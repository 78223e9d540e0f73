// Access rules of gRPC methods: the listener's table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTROL_CHANGE, HEALTH, INFERENCE } from '../../../../ts/access/groups.js';
import { digestOf } from '../../../../ts/access/keys.js';
import { OPEN_POLICY, callAccess, type Policy } from '../../../../ts/access/policy.js';
import { nativeAccess, type AccessOf } from '../../../../ts/listeners/grpc/access.js';

const POLICY: Policy = {
  ...OPEN_POLICY,
  keys: [
    { name: 'a', digest: digestOf('a'), groups: ['inference'], caller: 5 },
    { name: 'b', digest: digestOf('b'), groups: ['control'] },
  ],
  openGroups: ['health'],
  remoteControl: false,
};
const by =
  (policy: Policy): AccessOf =>
  (call) =>
    callAccess(policy, call, 'grpc');

test('the table has each kind once, with digests one behind the other', () => {
  const kinds = [INFERENCE, HEALTH, INFERENCE, undefined, CONTROL_CHANGE];
  const { accesses, ofMethod } = nativeAccess(kinds, by(POLICY));
  assert.deepEqual(ofMethod, [0, 1, 0, 2, 3]);
  assert.deepEqual(
    accesses.map(({ openTo }) => openTo),
    ['none', 'all', 'none', 'none'],
  );
  const [check] = accesses[0]?.checks ?? [];
  assert.deepEqual(check, {
    header: 'authorization',
    bearer: true,
    allowed: Buffer.from(digestOf('a'), 'hex'),
    callers: [5],
    others: Buffer.from(digestOf('b'), 'hex'),
  });
  assert.deepEqual([accesses[0]?.missing.grpc, accesses[0]?.forbidden.grpc], [16, 7]);
});
