// Prepares and starts the servers of a run: environments, models, Serval, the peers. Control plane.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from '../children.mjs';
import { startServal } from '../contenders/serval.mjs';
import { modelFolder, MODELS as GPU_MODELS, usualFolder } from '../gpu/models/index.mjs';
import { tensorFlowModel } from '../tensorflow/environment.mjs';
import { modelFile } from '../workloads/mlp.mjs';
import { containerPid } from './docker.mjs';
import { MODELS } from './peers.mjs';
import { freePort, startTree, treeBytes, treeCpuNs } from './tree.mjs';

const SCRIPT = fileURLToPath(new URL('environment.sh', import.meta.url));
const PREPARE_MS_MAX = 1_800_000;
const MISSING = 3;
const HOST = '127.0.0.1';
// A ResNet of bottlenecks with 26 layers: some milliseconds for an image on one core.
const RESNET = { size: 224, width: 16, blocks: [2, 2, 2, 2], classes: 1000 };

/**
 * The environment of a peer, made if `make`: {python, packages, version of Python, the peer's
 * release, bytes}. Throws a message that names --prepare if it is missing.
 */
export async function environmentOf(peer, { cores, make }) {
  const name = peer.environment ?? peer.id;
  const args = make ? [SCRIPT, name] : [SCRIPT, '--check', name];
  const folder = await runToEnd('bash', args, cores.all, PREPARE_MS_MAX).catch((error) => {
    if (make || error.code !== MISSING) throw error;
    const how = `node bench/peers/run.mjs --prepare --only ${peer.id}`;
    throw new Error(`${peer.id} is not installed; install it with: ${how}`);
  });
  const root = folder.trim();
  const [library] = readdirSync(join(root, 'lib'));
  const packages = join(root, 'lib', library, 'site-packages');
  return {
    python: join(root, 'bin', 'python'),
    packages,
    version: library.replace('python', ''),
    release: releaseOf(readdirSync(packages), peer.package),
    bytes: Number(execFileSync('du', ['-sb', root], { encoding: 'utf8' }).split('\t')[0]),
  };
}

/** The release that a server names at `path` of its port, with that of its package. */
export async function servedRelease(port, path, release) {
  const response = await fetch(`http://${HOST}:${port}${path}`);
  const { version } = await response.json();
  return `${version} (package ${release})`;
}

/** The release of `name` by the names of the folders in site-packages. Pure. */
export function releaseOf(entries, name) {
  const start = `${name.replaceAll('-', '_')}-`;
  const entry = entries.find((one) => one.startsWith(start) && one.endsWith('.dist-info'));
  if (entry === undefined) throw new Error(`${name} is not among the installed packages`);
  return entry.slice(start.length, -'.dist-info'.length);
}

/** A repository of the three models: NAME/1/model.onnx. Resolves to its folder. */
export async function makeModels(context) {
  const folder = join(context.tempDir, 'models');
  const put = (name, from) => cpSync(from, join(folder, name, '1'), { recursive: true });
  const resnet = GPU_MODELS.find(({ name }) => name === 'resnet50');
  for (const name of ['half_plus_three', 'mlp']) {
    put(name, dirname(modelFile(await context.model(name))));
  }
  put('resnet', modelFolder(usualFolder(), resnet, RESNET));
  return folder;
}

/** Starts Serval with the models, on the same cores as the peers. */
export async function openServal(context, { models, cores }) {
  const folders = Object.keys(MODELS).map((name) => join(models, name));
  const server = await startServal(context, context.root, folders, { cores });
  const { pid } = server;
  const processor = { pid, cpuNs: () => treeCpuNs(pid) };
  return {
    id: 'serval',
    title: 'Serval',
    release: JSON.parse(readFileSync(join(context.root, 'package.json'), 'utf8')).version,
    http: { ...server.http, ...processor },
    grpc: { ...server.grpc, ...processor },
    readyMs: server.readyMs,
    bytes: () => treeBytes(pid),
    cpuNs: processor.cpuNs,
    ended: server.ended,
    stop: server.stop,
  };
}

/** Carries out a launch's `files` and `copies` below its folder. */
function layOut(folder, { files = {}, copies = [] }) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  for (const [from, to] of copies) cpSync(from, to, { recursive: true });
}

/**
 * Starts a peer. `settings`: {models, cores, workers}. Resolves to the same members as openServal,
 * with `release`, `installBytes` and `configuration`.
 */
export async function openPeer(context, peer, settings) {
  const { models, cores, workers } = settings;
  const installed = peer.docker ? {} : await environmentOf(peer, { cores: context.cores });
  const ports = { http: await freePort(), grpc: await freePort(), metrics: await freePort() };
  const folder = mkdtempSync(join(context.tempDir, `${peer.id}-`));
  const threads = Math.max(1, Math.floor(cores.length / workers));
  const name = `serval-peer-${peer.id}-${process.pid}`;
  const savedModel =
    peer.id === 'tfserving' ? await tensorFlowModel(context, 'tf_half_plus_two') : undefined;
  const place = { ...installed, models, folder, threads, workers, ports, cores, name, savedModel };
  const launch = peer.launch(place);
  layOut(folder, launch);
  const env = { ...process.env, ...launch.env };
  const started = await startTree({ ...launch, cores, place: { env, cwd: folder } });
  const release =
    peer.versionPath === undefined
      ? (installed.release ?? launch.image)
      : await servedRelease(ports.http, peer.versionPath, installed.release);
  const pid = launch.container === undefined ? started.pid : containerPid(launch.container);
  const processor = { host: HOST, pid, cpuNs: () => treeCpuNs(pid) };
  return {
    id: peer.id,
    title: peer.title,
    shift: peer.shift,
    release,
    installBytes: installed.bytes,
    configuration: peer.configuration(settings),
    http: { port: ports.http, ...processor },
    grpc: { port: ports.grpc, ...processor },
    readyMs: started.readyMs,
    bytes: () => treeBytes(pid),
    cpuNs: processor.cpuNs,
    ended: started.ended,
    stop: started.stop,
  };
}
