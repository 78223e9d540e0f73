// `serval types` against a real server, and the compiler on programs that use its output with the
// package's client.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../ts/base/package-files.js';
import { freePort } from '../support/free-port.js';
import { ModelFolders } from '../support/model-folders.js';
import { runServal, startServer, type ServalProcess } from '../support/serval-process.js';

const HEAD = `import { GrpcClient, V2Client } from 'serval/client';
import type { Models } from './models.js';
const client = new V2Client<Models>('http://localhost:8000');
`;
const GOOD = `const { outputs } = await client.infer('half_plus_three', { x: [1, 2, 5] });
const y: Float32Array = outputs.y.data;
const ids = { data: BigInt64Array.of(1n), shape: [1, 1] };
const big: BigInt64Array = (await client.infer('identity_int64', { input: ids })).outputs.output.data;
const grpc = new GrpcClient<Models>('grpc://localhost:8001');
const text: string | undefined = (await grpc.infer('identity_bytes', { input: [['a']] })).outputs.output.data[0];
const any = await new V2Client('http://localhost:8000').infer('any', { a: 1 });
export { y, big, text, any };
`;
/** A line each, and what the compiler says of it. */
const BAD: Readonly<Record<string, RegExp>> = {
  "await client.infer('half_plus_three', { wrong: [1] });": /'wrong' does not exist/,
  "await client.infer('half_plus_three', {});": /Property 'x' is missing/,
  "await client.infer('half_plus_three', { x: ['a'] });": /'string' is not assignable/,
  "await client.infer('identity_int64', { input: Float32Array.of(1) });": /not assignable/,
  "await client.infer('none', { x: [1] });": /'"none"' is not assignable/,
  "(await client.infer('half_plus_three', { x: [1] })).outputs.z;": /'z' does not exist/,
  "await client.infer('half_plus_three', { x: [1] }, { outputs: ['z'] });":
    /'"z"' is not assignable/,
  "await client.infer('half_plus_three', { x: { data: [1], datatype: 'INT8' } });":
    /not assignable/,
};

describe('serval types', () => {
  const folders = new ModelFolders();
  const folder = mkdtempSync(join(tmpdir(), 'serval-types-'));
  let server: ServalProcess;
  before(async () => {
    const models = ['half_plus_three', 'identity_int64', 'identity_bytes'];
    const repository = folders.repository('types', models, []);
    server = await startServer(['--model-repository', repository]);
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(packageRoot(), join(folder, 'node_modules', 'serval'));
  });
  after(async () => {
    await server.stop();
    folders.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const compiled = (code: string): { readonly status: number | null; readonly stdout: string } => {
    writeFileSync(join(folder, 'program.mts'), HEAD + code);
    const tsc = join(packageRoot(), 'node_modules', 'typescript', 'bin', 'tsc');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
    return spawnSync(process.execPath, [tsc, ...options, '--pretty', 'false', 'program.mts'], {
      cwd: folder,
      encoding: 'utf8',
    });
  };

  it('prints the same types over REST and gRPC', async () => {
    const rest = await runServal(['types', `http://127.0.0.1:${server.httpPort}`]);
    assert.equal(rest.code, 0, rest.stderr);
    assert.match(
      rest.stdout,
      /half_plus_three: \{\n {4}inputs: \{\n {6}x: \{ datatype: "FP32"; shape: \[number\] \};/,
    );
    const grpc = await runServal(['types', `grpc://127.0.0.1:${server.grpcPort}`]);
    const body = (text: string): string => text.slice(text.indexOf('\n'));
    assert.equal(body(grpc.stdout), body(rest.stdout));
    const one = await runServal([
      'types',
      `http://127.0.0.1:${server.httpPort}/v2`,
      'identity_bytes',
    ]);
    assert.match(one.stdout, /identity_bytes/);
    assert.doesNotMatch(one.stdout, /half_plus_three/);
    writeFileSync(join(folder, 'models.d.ts'), rest.stdout);
  });

  it('lets the compiler accept right calls and reject wrong ones', () => {
    const good = compiled(GOOD);
    assert.equal(good.status, 0, good.stdout);
    const lines = Object.keys(BAD);
    const { status, stdout } = compiled(`${lines.join('\n')}\nexport {};\n`);
    assert.notEqual(status, 0);
    lines.forEach((line, i) => {
      const row = HEAD.split('\n').length + i;
      const said = stdout.split('program.mts(').find((text) => text.startsWith(`${row},`)) ?? '';
      assert.match(said, BAD[line] as RegExp, `${line}\n${stdout}`);
    });
  });

  it('explains a wrong command line and an unknown model', async () => {
    const none = await runServal(['types']);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /types: expected the URL of a server, got none/);
    const bad = await runServal(['types', 'localhost:8000']);
    assert.equal(bad.code, 2);
    assert.match(bad.stderr, /expected a URL with http:\/\/ or https:\/\//);
    const unknown = await runServal(['types', `http://127.0.0.1:${server.httpPort}`, 'nobody']);
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /nobody/);
    const down = await runServal(['types', `http://127.0.0.1:${await freePort()}`]);
    assert.equal(down.code, 1);
    assert.match(down.stderr, /no response: .*ECONNREFUSED/);
  });
});
