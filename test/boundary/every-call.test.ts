// Every call of the addon in every state of a thread: before attach, attached with wrong arguments,
// after detach. The table is compared with what the addon exports.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadBinding, type NativeBinding } from '../../ts/engine/binding.js';
import { ALL_CALLS, LINKED_CALLS, call } from './calls.js';
import { withEngine } from './support.js';

const TYPE_ERROR = { name: 'TypeError' };

// Values of each type that an argument can be of, and what no argument is.
const WRONG = [undefined, null, true, 'text', -1, 0.5, Number.NaN, 2 ** 60, Symbol('s'), [], {}];

function throwsUnattached(native: NativeBinding): void {
  for (const [name, values] of LINKED_CALLS) {
    assert.throws(
      () => call(native, name, values),
      { ...TYPE_ERROR, message: /not attached/ },
      name,
    );
  }
}

function throwsForWrongTypes(native: NativeBinding): void {
  for (const [name, values] of ALL_CALLS) {
    if (values.length === 0) continue;
    assert.throws(() => call(native, name, []), TYPE_ERROR, `${name} without arguments`);
    for (const [index] of values.entries()) {
      const wrong = values.map((value, at) => (at === index ? Symbol('wrong') : value));
      assert.throws(() => call(native, name, wrong), TYPE_ERROR, `${name}: argument ${index}`);
    }
  }
}

// Values that may be right for one call and wrong for the next: a call throws or returns, and the
// process lives. Calls that would end or occupy the process are left out.
function survives(native: NativeBinding): void {
  const ends = ['exitNow', 'runIsolated', 'detach', 'clientOpen', 'attach', 'limitReceive'];
  for (const [name, values] of ALL_CALLS) {
    if (ends.includes(name)) continue;
    for (const [index] of values.entries()) {
      for (const value of WRONG) {
        const changed = values.map((right, at) => (at === index ? value : right));
        try {
          call(native, name, changed);
        } catch (error) {
          assert.ok(error instanceof TypeError || error instanceof RangeError, `${name}: ${error}`);
        }
      }
    }
  }
}

test('the table of calls has each export of the addon and no other', () => {
  const names = ALL_CALLS.map(([name]) => name).sort();
  assert.deepEqual(names, Object.keys(loadBinding()).sort());
});

test('calls on the link throw before attach and after detach', async () => {
  const native = loadBinding();
  throwsUnattached(native);
  await withEngine(async (engine) => {
    assert.equal(engine.link.native, native);
    await Promise.resolve();
  });
  throwsUnattached(native);
});

test('a wrong type in any place throws TypeError, attached or not', async () => {
  const native = loadBinding();
  throwsForWrongTypes(native);
  await withEngine(async () => {
    throwsForWrongTypes(native);
    assert.throws(
      () => native.attach({ onnxruntimeLibrary: '' }, () => undefined),
      /attached already/,
    );
    assert.throws(() => native.mapSlot(12345), RangeError);
    await Promise.resolve();
  });
});

test('values that no caller should pass end no process', async () => {
  await withEngine(async (engine) => {
    survives(engine.link.native);
    await Promise.resolve();
  });
});
