// The choice of the package index: a flag, the environment, pip's files, PyPI.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  pipFiles,
  pipSettings,
  PYPI,
  readSettings,
} from '../../../../ts/cli/gpu/install/pip-settings.js';
import { filledFolder } from '../../temp-folder.js';

test('without a word of the user it is PyPI', () => {
  assert.deepEqual(pipSettings(undefined, {}, []), { indexes: [PYPI], certificates: undefined });
});

test('the flag wins over the environment, that over files, later files over earlier', (context) => {
  const folder = filledFolder(context, {
    'one.conf': '[global]\nindex-url = https://one/simple/\ncert = /one.pem\n',
    'two.conf': '[install]\nindex_url: https://two/simple\n',
  });
  const files = [join(folder, 'one.conf'), join(folder, 'two.conf')];
  assert.deepEqual(pipSettings(undefined, {}, files), {
    indexes: ['https://two/simple'],
    certificates: '/one.pem',
  });
  const env = { PIP_INDEX_URL: 'https://env/simple/', PIP_CERT: '/env.pem' };
  assert.deepEqual(pipSettings(undefined, env, files), {
    indexes: ['https://env/simple'],
    certificates: '/env.pem',
  });
  assert.deepEqual(pipSettings('https://flag/', env, files).indexes, ['https://flag']);
});

test('indexes beside it are asked after it, each once', () => {
  const env = {
    PIP_INDEX_URL: 'https://a/simple',
    PIP_EXTRA_INDEX_URL: 'https://b/simple https://a/simple/',
  };
  assert.deepEqual(pipSettings(undefined, env, []).indexes, [
    'https://a/simple',
    'https://b/simple',
  ]);
});

test('a file as pip reads it', () => {
  const text = [
    '# a remark',
    '[global]',
    'Index-URL=https://a',
    'extra-index-url =',
    '    https://b',
    '    https://c',
    '; another',
    '[freeze]',
    'index-url = https://no',
    '[download]',
    'timeout: 10',
  ].join('\n');
  assert.deepEqual(
    [...readSettings(text)],
    [
      ['index-url', 'https://a'],
      ['extra-index-url', 'https://b https://c'],
      ['timeout', '10'],
    ],
  );
});

test('finds the configuration files', (context) => {
  const home = filledFolder(context, {
    '.config/pip/pip.conf': '',
    '.pip/pip.conf': '',
    'own.conf': '',
  });
  const own = join(home, 'own.conf');
  const found = pipFiles({ PIP_CONFIG_FILE: own }, home).filter((path) => path.startsWith(home));
  assert.deepEqual(found, [
    join(home, '.pip', 'pip.conf'),
    join(home, '.config', 'pip', 'pip.conf'),
    own,
  ]);
  assert.deepEqual(pipFiles({ PIP_CONFIG_FILE: '/dev/null' }, home), []);
});
