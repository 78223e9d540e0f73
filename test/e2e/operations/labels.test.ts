// Version labels over the wire: from models.config, moved while it serves, a version added and a
// label moved to it in one change of the file. Source: tfserving.md 3.2, 9;
// docs/guides/model-control.md.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../support/model-folders.js';
import { control, plusModel, predict, put } from '../support/operating.js';
import { SteadyLoad, until } from '../support/polling.js';
import { errorOf, jsonOf } from '../support/raw-http.js';
import { startServer, type ServalProcess } from '../support/serval-process.js';

const ZERO = '{"instances":[0.0]}';
const answerOf = (number: number): string => JSON.stringify({ predictions: [number] });

describe('version labels', () => {
  const folders = new ModelFolders();
  const base = join(folders.folder, 'labelled');
  const file = join(folders.folder, 'models.config');
  let server: ServalProcess;
  before(async () => {
    for (const version of [1, 2, 3, 4, 5]) {
      // Large enough for its load to take longer than a request.
      put(join(base, String(version), 'model.onnx'), plusModel(version, version * 2_000_000));
    }
    writeConfig([1, 2], { stable: 1, canary: 2 });
    server = await startServer([
      '--model-config-file',
      file,
      '--settle-ms=50',
      '--file-system-poll-wait-seconds=0',
    ]);
  });
  after(async () => {
    await server.stop();
    folders.remove();
  });

  const writeConfig = (versions: readonly number[], labels: Readonly<Record<string, number>>) => {
    const lines = Object.entries(labels).map(
      ([label, version]) => `    version_labels { key: "${label}" value: ${version} }\n`,
    );
    writeFileSync(
      file,
      `model_config_list {
  config {
    name: "m" base_path: "${base}"
    model_version_policy { specific { versions: [${versions.join(', ')}] } }
${lines.join('')}  }
}
`,
    );
  };
  const at = (place: string) => predict(server, `m/${place}`, ZERO);
  const answer = async (place: string): Promise<string> => JSON.stringify(jsonOf(await at(place)));
  const reload = () => control(server, '/v2/repository/reload');
  /** A client of the label while `change` happens. */
  const whileAsking = async (label: string, change: () => Promise<unknown>) => {
    const load = new SteadyLoad(server.httpPort, `/v1/models/m/labels/${label}:predict`, ZERO);
    await load.more(1);
    await change();
    await load.more(3);
    await load.stop();
    return load;
  };

  it('name versions from the start', async () => {
    assert.equal(await answer('labels/stable'), answerOf(1));
    assert.equal(await answer('labels/canary'), answerOf(2));
    assert.equal(await answer('versions/1'), answerOf(1));
    const unknown = await at('labels/Stable');
    assert.deepEqual(
      [unknown.status, errorOf(unknown)],
      [400, 'Unrecognized servable version label: Stable'],
    );
  });

  it('move to a version that the same change adds, after SIGHUP, without a gap', async () => {
    writeConfig([1, 2, 3], { stable: 1, canary: 3 });
    const load = await whileAsking('canary', async () => {
      server.signal('SIGHUP');
      await until(
        'the label has moved',
        async () => (await answer('labels/canary')) === answerOf(3),
      );
    });
    assert.deepEqual(load.failures, []);
    assert.deepEqual(load.answers, [answerOf(2), answerOf(3)]);
    assert.equal(await answer('labels/stable'), answerOf(1));
  });

  it('move to a version that is there by POST /v2/repository/reload', async () => {
    writeConfig([2, 3], { stable: 2, canary: 3 });
    const load = await whileAsking('stable', reload);
    assert.deepEqual(load.failures, []);
    assert.deepEqual(load.answers, [answerOf(1), answerOf(2)]);
    await until('version 1 is gone', async () => (await at('versions/1')).status === 404);
  });

  it('move without a gap when the change also takes their old version away', async () => {
    writeConfig([2, 4], { stable: 2, canary: 4 });
    const load = await whileAsking('canary', async () => {
      await reload();
      await until('version 3 is gone', async () => (await at('versions/3')).status === 404);
    });
    assert.deepEqual(load.failures, []);
    assert.deepEqual(load.answers, [answerOf(3), answerOf(4)]);
  });

  it('have moved to a version that the file adds when the reload settles', async () => {
    writeConfig([2, 4, 5], { stable: 2, canary: 5 });
    await reload();
    assert.equal(await answer('labels/canary'), answerOf(5));
  });

  it('stay where they were while their new version is not there, and block nothing', async () => {
    writeConfig([2, 5, 77], { stable: 77, canary: 5, extra: 2, future: 77 });
    const load = await whileAsking('stable', reload);
    assert.deepEqual(load.failures, []);
    assert.deepEqual(load.answers, [answerOf(2)]);
    assert.equal(await answer('labels/extra'), answerOf(2));
    assert.equal((await at('labels/future')).status, 400);
    put(join(base, '77', 'model.onnx'), plusModel(77));
    await reload();
    assert.equal(await answer('labels/stable'), answerOf(77));
    assert.equal(await answer('labels/future'), answerOf(77));
  });

  it('that are gone from the file are gone; a file with a mistake changes nothing', async () => {
    writeConfig([2, 5], { canary: 5 });
    await reload();
    assert.equal((await at('labels/stable')).status, 400);
    writeFileSync(file, 'model_config_list { config { name: "m" base_path: "relative" } }');
    await reload();
    assert.equal(await answer('labels/canary'), answerOf(5));
    assert.match(server.stderr, /models\.config:1:\d+: base_path: expected model \\"m\\" to have/);
  });
});
