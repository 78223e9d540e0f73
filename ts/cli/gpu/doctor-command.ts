// `serval doctor`: reports whether this machine can run models on GPUs, and what is missing.
// Control plane, main thread. It opens the libraries in this process and loads a model of one
// operator with each provider.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ONNX_FILE } from '../../base/file-names.js';
import { parseFlags } from '../../config/command-line.js';
import { boolValue, textValue } from '../../config/values/values.js';
import { ErrorCode, reasonOf } from '../../base/errors.js';
import {
  adoptedSources,
  defaultGpuFolder,
  readGpuFolder,
  type GpuFolder,
} from '../../engine/gpu-folder.js';
import type { DriverProbe } from '../../models/placement/placing-engine.js';
import { GPU_LIBRARIES, type GpuLibrary } from '../../models/placement/libraries.js';
import { loadBinding, onnxruntimeLibrary, type NativeBinding } from '../../engine/binding.js';
import type { Engine } from '../../engine/engine.js';
import { encodeModel } from '../../importers/onnx/builder.js';
import { visibleJson, visibleTexts } from '../../base/text.js';
import { asUsage, UsageError } from '../usage.js';
import { concluded, cudaVersion, doctorText } from './doctor.js';
import type { Findings, FoundLibrary, GpuDevice, TriedProvider } from './doctor.js';
import { DOCTOR_FLAGS } from './flags.js';

const KERNEL_MODULE = '/proc/driver/nvidia/version';

/**
 * Returns the exit code: 0 if models can run on a GPU, 1 if they run on the CPU. Errors:
 * UsageError; RuntimeUnavailable: the addon itself.
 */
export async function doctorCommand(args: readonly string[]): Promise<number> {
  const cwd = process.cwd();
  const { settings, positional } = await asUsage(() => parseFlags(args, cwd, DOCTOR_FLAGS));
  if (positional.length > 0) {
    const message = `doctor: expected no arguments, got ${positional.length}`;
    throw new UsageError(ErrorCode.InvalidArgument, message);
  }
  const path = async (name: string): Promise<string | undefined> => {
    const written = settings.get(name);
    const text = written && (await asUsage(() => textValue(written)));
    return text === undefined || text === '' ? undefined : resolve(cwd, text);
  };
  const written = settings.get('json');
  const json = written !== undefined && (await asUsage(() => boolValue(written)));
  const folder = (await path('folder')) ?? defaultGpuFolder();
  const report = concluded(await findings(folder, await path('onnxruntime-library')));
  process.stdout.write(json ? `${visibleJson(report, 2)}\n` : doctorText(visibleTexts(report)));
  return report.exitCode;
}

async function findings(path: string, library: string | undefined): Promise<Findings> {
  const binding = loadBinding();
  const probe = JSON.parse(binding.probeDriver()) as DriverProbe;
  const folder = readGpuFolder(path);
  const runtime = library ?? folder?.runtime ?? onnxruntimeLibrary(undefined);
  const libraries = GPU_LIBRARIES.map(
    (one): FoundLibrary => ({
      ...one,
      optional: one.optional === true,
      ...find(binding, path, one),
    }),
  );
  return {
    driver: {
      reason: probe.library,
      cuda: cudaVersion(probe.version),
      module: moduleVersion(),
      init: probe.init,
    },
    devices: probe.devices.map(
      ({ name, memory, major, minor }): GpuDevice => ({
        name,
        memoryBytes: memory,
        capability: `${major}.${minor}`,
      }),
    ),
    folder: {
      path,
      state: folderState(path, folder),
      sources: folder === undefined ? [] : adoptedSources(folder),
    },
    runtime,
    libraries,
    providers: await triedProviders(runtime),
  };
}

function folderState(path: string, folder: GpuFolder | undefined): string {
  if (folder === undefined) {
    return existsSync(path) ? 'nothing installed by `serval gpu install`' : 'does not exist';
  }
  if (folder.broken.length > 0) return `incomplete: ${folder.broken.join(', ')}`;
  return folder.packages.map(({ name, version }) => `${name} ${version || '?'}`).join(', ');
}

/** "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ..." -> "580.65.06" */
function moduleVersion(): string {
  try {
    return /\s(\d+\.\d+(?:\.\d+)?)\s/.exec(readFileSync(KERNEL_MODULE, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/** Searches the folder, then the loader's search path. */
function find(
  binding: NativeBinding,
  folder: string,
  { soname, otherNames }: Pick<GpuLibrary, 'soname' | 'otherNames'>,
): Pick<FoundLibrary, 'from' | 'reason'> {
  const name = existsSync(join(folder, soname)) ? soname : otherName(folder, otherNames);
  const own = name === undefined ? undefined : join(folder, name);
  const reason = binding.probeLibrary(Buffer.from(own ?? soname));
  if (reason === '') return { from: own ?? 'system', reason };
  return { from: undefined, reason };
}

/** The library of another minor version in the folder. */
function otherName(folder: string, pattern: RegExp | undefined): string | undefined {
  if (pattern === undefined || !existsSync(folder)) return undefined;
  return readdirSync(folder).find((name) => pattern.test(name) && existsSync(join(folder, name)));
}

/** Tries each provider with a model of one operator. */
async function triedProviders(library: string): Promise<readonly TriedProvider[]> {
  const { createEngine } = await import('../../engine/engine.js');
  const folder = mkdtempSync(join(tmpdir(), 'serval-doctor-'));
  let engine: Engine | undefined;
  try {
    const path = join(folder, ONNX_FILE);
    writeFileSync(path, oneOperator());
    engine = await createEngine({ onnxruntimeLibrary: library });
    const tried: TriedProvider[] = [];
    for (const name of ['tensorrt', 'cuda', 'cpu'] as const) {
      tried.push({ name, ...(await tryProvider(engine, path, name)) });
    }
    return tried;
  } finally {
    engine?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryProvider(
  engine: Engine,
  path: string,
  name: string,
): Promise<Pick<TriedProvider, 'loads' | 'reason'>> {
  const providers = [{ name, options: {} }];
  const spec = { name: 'doctor', version: '1', backend: 'onnxruntime', path, providers } as const;
  try {
    const loaded = await engine.control.load(spec);
    await engine.control.unload(loaded.handle);
    return { loads: true, reason: '' };
  } catch (error) {
    return { loads: false, reason: reasonOf(error).replace(/\s+/g, ' ') };
  }
}

function oneOperator(): Uint8Array {
  const value = (name: string) => ({ name, type: 'float', shape: [1] }) as const;
  return encodeModel({
    graph: {
      name: 'doctor',
      inputs: [value('x')],
      outputs: [value('y')],
      nodes: [{ op: 'Add', inputs: ['x', 'x'], outputs: ['y'] }],
    },
  });
}
