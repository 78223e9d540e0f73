// What clients are shown of texts with paths.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PublicText, publicControl } from '../../../ts/admin/public-text.js';
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

it('what is no path stays', () => {
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
