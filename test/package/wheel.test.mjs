// The Python wheel: installed into an empty environment without an index, started by its command
// and as a module. Test time only.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { version } from '../../scripts/packaging/artefacts/names.mjs';
import { neededVersions } from '../../scripts/packaging/artefacts/glibc.mjs';
import { serveOnce } from '../../scripts/packaging/served.mjs';
import { artefact, exampleModels, run, scratchFolder } from './support.mjs';

const PYTHON = process.env.PYTHON ?? 'python3';

describe('the Python wheel', () => {
  const wheel = artefact('wheel');
  const scratch = scratchFolder(after);
  const bin = join(scratch, 'venv', 'bin');
  const python = join(bin, 'python');

  before(() => {
    run(PYTHON, ['-m', 'venv', join(scratch, 'venv')]);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    run(python, [...pip, '--no-index', '--no-cache-dir', '--no-compile', wheel]);
    exampleModels(scratch);
  });

  it('serves every protocol by its command, which SIGTERM ends', async () => {
    await serveOnce([join(bin, 'serval')], scratch, { PATH: '/nowhere' });
  });

  it('is the same program as a module, and passes the exit status on', () => {
    assert.equal(run(python, ['-m', 'serval', 'version']).trim(), `serval ${version}`);
    const wrong = spawnSync(python, ['-m', 'serval', 'nosuch'], { encoding: 'utf8' });
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /unknown command "nosuch"/);
  });

  it('returns command lines for programs', () => {
    const code = 'import serval, subprocess; subprocess.run(serval.command("version"), check=True)';
    assert.equal(run(python, ['-c', code]).trim(), `serval ${version}`);
  });

  it('loads models in the process: ONNX as it is, others compiled by its own Node', () => {
    const code = `
import os, serval
models = os.path.join("examples", "models")
with serval.load(os.path.join(models, "half_plus_three", "123", "model.onnx")) as model:
    print(model.infer({"x": [1, 2, 5]})["y"].tolist())
with serval.load(os.path.join(models, "iris_tree"), cache="cache") as model:
    print(list(model.infer([{"petal_length": 1.4, "petal_width": 0.2}])["species"]))
`;
    // Without numpy, which the environment does not have: memoryviews and lists.
    const said = run(python, ['-c', code], { cwd: scratch, env: { PATH: '/nowhere' } });
    assert.deepEqual(said.trim().split('\n'), ['[3.5, 4.0, 5.5]', "['setosa']"]);
  });

  it('has files that fit its record, and licences', () => {
    const folder = run(python, ['-c', 'import serval; print(serval.RUNTIME)']).trim();
    const site = join(folder, '..', '..');
    const info = join(site, `serval-${version}.dist-info`);
    const lines = readFileSync(join(info, 'RECORD'), 'utf8').split(/\r?\n/);
    const entries = lines.map((line) => /^(.*),sha256=(.*),(\d+)$/.exec(line)).filter(Boolean);
    assert.ok(entries.length > 50, `${entries.length} files`);
    for (const [, path, wanted] of entries) {
      if (path.startsWith('..')) continue; // the command, which pip writes
      const data = readFileSync(join(site, path));
      assert.equal(createHash('sha256').update(data).digest('base64url'), wanted, path);
    }
    const third = readFileSync(join(info, 'licenses', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    assert.match(third, /^onnxruntime-node /m);
  });

  it('has the platform tag of the newest glibc that its files need', () => {
    const folder = run(python, ['-c', 'import serval; print(serval.RUNTIME)']).trim();
    const libraries = ['serval.node', 'libserval.so', 'libonnxruntime.so.1'];
    const files = ['node/node', ...libraries.map((name) => `prebuilt/${name}`)];
    const { GLIBC } = neededVersions(files.map((path) => join(folder, path)));
    assert.ok(wheel.endsWith(`-py3-none-manylinux_${GLIBC.replace('.', '_')}_x86_64.whl`), wheel);
  });
});
