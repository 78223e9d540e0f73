// Locks of gRPC's methods: the native listener's table, and grpc-js's calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metadata } from '@grpc/grpc-js';
import { CONTROL_CHANGE, HEALTH, INFERENCE } from '../../../../ts/access/groups.js';
import { digestOf } from '../../../../ts/access/keys.js';
import { OPEN_POLICY, callAccess, type Policy } from '../../../../ts/access/policy.js';
import {
  MethodLocks,
  nativeAccess,
  UNIX_PEER,
  type AccessOf,
} from '../../../../ts/transport/grpc/access.js';
import type { GrpcService } from '../../../../ts/transport/grpc-call.js';

const POLICY: Policy = {
  ...OPEN_POLICY,
  keys: [
    { name: 'a', digest: digestOf('a'), groups: ['inference'] },
    { name: 'b', digest: digestOf('b'), groups: ['control'] },
  ],
  openGroups: ['health'],
  remoteControl: false,
};
const by =
  (policy: Policy): AccessOf =>
  (call) =>
    callAccess(policy, call, 'grpc');
const service: GrpcService = {
  name: 's.S',
  unary: {
    Infer: () => undefined,
    Load: () => undefined,
    Check: () => undefined,
    None: () => undefined,
  },
  streams: {},
  calls: { Infer: INFERENCE, Load: CONTROL_CHANGE, Check: HEALTH },
};

function call(headers: Readonly<Record<string, string>> = {}, peer = '10.0.0.1:5') {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return { metadata, getPeer: () => peer };
}

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
    others: Buffer.from(digestOf('b'), 'hex'),
  });
  assert.deepEqual([accesses[0]?.missing.grpc, accesses[0]?.forbidden.grpc], [16, 7]);
});

test('a call of grpc-js is let in as the policy says, and as it says later', () => {
  const locks = new MethodLocks([service], by(POLICY));
  const code = (path: string, of = call()): number => locks.refusal(`/s.S/${path}`, of)?.code ?? 0;
  assert.equal(code('Check'), 0);
  assert.deepEqual([code('Infer'), code('None'), code('Load')], [16, 16, 16]);
  assert.equal(code('Infer', call({ authorization: 'Bearer a' })), 0);
  assert.equal(code('Infer', call({ authorization: 'Bearer b' })), 7);
  locks.accessOf = by({ ...POLICY, keys: undefined });
  assert.deepEqual([code('Infer'), code('Load')], [0, 7]);
});

test('where a call of grpc-js comes from', () => {
  const locks = new MethodLocks([service], by({ ...POLICY, keys: undefined }));
  const allowed = (peer: string): boolean =>
    locks.refusal('/s.S/Load', call({}, peer)) === undefined;
  for (const peer of ['127.0.0.1:5000', '::1:5000', '::ffff:127.0.0.1:80', UNIX_PEER]) {
    assert.equal(allowed(peer), true, peer);
  }
  for (const peer of ['unknown', '', '10.0.0.1:5', '::ffff:10.0.0.1:1', 'fe80::1:5000', '::2:1']) {
    assert.equal(allowed(peer), false, peer);
  }
});

test('without access every call may be', () => {
  assert.equal(new MethodLocks([service], undefined).refusal('/s.S/Load', call()), undefined);
});
