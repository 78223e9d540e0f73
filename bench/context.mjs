// Shared parts of every workload: options, cores, a temporary folder, fixture models, native
// programs. Control plane. Nothing is made before a workload requests it.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runToEnd } from './children.mjs';
import { pickCores, requireTools } from './machine.mjs';
import { Skipped } from './runner.mjs';

const TOOLS = ['wrk', 'h2load', 'taskset'];
const BUILD_TIMEOUT_MS = 900_000;
// Libraries of programs that are only built if these are installed.
const LIBRARIES = { grpc_echo: 'libgrpc++-dev' };
const FIXTURES_TIMEOUT_MS = 120_000;
const HERE = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');

/**
 * `root` is the checkout under test; the harness, its models and native programs belong to this
 * checkout. `tools`: what must be on PATH. `programs`: a folder with native programs; without it
 * they are built.
 */
export function createContext(options, { root = HERE, tools = TOOLS, programs: built } = {}) {
  requireTools(tools);
  const tempDir = mkdtempSync(join(tmpdir(), 'serval-bench-'));
  process.on('exit', () => rmSync(tempDir, { recursive: true, force: true }));
  const cores = pickCores();
  const startedMs = performance.now();
  const fixtures = once(() => makeFixtures(tempDir, cores));
  const programs = new Map();
  let id = 0;
  return {
    options,
    root,
    cores,
    tempDir,
    harnessRoot: HERE,
    elapsedSeconds: () => (performance.now() - startedMs) / 1000,
    nextId: () => {
      id += 1;
      return id;
    },
    /**
     * Returns the path of a model's folder: one of examples/models, else one that the fixtures
     * make.
     */
    async model(name) {
      const example = join(HERE, 'examples', 'models', name);
      if (existsSync(example)) return example;
      const path = join(await fixtures(), name);
      if (!existsSync(path)) throw new Error(`no model '${name}' in examples/models or fixtures`);
      return path;
    },
    /**
     * Returns the path of a program of bench/micro or grpc_echo, and builds it if it is not up to
     * date. Skipped if its libraries are missing.
     */
    program(name) {
      if (built !== undefined) return builtProgram(built, name);
      const build = programs.get(name) ?? buildProgram(name, cores);
      programs.set(name, build);
      return build;
    },
  };
}

async function builtProgram(folder, name) {
  const path = join(folder, name);
  if (!existsSync(path)) throw new Error(`${path} is missing: the folder has no such program`);
  return path;
}

function once(make) {
  let made;
  return () => {
    made ??= make();
    return made;
  };
}

async function makeFixtures(tempDir, cores) {
  const script = join(HERE, 'test', 'fixtures', 'make-fixtures.mjs');
  if (!existsSync(script)) throw new Error(`${script} is missing`);
  const folder = join(tempDir, 'fixtures');
  await runToEnd(process.execPath, [script, folder], cores.all, FIXTURES_TIMEOUT_MS);
  return join(folder, 'models');
}

/** Builds the program `name` for a context with the cores `cores`. Resolves to its path. */
export async function buildProgram(name, cores) {
  requireTools(['cmake']);
  const folder = join(HERE, 'build', 'bench');
  const run = (args) => runToEnd('cmake', args, cores.all, BUILD_TIMEOUT_MS);
  await run(['-S', HERE, '-B', folder, '-DSERVAL_ADDON=OFF', '-DSERVAL_BENCH=ON']);
  const targets = await run(['--build', folder, '--target', 'help']);
  if (name in LIBRARIES && !hasTarget(targets, name)) {
    throw new Skipped(`${name} needs ${LIBRARIES[name]}: apt-get install ${LIBRARIES[name]}`);
  }
  await run(['--build', folder, '--target', name, '-j', String(availableParallelism())]);
  return join(folder, name);
}

/**
 * True if `name` is in the output of `cmake --build --target help`, by make ("... name") or ninja
 * ("name: phony"). Pure.
 */
export function hasTarget(help, name) {
  return help.split('\n').some((line) => line === `... ${name}` || line.startsWith(`${name}: `));
}
