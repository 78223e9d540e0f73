// The Debian package by lintian, which inspects every file of it: half a minute, so this is not in
// the package suite. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { artefact } from '../package/support.mjs';

const installed = spawnSync('lintian', ['--version']).status === 0;

it('has no errors by lintian', { skip: !installed && 'no lintian here' }, () => {
  const args = ['--allow-root', '--fail-on', 'error', '--tag-display-limit', '0', artefact('deb')];
  const { status, stdout, stderr } = spawnSync('lintian', args, { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
});
