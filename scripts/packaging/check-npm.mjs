// Checks the npm package as its users get it: installed from its tarball without access to a
// registry, started on every supported Node, imported, required and type-checked. Test time only.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODES, nodeRuntime } from './node-runtime.mjs';
import { check, makeCertificate, serveOnce } from './served.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

function run(command, args, cwd, env = process.env) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  const what = `${command} ${args.join(' ')}`;
  check(status === 0, `${what} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/**
 * Copies npm's tarball of `make package` to `scratch`, then runs `npm install -g` of it into a new
 * prefix, which it returns.
 */
export function installPacked(packed, scratch) {
  const prefix = join(scratch, 'prefix');
  const tarball = join(scratch, `${manifest.name}-${manifest.version}.tgz`);
  copyFileSync(packed, tarball);
  // This registry does not exist: the package contains all that it needs.
  const closed = ['--registry', 'http://127.0.0.1:1', '--ignore-scripts'];
  run('npm', ['install', '-g', '--prefix', prefix, ...closed, tarball], scratch);
  checkCommand(prefix, scratch);
  return prefix;
}

// Checks the command on a user's PATH, and the other files of the package.
function checkCommand(prefix, scratch, env) {
  const serval = join(prefix, 'bin', 'serval');
  const answer = run(serval, ['version'], scratch, env);
  check(answer.includes(manifest.version), `serval version printed '${answer}'`);
  const help = run(serval, ['serve', '--help', 'all'], scratch, env);
  check(help.includes('--http-port'), `serval serve --help all printed '${help}'`);
  const completion = run(serval, ['completion', 'bash'], scratch, env);
  check(completion.includes('complete -F'), `serval completion printed '${completion}'`);
  const manual = readFileSync(join(prefix, 'share', 'man', 'man1', 'serval.1'), 'utf8');
  check(manual.startsWith('.TH SERVAL 1'), `serval.1 begins with '${manual.slice(0, 40)}'`);
}

/**
 * Runs `npm install -g` of installPacked()'s tarball, and `npx` of it, on those Nodes; the Node
 * that runs this script has installed it already. npx loads a model.
 */
export function checkByNodes(scratch, majors) {
  const npm = realpathSync(run('sh', ['-c', 'command -v npm'], scratch).trim());
  const npx = join(dirname(npm), 'npx-cli.js');
  const tarball = join(scratch, `${manifest.name}-${manifest.version}.tgz`);
  const model = join(root, 'examples', 'models', 'half_plus_three');
  const closed = ['--registry', 'http://127.0.0.1:1', '--cache', join(scratch, 'npm-cache')];
  for (const major of majors) {
    const folder = nodeRuntime(major);
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
    const node = join(folder, 'node');
    if (!process.version.startsWith(`v${major}.`)) {
      const prefix = join(scratch, `prefix-${major}`);
      run(node, [npm, 'install', '-g', '--prefix', prefix, ...closed, tarball], scratch, env);
      checkCommand(prefix, scratch, env);
    }
    const args = [npx, '--yes', ...closed, '--package', tarball, '--', 'serval', 'inspect', model];
    const answer = run(node, args, scratch, env);
    check(answer.includes('signature serving_default'), `npx serval inspect printed '${answer}'`);
  }
}

/** Returns the folder of the installed package in a prefix. */
export function installedFolder(prefix) {
  return join(prefix, 'lib', 'node_modules', manifest.name);
}

function exampleModels(folder, to) {
  cpSync(join(root, 'examples', 'models'), join(folder, to), { recursive: true });
}

/**
 * Checks that the package starts on every supported Node and answers each protocol, with gRPC
 * encrypted (by that Node's OpenSSL).
 */
export async function smokeNodes(prefix, scratch) {
  const cwd = join(scratch, 'smoke');
  mkdirSync(cwd);
  exampleModels(cwd, 'examples/models');
  const tls = makeCertificate(cwd);
  const entry = join(installedFolder(prefix), manifest.bin.serval);
  for (const major of Object.keys(NODES)) {
    const program = [join(nodeRuntime(major), 'node'), entry];
    try {
      await serveOnce(program, cwd, {});
      await serveOnce(program, cwd, {}, tls);
    } catch (error) {
      throw new Error(`on Node ${NODES[major].version}: ${error.message}`);
    }
  }
}

// Returns the blocks of JavaScript in README.md with the output that each documents: a server, a
// model.
function readmeExamples() {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const examples = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => {
    const printed = /console\.log\(.*\); \/\/ (.*)/.exec(code)?.[1] ?? '';
    check(printed !== '', 'README.md has an example without console.log(...); // what it prints');
    return { code, printed };
  });
  check(examples.length >= 2, 'README.md has no example of a server and of a model');
  return examples;
}

const TYPED = `import { loadModel, startServer, type ServeOptions } from 'serval';
import { GrpcClient, V2Client, type Outputs } from 'serval/client';
const model = await loadModel('models/half_plus_three', { instances: 1 });
const values: ArrayLike<unknown> | undefined = (await model.infer({ x: [1, 2] }))['y']?.data;
await model.close();
// @ts-expect-error a model listens to nothing
await loadModel('x', { httpPort: 1 });
export { values };
const options: ServeOptions = { paths: 'models', httpPort: 0, execMode: 'inline' };
const server = await startServer(options);
const port: number = server.http.port + server.grpc.port;
await server.stop();
// @ts-expect-error a port is a number
const wrong: ServeOptions = { httpPort: 'x' };
// @ts-expect-error there is no such mode
const mode: ServeOptions = { execMode: 'sometimes' };
export { port, wrong, mode };
const client = new V2Client('http://localhost:8000', { timeoutMs: 1, tls: { ca: 'pem' } });
const answer: Outputs = (await client.infer('m', { x: [[1]] })).outputs;
// @ts-expect-error a time limit is a number
const late = new GrpcClient('grpc://localhost:8001', { timeoutMs: '1' });
export { answer, late };
`;

// A program with misuses: invalid options, a second server, and a server after a stopped one.
const MISUSED = `import { startServer } from 'serval';
const bad = [{ htpPort: 1 }, { httpPort: '1' }, { httpPort: 70000, paths: 'x' }, {}];
for (const options of bad) await startServer(options).catch((error) => console.log(error.message));
const good = { paths: 'models', host: '127.0.0.1', httpPort: 0, grpcPort: 0, logLevel: 'off' };
const server = await startServer(good);
await startServer(good).catch((error) => console.log(error.message));
await Promise.all([server.stop(), server.stop()]);
console.log('stopped, and again');
const next = await startServer(good);
console.log('ready on ' + next.http.host + ': ' + next.ready);
await next.stop();
`;

// Checks the entry serval/client: ES module, CommonJS, and the module for browsers.
function checkClient(app) {
  const names = 'Object.keys(client).sort().join()';
  const wanted = {
    'client.mjs': ['ClientError,GrpcClient,V1Client,V2Client', 'import * as client from'],
    'client.cjs': ['ClientError,GrpcClient,V1Client,V2Client', 'const client = require'],
    'page.mjs': ['ClientError,V2Client', 'import * as client from'],
  };
  for (const [file, [exported, load]] of Object.entries(wanted)) {
    const from = load.startsWith('import') ? "'serval/client'" : "('serval/client')";
    writeFileSync(join(app, file), `${load} ${from};\nconsole.log(${names});\n`);
    const conditions = file === 'page.mjs' ? ['--conditions=browser'] : [];
    const printed = run(process.execPath, [...conditions, file], app).trim();
    check(printed === exported, `serval/client in ${file} exports ${printed}`);
  }
}

/** Imports, requires and type-checks the installed package in a separate program. */
export function checkExports(prefix, scratch) {
  const app = join(scratch, 'app');
  mkdirSync(join(app, 'node_modules'), { recursive: true });
  symlinkSync(installedFolder(prefix), join(app, 'node_modules', manifest.name));
  exampleModels(app, 'models');
  const node = (file) => run(process.execPath, [file], app);
  for (const { code, printed } of readmeExamples()) {
    writeFileSync(join(app, 'example.mjs'), code);
    check(node('example.mjs').trim() === printed, 'the example of README.md prints something else');
    const common = code.replace(/^import (.*) from (.*);$/gm, 'const $1 = require($2);');
    writeFileSync(join(app, 'example.cjs'), `(async () => {\n${common}})();\n`);
    check(node('example.cjs').trim() === printed, 'the example prints something else by require()');
  }
  writeFileSync(join(app, 'wrong.mjs'), MISUSED);
  const errors = node('wrong.mjs').trim().split('\n');
  const wanted = [
    /unknown option "htpPort"; did you mean httpPort\?/,
    /httpPort: expected a number, got string/,
    /httpPort: expected a whole number from 0 to 65535, got "70000"/,
    /nothing to serve/,
    /expected one server at a time/,
    /^stopped, and again$/,
    /^ready on 127\.0\.0\.1: true$/,
  ];
  wanted.forEach((one, i) => check(one.test(errors[i]), `misused, ${i}: ${errors.join('; ')}`));
  checkClient(app);
  writeFileSync(join(app, 'typed.mts'), TYPED);
  writeFileSync(
    join(app, 'typed.cts'),
    `import { startServer } from 'serval';
    import { V1Client } from 'serval/client';
    export const client = new V1Client('http://localhost:8000');
    export const port = startServer({ paths: ['models'] }).then((server) => server.http.port);`,
  );
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022'];
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  run(process.execPath, [tsc, ...options, 'typed.mts', 'typed.cts'], app);
}
