// Control calls of a key that is limited to some models: nothing reaches another model by a model
// that the key may use.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorCode, ServalError } from '../../../ts/base/errors.js';
import type { ModelControl } from '../../../ts/protocols/control.js';
import { limitedControl } from '../../../ts/protocols/limited-control.js';

function limited(): { readonly control: ModelControl; readonly calls: string[] } {
  const calls: string[] = [];
  const control = {
    load: ({ model }: { readonly model: string }) =>
      Promise.resolve(void calls.push(`load ${model}`)),
    unload: (model: string) => Promise.resolve(void calls.push(`unload ${model}`)),
    updateTraceSettings: (model: string) => {
      calls.push(`trace ${model}`);
      return Promise.resolve({});
    },
  } as unknown as ModelControl;
  return { control: limitedControl(control, ['team-*']), calls };
}

const refused = (call: Promise<unknown>, code: ErrorCode, text: RegExp): Promise<void> =>
  assert.rejects(call, (error: unknown) => {
    assert.ok(error instanceof ServalError);
    assert.equal(error.code, code);
    assert.match(error.message, text);
    return true;
  });

const files = new Map<string, Buffer>();

test('own models are loaded and unloaded', async () => {
  const { control, calls } = limited();
  await control.load({ model: 'team-a', config: undefined, files });
  await control.unload('team-a', false);
  await control.updateTraceSettings('team-a', {} as never);
  assert.deepEqual(calls, ['load team-a', 'unload team-a', 'trace team-a']);
});

test('what may reach other models is refused', async () => {
  const { control, calls } = limited();
  const { InvalidArgument, ModelNotFound } = ErrorCode;
  await refused(control.load({ model: 'x', config: undefined, files }), ModelNotFound, /'x'/);
  const own = { model: 'team-a', config: '{"platform":"ensemble"}', files };
  await refused(control.load(own), InvalidArgument, /^config: expected a key for all models/);
  await refused(control.unload('team-a', true), InvalidArgument, /^unload_dependents: /);
  await refused(control.updateTraceSettings('', {} as never), InvalidArgument, /^trace settings/);
  await refused(control.updateTraceSettings('x', {} as never), InvalidArgument, /unknown model/);
  assert.deepEqual(calls, []);
});
