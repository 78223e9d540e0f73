// Access decisions: every rule, and attempts to circumvent it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ADMIN_GROUPS,
  CALL_GROUPS,
  CONSOLE,
  CONTROL,
  CONTROL_CHANGE,
  HEALTH,
  INFERENCE,
  LOGGING_CHANGE,
  METRICS,
} from '../../../ts/access/groups.js';
import { digestOf } from '../../../ts/access/keys.js';
import {
  OPEN_POLICY,
  callAccess,
  isLoopback,
  judge,
  type Caller,
  type Entrance,
  type Policy,
} from '../../../ts/access/policy.js';
import type { CallKind } from '../../../ts/access/groups.js';

const DEFAULT: Policy = { ...OPEN_POLICY, openGroups: ['health', 'metrics'], remoteControl: false };
const KEYS: Policy = {
  ...DEFAULT,
  keys: [
    { name: 'ci', digest: digestOf('ci-key'), groups: ['inference', 'metadata'] },
    { name: 'ops', digest: digestOf('ops-key'), groups: ['control', 'logging'] },
  ],
};

function caller(headers: Record<string, string> = {}, local = false): Caller {
  return { header: (name) => headers[name] ?? '', isLocal: () => local };
}
const bearer = (key: string, local = false): Caller =>
  caller({ authorization: `Bearer ${key}` }, local);

/** The status that a caller gets; 200: admitted. */
function asks(
  policy: Policy,
  call: CallKind | undefined,
  who: Caller,
  at: Entrance = 'http',
): number {
  return judge(callAccess(policy, call, at), who)?.http ?? 200;
}

