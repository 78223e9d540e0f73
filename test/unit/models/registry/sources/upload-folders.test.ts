// Folders of uploaded files: the process's own is removed with its last file, and those of other
// processes only if nobody can be using them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { UploadFolders } from '../../../../../ts/models/registry/sources/upload-folders.js';
import { tempFolder } from '../../../temp-folder.js';

/** A folder as a server has it; others are made beside it. */
async function setup(context: TestContext) {
  const root = tempFolder(context);
  const uploads = new UploadFolders(root);
  const folder = await uploads.make();
  context.after(() => uploads.removeAll());
  const own = basename(dirname(folder));
  return { root, uploads, folder, own };
}

/** The socket of a process that was killed. */
function putDeadSocket(path: string): void {
  const listen = `require("net").createServer().listen(${JSON.stringify(path)}, () => {
    process.kill(process.pid, "SIGKILL"); })`;
  assert.throws(() => execFileSync(process.execPath, ['-e', listen]), { signal: 'SIGKILL' });
  assert.ok(existsSync(path));
}

it('goes with the last of them', async (context) => {
  const { root, uploads, folder } = await setup(context);
  const [second, third] = await Promise.all([uploads.make(), uploads.make()]);
  writeFileSync(join(folder, 'x'), 'x');
  await Promise.all([uploads.remove(folder), uploads.remove(second)]);
  assert.equal(readdirSync(root).length, 1);
  await uploads.remove(folder);
  await uploads.remove('/somewhere/else');
  assert.ok(existsSync(third));
  const [made] = await Promise.all([uploads.make(), uploads.remove(third)]);
  assert.ok(existsSync(made));
  await uploads.removeAll();
  assert.deepEqual(readdirSync(root), []);
});

it('removes folders of a killed server', async (context) => {
  const { root, folder, own } = await setup(context);
  const dead = join(root, `${own.slice(0, -6)}abcdef`);
  mkdirSync(join(dead, '1'), { recursive: true });
  writeFileSync(join(dead, '1', 'model.onnx'), 'x');
  putDeadSocket(join(dead, 'alive.sock'));
  assert.equal(await new UploadFolders(root).removeAbandoned(), 1);
  assert.ok(!existsSync(dead));
  assert.ok(existsSync(folder));
});

it('nothing else is', async (context) => {
  const { root, own } = await setup(context);
  const prefix = own.slice(0, -6);
  const elsewhere = join(tempFolder(context), 'other');
  mkdirSync(elsewhere);
  putDeadSocket(join(elsewhere, 'alive.sock'));
  const folders = {
    'without a socket': `${prefix}aaaaaa`,
    'with a file for a socket': `${prefix}bbbbbb`,
    'of another start of the machine': `serval-uploads-${'0'.repeat(16)}-cccccc`,
    'of another name': 'serval-model-dddddd',
  };
  for (const [what, name] of Object.entries(folders)) {
    const path = join(root, name);
    mkdirSync(path);
    if (what === 'with a file for a socket') writeFileSync(join(path, 'alive.sock'), '');
    else if (what !== 'without a socket') putDeadSocket(join(path, 'alive.sock'));
  }
  symlinkSync(elsewhere, join(root, `${prefix}eeeeee`));
  const lives = join(root, `${prefix}ffffff`);
  mkdirSync(lives);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(join(lives, 'alive.sock'), resolve));
  context.after(() => server.close());
  const before = readdirSync(root).sort();
  assert.equal(await new UploadFolders(root).removeAbandoned(), 0);
  assert.deepEqual(readdirSync(root).sort(), before);
  assert.ok(existsSync(join(elsewhere, 'alive.sock')));
  assert.equal(await new UploadFolders(join(root, 'none')).removeAbandoned(), 0);
});
