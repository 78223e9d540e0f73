// Every gRPC method has an access group: one without a group would be treated as metadata.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallKind } from '../../../ts/access/groups.js';
import type { EngineLink } from '../../../ts/engine/link.js';
import { grpcServices } from '../../../ts/server/workers/grpc-services.js';
import type { ListenerThread } from '../../../ts/server/workers/listener-thread.js';
import { FakeControl } from '../server/admin/fake-control.js';
import { FakeReadings } from '../protocols/fake-readings.js';
import { registry } from '../protocols/snapshots.js';

const snapshot = registry([]);
const thread = {
  link: {} as EngineLink,
  control: { seenBy: () => new FakeControl() },
  readings: new FakeReadings(),
  limited: (control: unknown) => control,
  snapshot,
  shown: snapshot,
  subscribe: () => () => undefined,
};
const services = grpcServices(thread as unknown as ListenerThread, {
  serverVersion: '1.2.3',
  clientShm: false,
});
const kinds = new Map<string, CallKind | undefined>(
  services.flatMap(({ name, unary, streams, engine = {}, calls = {} }) =>
    [unary, streams, engine]
      .flatMap((kind) => Object.keys(kind))
      .map((method) => [`${name}/${method}`, calls[method]]),
  ),
);

test('every method is of a group, and no group is given to a method that is not there', () => {
  assert.ok(kinds.size > 30, `${kinds.size} methods`);
  for (const [method, kind] of kinds) assert.ok(kind !== undefined, method);
  for (const { name, calls = {} } of services) {
    for (const method of Object.keys(calls)) assert.ok(kinds.has(`${name}/${method}`), method);
  }
});

test('knows calls that change the server by name', () => {
  const changing = [...kinds].filter(([, kind]) => kind?.changes).map(([method]) => method);
  const byName = [...kinds.keys()].filter((method) =>
    /(Load|Unload|Register|Unregister|LogSettings|TraceSetting|ReloadConfigRequest)$/.test(method),
  );
  assert.deepEqual(changing.sort(), byName.sort());
});

test('models are run by calls of inference only', () => {
  const running = [...kinds].filter(([, kind]) => kind?.group === 'inference');
  assert.deepEqual(running.map(([method]) => method.split('/')[1]).sort(), [
    ...['Classify', 'ModelInfer', 'ModelStreamInfer', 'MultiInference'],
    ...['Predict', 'Regress', 'SessionRun'],
  ]);
});