describe('without keys', () => {
  it('anybody reads, only this machine changes', () => {
    for (const at of ['http', 'grpc', 'admin'] as const) {
      assert.equal(asks(DEFAULT, CONTROL, caller(), at), 200);
      assert.equal(asks(DEFAULT, CONTROL_CHANGE, caller(), at), 403);
      assert.equal(asks(DEFAULT, LOGGING_CHANGE, caller(), at), 403);
      assert.equal(asks(DEFAULT, CONTROL_CHANGE, caller({}, true), at), 200);
    }
    assert.equal(asks(DEFAULT, INFERENCE, caller()), 200);
    assert.equal(asks(DEFAULT, undefined, caller()), 200);
  });

  it('a flag opens changes to others, and no header does', () => {
    assert.equal(asks({ ...DEFAULT, remoteControl: true }, CONTROL_CHANGE, caller()), 200);
    assert.equal(asks(DEFAULT, CONTROL_CHANGE, bearer('ops-key')), 403);
    const forwarded = caller({ 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1' });
    assert.equal(asks(DEFAULT, CONTROL_CHANGE, forwarded), 403);
  });
});

describe('with keys', () => {
  it('a key opens its groups and no other', () => {
    assert.equal(asks(KEYS, INFERENCE, bearer('ci-key')), 200);
    assert.equal(asks(KEYS, CONTROL_CHANGE, bearer('ci-key')), 403);
    assert.equal(asks(KEYS, INFERENCE, bearer('ops-key')), 403);
    assert.equal(asks(KEYS, CONTROL_CHANGE, bearer('ops-key')), 200);
    assert.equal(asks(KEYS, LOGGING_CHANGE, bearer('ops-key')), 200);
  });

  it('none, wrong ones and other schemes are 401', () => {
    const digest = KEYS.keys?.[0]?.digest ?? '';
    const tries = [
      {},
      { authorization: 'ci-key' },
      { authorization: 'Basic ci-key' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: 'Bearer ci-key ci-key' },
      { authorization: 'Bearer ci-key, Bearer ci-key' },
      { authorization: 'Bearer CI-KEY' },
      { authorization: 'Bearer ci-ke' },
      { authorization: 'Bearer ci-keyy' },
      { authorization: `Bearer ${digest}` },
      { authorization: `Bearer sha256:${digest}` },
      { 'x-api-key': 'ci-key' },
      { 'proxy-authorization': 'Bearer ci-key' },
    ];
    for (const headers of tries) {
      assert.equal(asks(KEYS, INFERENCE, caller(headers)), 401, JSON.stringify(headers));
      assert.equal(asks(KEYS, INFERENCE, caller(headers), 'grpc'), 401);
    }
    assert.equal(asks(KEYS, INFERENCE, caller({ authorization: 'bearer  ci-key' })), 200);
  });

  it('no keys at all open nothing', () => {
    const policy: Policy = { ...KEYS, keys: [] };
    assert.equal(asks(policy, INFERENCE, bearer('ci-key')), 401);
    assert.equal(asks(policy, CONTROL_CHANGE, caller({}, true)), 401);
    assert.equal(asks(policy, HEALTH, caller()), 200);
  });

  it('a line for the empty text opens nothing', () => {
    const policy = { ...KEYS, keys: [{ name: 'e', digest: digestOf(''), groups: CALL_GROUPS }] };
    for (const text of ['Bearer', 'Bearer ', 'Basic x', '']) {
      assert.equal(asks(policy, INFERENCE, caller({ authorization: text })), 401);
    }
  });

  it('this machine needs a key too, also to change', () => {
    assert.equal(asks(KEYS, INFERENCE, caller({}, true)), 401);
    assert.equal(asks(KEYS, CONTROL_CHANGE, caller({}, true)), 401);
    assert.equal(asks({ ...KEYS, remoteControl: true }, CONTROL_CHANGE, caller()), 401);
  });

  it('the console needs none, and is on the admin address where there is one', () => {
    assert.equal(asks({ ...KEYS, openGroups: [] }, CONSOLE, caller()), 200);
    const { openTo } = callAccess({ ...KEYS, hasAdmin: true }, CONSOLE, 'http');
    assert.equal(openTo, 'none');
    assert.equal(callAccess({ ...KEYS, hasAdmin: true }, CONSOLE, 'admin').openTo, 'all');
  });

  it('open groups need none, unknown paths do', () => {
    assert.equal(asks(KEYS, HEALTH, caller()), 200);
    assert.equal(asks(KEYS, METRICS, bearer('wrong')), 200);
    assert.equal(asks(KEYS, undefined, caller()), 401);
    assert.equal(asks({ ...KEYS, openGroups: [] }, HEALTH, caller()), 401);
  });

  it('a group of changes that is left open changes from here, or with a key', () => {
    const policy: Policy = { ...KEYS, openGroups: ['control'] };
    assert.equal(asks(policy, CONTROL, caller()), 200);
    assert.equal(asks(policy, CONTROL_CHANGE, caller()), 403);
    assert.equal(asks(policy, CONTROL_CHANGE, bearer('ci-key')), 403);
    assert.equal(asks(policy, CONTROL_CHANGE, caller({}, true)), 200);
    assert.equal(asks(policy, CONTROL_CHANGE, bearer('ops-key')), 200);
  });

  it('a header of its own is one more place, and the key stands in it as it is', () => {
    const policy = { ...KEYS, keyHeader: 'x-api-key' };
    assert.equal(asks(policy, INFERENCE, caller({ 'x-api-key': 'ci-key' })), 200);
    assert.equal(asks(policy, INFERENCE, caller({ 'x-api-key': 'Bearer ci-key' })), 401);
    assert.equal(asks(policy, INFERENCE, bearer('ci-key')), 200);
    const both = { authorization: 'Bearer wrong', 'x-api-key': 'ci-key' };
    assert.equal(asks(policy, INFERENCE, caller(both)), 200);
    assert.equal(asks(policy, CONTROL_CHANGE, caller(both)), 403);
  });

  it('says which group, and nothing of the key', () => {
    const say = (who: Caller) => judge(callAccess(KEYS, INFERENCE, 'http'), who)?.message ?? '';
    const expected = "inference calls need a key: expected 'authorization: Bearer KEY'";
    assert.equal(say(caller()), `${expected}, got none`);
    assert.equal(say(bearer('zzz')), `${expected}, got one that is not known`);
    assert.equal(say(bearer('ops-key')), 'the key that was sent is not for inference calls');
    const grpc = judge(callAccess(KEYS, INFERENCE, 'grpc'), bearer('ops-key'))?.grpc;
    assert.deepEqual([grpc, judge(callAccess(KEYS, INFERENCE, 'grpc'), caller())?.grpc], [7, 16]);
  });
});

describe('changes through a proxy on this machine', () => {
  const headers = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'];

  it('are refused without a key, and taken with one or with --allow-remote-control', () => {
    for (const name of headers) {
      for (const entrance of ['http', 'grpc', 'admin'] as const) {
        const group = entrance === 'admin' ? LOGGING_CHANGE : CONTROL_CHANGE;
        const proxied = caller({ [name]: 'for=127.0.0.1' }, true);
        assert.equal(asks(DEFAULT, group, proxied, entrance), 403, `${name} ${entrance}`);
        assert.equal(asks(DEFAULT, group, caller({}, true), entrance), 200);
        assert.equal(asks({ ...DEFAULT, remoteControl: true }, group, proxied, entrance), 200);
      }
      const withKey = caller({ [name]: '1.2.3.4', authorization: 'Bearer ops-key' }, true);
      assert.equal(asks(KEYS, CONTROL_CHANGE, withKey), 200);
      assert.equal(asks(DEFAULT, INFERENCE, caller({ [name]: '1.2.3.4' })), 200);
    }
  });
});

describe("Triton's restrictions", () => {
  const policy: Policy = {
    ...DEFAULT,
    httpRules: [
      { header: 'infer-key', digest: digestOf('infer-value'), groups: ['health', 'inference'] },
      { header: 'admin-key', digest: digestOf('admin-value'), groups: ['control'] },
    ],
  };

  it('each group asks for its header and value, open groups too', () => {
    assert.equal(asks(policy, INFERENCE, caller({ 'infer-key': 'infer-value' })), 200);
    assert.equal(asks(policy, HEALTH, caller()), 403);
    assert.equal(asks(policy, INFERENCE, caller({ 'infer-key': 'other' })), 403);
    assert.equal(asks(policy, INFERENCE, caller({ 'admin-key': 'admin-value' })), 403);
    assert.equal(asks(policy, INFERENCE, caller({ 'infer-key': 'admin-value' })), 403);
    assert.equal(asks(policy, CONTROL_CHANGE, caller({ 'admin-key': 'admin-value' })), 200);
    assert.equal(asks(policy, CONTROL_CHANGE, caller({}, true)), 403);
    assert.equal(asks(policy, LOGGING_CHANGE, caller()), 403);
    assert.equal(asks(policy, INFERENCE, caller(), 'grpc'), 200);
  });

  it("answers in Triton's words", () => {
    assert.deepEqual(judge(callAccess(policy, INFERENCE, 'http'), caller()), {
      http: 403,
      grpc: 7,
      message: "This API is restricted, expecting header 'infer-key'",
    });
  });
});

describe('an admin address', () => {
  const policy: Policy = { ...DEFAULT, hasAdmin: true };

  it('takes its groups from the other listeners, whoever asks, and has no inference', () => {
    for (const group of CALL_GROUPS) {
      const call = { group, changes: false };
      const elsewhere = ADMIN_GROUPS.has(group) ? 403 : 200;
      assert.equal(asks(policy, call, caller({}, true)), elsewhere, group);
      assert.equal(asks(policy, call, caller({}, true), 'grpc'), elsewhere, group);
    }
    assert.equal(asks(policy, CONTROL_CHANGE, caller({}, true), 'admin'), 200);
    assert.equal(asks(policy, CONTROL_CHANGE, caller(), 'admin'), 403);
    assert.equal(asks(policy, METRICS, caller(), 'admin'), 200);
    assert.equal(asks(policy, INFERENCE, caller({}, true), 'admin'), 403);
  });

  it('changes nothing of what keys open', () => {
    const locked = { ...KEYS, hasAdmin: true };
    assert.equal(asks(locked, CONTROL_CHANGE, bearer('ops-key')), 403);
    assert.equal(asks(locked, CONTROL_CHANGE, bearer('ops-key'), 'admin'), 200);
    assert.equal(asks(locked, CONTROL_CHANGE, caller({}, true), 'admin'), 401);
  });
});

it('loopback is 127.0.0.0/8 and ::1, also as IPv6 writes the former', () => {
  for (const address of [
    '127.0.0.1',
    '127.255.0.9',
    '::1',
    '::ffff:127.0.0.1',
    '::FFFF:127.1.2.3',
  ]) {
    assert.equal(isLoopback(address), true, address);
  }
  for (const address of [
    '',
    '128.0.0.1',
    '10.0.0.1',
    '::',
    '::2',
    '::ffff:10.0.0.1',
    '1127.0.0.1',
    'fe80::127.0.0.1',
    '127.0.0.1.example.com',
    '127.0.0',
  ]) {
    assert.equal(isLoopback(address), false, address);
  }
});
