// The native calls of the gRPC listener in every state: before it starts, while it listens, after
// it was stopped, after detach; and invalid access settings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callAccess, OPEN_POLICY, type Policy } from '../../ts/access/policy.js';
import { CONTROL_CHANGE, INFERENCE } from '../../ts/access/groups.js';
import { ErrorCode } from '../../ts/base/errors.js';
import type { NativeBinding } from '../../ts/engine/binding.js';
import { nativeAccess } from '../../ts/listeners/grpc/access.js';
import { RawClient } from '../unit/protocols/raw-client.js';
import { withEngine } from './support.js';

const METHOD = '/a.B/C';
const KINDS = [INFERENCE, undefined];
const accessOf = (policy: Policy): object =>
  nativeAccess(KINDS, (call) => callAccess(policy, call, 'grpc'));
const OPEN = accessOf(OPEN_POLICY);
const LOCKED = accessOf({ ...OPEN_POLICY, keys: [], openGroups: [] });
const OPTIONS = {
  host: '127.0.0.1',
  port: 0,
  threads: 1,
  methods: [{ path: METHOD, streams: false, protocol: -1, wording: 0 }],
  wordings: [{ queueFull: 'full', bytesMax: 100, cutMark: '', missing: [] }],
  statuses: Object.values(ErrorCode)
    .filter((code) => typeof code === 'number')
    .map(() => 2),
};

/** Access settings of an open server. */
const one = { openTo: 'none', checks: [], missing: {}, unknown: {}, forbidden: {} };
const refusal = { grpc: 7, message: 'no' };
const whole = { ...one, missing: refusal, unknown: refusal, forbidden: refusal };
const check = { header: 'h', bearer: false, allowed: Buffer.alloc(32), others: Buffer.alloc(0) };
const GARBAGE: readonly object[] = [
  { accesses: [{}], ofMethod: [0, 0] },
  { accesses: [one], ofMethod: [0, 0] },
  { accesses: [null], ofMethod: [0, 0] },
  { accesses: [7], ofMethod: [0, 0] },
  { accesses: [{ ...whole, openTo: 1 }], ofMethod: [0, 0] },
  { accesses: [{ ...whole, checks: [{}] }], ofMethod: [0, 0] },
  { accesses: [{ ...whole, checks: [{ ...check, allowed: 'text' }] }], ofMethod: [0, 0] },
  { accesses: [{ ...whole, checks: [{ ...check, others: [1] }] }], ofMethod: [0, 0] },
  { accesses: [{ ...whole, checks: ['x'] }], ofMethod: [0, 0] },
  { accesses: [{ ...whole, missing: 5 }], ofMethod: [0, 0] },
  { accesses: [{ ...whole, missing: { grpc: 'x' } }], ofMethod: [0, 0] },
  { accesses: [whole], ofMethod: [1, 0] },
  { accesses: [whole], ofMethod: ['x', 0] },
  { accesses: [whole], ofMethod: [{}, 0] },
];

function call(native: NativeBinding, access: unknown): number | Error {
  try {
    return native.grpcAccess(access as object);
  } catch (error) {
    return error as Error;
  }
}

/** The gRPC status of a call of the one method. */
async function statusOf(port: number): Promise<number> {
  const client = new RawClient(port);
  try {
    return (await client.unary(METHOD, Buffer.alloc(0))).code;
  } finally {
    client.close();
  }
}

test('accepts access rules in every state, and refuses them after detach', async () => {
  let left: NativeBinding | undefined;
  await withEngine((engine) => {
    const { native } = engine.link;
    left = native;
    assert.equal(native.grpcAccess(OPEN), ErrorCode.Ok, 'there is no listener');
    assert.equal(
      native.grpcStart(OPTIONS, () => undefined),
      ErrorCode.Ok,
    );
    assert.throws(() => native.grpcStart(OPTIONS, () => undefined), /has such a listener already/);
    for (const access of [LOCKED, OPEN, LOCKED]) assert.equal(native.grpcAccess(access), 0);
    native.grpcReloadCertificates();
    native.grpcDrain(0);
    assert.equal(native.grpcAccess(OPEN), ErrorCode.Ok, 'it drains');
    native.grpcStop();
    assert.equal(native.grpcAccess(OPEN), ErrorCode.Ok, 'it was stopped');
    assert.equal(native.grpcTake(), ErrorCode.Ok);
    return Promise.resolve();
  });
  assert.throws(() => left?.grpcAccess(OPEN), /not attached/);
});

test('invalid access rules are an error, and the current ones stay', async () => {
  await withEngine(async (engine) => {
    const { native } = engine.link;
    assert.equal(
      native.grpcStart({ ...OPTIONS, access: LOCKED }, () => undefined),
      ErrorCode.Ok,
    );
    const port = new DataView(native.mapSlot(0)).getUint32(0, true);
    for (const wrong of [undefined, null, 1, 'x', Symbol('x'), ...GARBAGE]) {
      const got = call(native, wrong);
      assert.ok(
        got instanceof Error || got === ErrorCode.InvalidArgument,
        `${String(wrong)}: ${String(got)}`,
      );
    }
    assert.equal(await statusOf(port), 16, 'it is still locked');
    native.grpcStop();
  });
});

test('a start with invalid access rules starts nothing', async () => {
  await withEngine((engine) => {
    const { native } = engine.link;
    for (const access of GARBAGE) {
      const started = (): number => native.grpcStart({ ...OPTIONS, access }, () => undefined);
      let code: number | undefined;
      try {
        code = started();
      } catch {
        continue;
      }
      assert.notEqual(code, ErrorCode.Ok, JSON.stringify(access));
    }
    assert.equal(
      native.grpcStart({ ...OPTIONS, access: OPEN }, () => undefined),
      ErrorCode.Ok,
    );
    native.grpcStop();
    return Promise.resolve();
  });
});

test('calls that change the server have their own lock', () => {
  const { accesses, ofMethod } = nativeAccess([CONTROL_CHANGE, INFERENCE], (kind) =>
    callAccess({ ...OPEN_POLICY, remoteControl: false }, kind, 'grpc'),
  );
  assert.deepEqual(
    ofMethod.map((index) => accesses[index]?.openTo),
    ['local', 'all'],
  );
});
