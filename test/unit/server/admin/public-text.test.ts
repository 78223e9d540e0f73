// How texts with paths are shown to clients.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  HIDDEN_REASON,
  PublicText,
  publicControl,
  publicModel,
  publicReason,
} from '../../../../ts/server/admin/public-text.js';
import type { ModelSnapshot, VersionSnapshot } from '../../../../ts/model/snapshot.js';
import {
  modelProblem,
  versionProblem,
  withReasons,
} from '../../../../ts/models/registry/snapshot-build.js';
import { FakeControl, LOG_SETTINGS } from './fake-control.js';

const ROOTS = new Set(['/srv/models', '/srv/my models', '/srv/models/deep']);
const shown = new PublicText(() => ROOTS, ['srv', 'home', 'proc', 'a+b']).of;

it('files of models are shown from the folder on that models are in', () => {
  for (const [text, expected] of [
    ['/srv/models/m/1/model.onnx: bad', 'm/1/model.onnx: bad'],
    ["in '/srv/my models/m m/1'", "in 'm m/1'"],
    ['/srv/models/deep/m/1', 'm/1'],
    ['/srv/models', 'models'],
    ['looked in /srv/models, /srv/models/deep', 'looked in models, deep'],
    ['/srv/models/m: see /home/x/y.pb', 'm: see y.pb'],
    ['/srv/models/a/srv/models/b', 'a/srv/models/b'],
  ] as const) {
    assert.equal(shown(text), expected, text);
  }
});

it('other paths are shown by their last part', () => {
  for (const [text, expected] of [
    ['/home/me/model.onnx: bad', 'model.onnx: bad'],
    ["cannot open '/home/me/x': ENOENT", "cannot open 'x': ENOENT"],
    ['file:///home/me/x', 'file://x'],
    ['(/proc/1/fd)', '(fd)'],
    ['"/a+b/c"', '"c"'],
    ['/srv/modelsx/m', 'm'],
    ['/home', 'home'],
    ['/home/', 'home'],
    ['a=/home/b\n/home/c', 'a=b\nc'],
  ] as const) {
    assert.equal(shown(text), expected, text);
  }
});

it('keeps text that is not a path', () => {
  for (const text of [
    'node /model/layer/MatMul: no kernel',
    'application/json',
    'http://host/home/x',
    'v2/home/x',
    'm/1/model.onnx',
    '/homes/x',
    '1 / 2',
    '',
  ]) {
    assert.equal(shown(text), text);
  }
});

it('a long text takes no long time', () => {
  const text = '/srv'.repeat(200_000);
  assert.ok(shown(text).length < text.length);
});

it('log settings show the name of the file, and take it back', async () => {
  const control = new FakeControl();
  const file = '/srv/log/serval.log';
  control.logSettings = () => Promise.resolve({ ...LOG_SETTINGS, log_file: file });
  const asked: unknown[] = [];
  control.updateLogSettings = (change) => {
    asked.push(change);
    return Promise.resolve({ ...LOG_SETTINGS, log_file: file });
  };
  const seen = publicControl(control, shown);
  assert.equal((await seen.logSettings()).log_file, 'serval.log');
  const change = { log_info: false, log_file: 'serval.log' };
  assert.equal((await seen.updateLogSettings(change)).log_file, 'serval.log');
  await seen.updateLogSettings({ log_file: 'other' });
  assert.deepEqual(asked, [{ ...change, log_file: file }, { log_file: 'other' }]);
});

it('a failed load is one line, and without its reason for those who may not see metadata', () => {
  const failed = {
    name: 'm',
    labels: {},
    problem: 'nothing in /srv/models/m\nsecond line',
    defaultVersion: undefined,
    versions: [{ version: '1', state: 'END', errorMessage: 'bad /srv/models/m/1/x\r\n  root:x:0' }],
  } as unknown as ModelSnapshot;
  const full = publicModel(failed, shown);
  assert.equal(full.versions[0]?.errorMessage, 'bad m/1/x root:x:0');
  assert.equal(full.problem, 'nothing in m second line');
  assert.equal(
    versionProblem(full.versions[0] as VersionSnapshot),
    'version 1 is END: bad m/1/x root:x:0',
  );
  const hidden = publicModel(failed, shown, true);
  assert.equal(
    versionProblem(hidden.versions[0] as VersionSnapshot),
    `version 1 is END: ${HIDDEN_REASON}`,
  );
  assert.equal(modelProblem({ ...hidden, versions: [] }), HIDDEN_REASON);
  assert.equal(modelProblem({ ...withReasons(hidden), versions: [] }), 'nothing in m second line');
  const say = publicReason(shown, true);
  assert.equal(say('failed to load: /srv/models/m/1/x: root'), `failed to load: ${HIDDEN_REASON}`);
  assert.equal(say('loading'), 'loading');
  assert.equal(publicReason(shown, false)('failed to load: a\nb'), 'failed to load: a b');
});
