// The container image that scripts/packaging/image.sh builds, unpacked and run as a container
// runtime does: user 65532 and a read-only root. Test time only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { root, version } from '../../scripts/packaging/artefacts/names.mjs';
import { serveOnce } from '../../scripts/packaging/served.mjs';
import { exampleModels, run, scratchFolder } from '../package/support.mjs';

const COMPRESSED_MAX = 120e6;
const NODE = '/opt/serval/node/node';

// Builds the image; returns its archive, or the reason why it cannot be built here.
function build(folder) {
  const script = join(root, 'scripts', 'packaging', 'image.sh');
  const { status, stderr } = spawnSync(script, [folder], { encoding: 'utf8' });
  if (status === 77) return { missing: stderr.trim().split('\n').at(-1) };
  assert.equal(status, 0, stderr);
  return { archive: join(folder, `serval-${version}-image.tar`), missing: false };
}

describe('the image', () => {
  const scratch = scratchFolder(after);
  const { archive, missing } = build(join(scratch, 'image'));
  const here = { skip: missing };
  const [system, models] = [join(scratch, 'system'), join(scratch, 'models')];
  const blob = ({ digest }) => ['-xOf', archive, `blobs/${digest.replace(':', '/')}`];
  const readJson = (one) => JSON.parse(run('tar', blob(one)));
  let manifest;

  // The command line that runs a program in the unpacked image, with the models as /models.
  const inside = (...program) => {
    const mounts = [
      'mount --bind $1 $1',
      'mount -o remount,bind,ro $1',
      'mount -t tmpfs tmpfs $1/tmp',
      'mount --bind $2 $1/models',
      'mount -t proc proc $1/proc',
      'mount --rbind /dev $1/dev',
    ].join(' && ');
    const enter = 'exec unshare --root=$1 --wd=/models -S 65532 -G 65532';
    const script = `${mounts} && root=$1 && ${enter.replace('$1', '$root')} "\${@:3}"`;
    return ['unshare', '-m', 'bash', '-c', script, 'bash', system, models, ...program];
  };

  before(() => {
    if (missing) return;
    const index = JSON.parse(run('tar', ['-xOf', archive, 'index.json']));
    manifest = readJson(index.manifests[0]);
    for (const folder of [system, models]) mkdirSync(folder);
    for (const layer of manifest.layers) {
      run('sh', ['-c', `tar ${blob(layer).join(' ')} | tar -xz -C ${system}`]);
    }
    // A container runtime makes these where they are missing.
    for (const folder of ['proc', 'dev']) mkdirSync(join(system, folder), { recursive: true });
    exampleModels(models);
    run('chmod', ['777', models]);
  });

  it('has at most 120 MB compressed', here, () => {
    const bytes = manifest.layers.reduce((sum, { size }) => sum + size, 0);
    assert.ok(bytes > 10e6 && bytes <= COMPRESSED_MAX, `${bytes} bytes`);
  });

  it('runs as nobody, by default the models in /models', here, () => {
    const { config } = readJson(manifest.config);
    assert.equal(config.User, '65532:65532');
    assert.deepEqual(config.Entrypoint, [NODE, '/opt/serval/bin/entrypoint.mjs']);
    assert.deepEqual(config.Cmd, ['serve', '/models']);
    assert.deepEqual(Object.keys(config.ExposedPorts).sort(), ['8000/tcp', '8001/tcp']);
    assert.equal(config.Labels['org.opencontainers.image.version'], version);
  });

  it('has no shell and no program but ours', here, () => {
    assert.deepEqual(readdirSync(join(system, 'usr', 'bin')).sort(), ['serval', 'sleep']);
    assert.deepEqual(readdirSync(join(system, 'usr', 'sbin')), []);
    const writable = ['/', '-perm', '-o+w', '!', '-type', 'l', '!', '-path', '/tmp'];
    const found = run('find', [system, ...writable.slice(1, -1), join(system, 'tmp')]);
    assert.equal(found, '');
  });

  it('is healthy and answers every protocol with a read-only root', here, async () => {
    const health = join('/opt/serval/bin', 'healthcheck.mjs');
    const during = (port) => {
      const url = `SERVAL_HEALTH_URL=http://127.0.0.1:${port}/v2/health/ready`;
      const [program, ...args] = inside(NODE, health);
      run('env', [url, program, ...args]);
      assert.throws(() => run('env', [`${url}x`, program, ...args]), /404/);
    };
    const program = inside(NODE, '/opt/serval/bin/entrypoint.mjs');
    await serveOnce(program, models, process.env, { flags: [], during });
  });

  it('cannot write to its root, and has the command and /bin/sleep', here, () => {
    const [unshare, ...args] = inside('/usr/bin/serval', 'version');
    assert.equal(run(unshare, args).trim(), `serval ${version}`);
    const [, ...sleep] = inside('/bin/sleep', '0.1');
    run(unshare, sleep);
    const code = "require('fs').writeFileSync('/opt/serval/x', '')";
    const [, ...write] = inside(NODE, '-e', code);
    assert.throws(() => run(unshare, write), /EROFS|EACCES/);
  });
});
