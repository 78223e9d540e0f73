// Findings of `serval doctor` as text, and the verdict. Control plane; pure.
import type { AdoptedSource } from '../../engine/gpu-folder.js';
import {
  DRIVER_NAME_MIN,
  DRIVER_VERSION_MIN,
  GPU_LIBRARIES,
} from '../../models/placement/libraries.js';

export interface GpuDevice {
  readonly name: string;
  readonly memoryBytes: number;
  /** Compute capability: "9.0". */
  readonly capability: string;
}

export interface FoundLibrary {
  readonly soname: string;
  readonly package: string;
  readonly provider: 'cuda' | 'tensorrt';
  readonly optional: boolean;
  /** Its path, or "system"; undefined: it is missing. */
  readonly from: string | undefined;
  /** Why it cannot be opened. */
  readonly reason: string;
}

export interface TriedProvider {
  readonly name: 'cuda' | 'tensorrt' | 'cpu';
  readonly loads: boolean;
  readonly reason: string;
}

/** The report that `--json` prints. */
export interface DoctorReport {
  readonly driver: {
    /** Why libcuda.so.1 cannot be opened; "" = it is present. */
    readonly reason: string;
    /** CUDA version of the driver: "13.0"; "" = unknown. */
    readonly cuda: string;
    /** Version of the kernel module: "580.65.06"; "" = unknown. */
    readonly module: string;
    /** Result of cuInit; 0 = success. */
    readonly init: number;
  };
  readonly devices: readonly GpuDevice[];
  readonly folder: {
    readonly path: string;
    readonly state: string;
    /** The places from which `serval gpu adopt` brought its libraries. */
    readonly sources: readonly AdoptedSource[];
  };
  readonly runtime: string;
  readonly libraries: readonly FoundLibrary[];
  readonly providers: readonly TriedProvider[];
  /** Two lines: where models run, and the suggested action. */
  readonly verdict: readonly [string, string];
  /** Exit code of the process: 0: models can run on a GPU. */
  readonly exitCode: 0 | 1;
}

export type Findings = Omit<DoctorReport, 'verdict' | 'exitCode'>;

/** 13000 -> "13.0" */
export function cudaVersion(number: number): string {
  return number <= 0 ? '' : `${Math.floor(number / 1000)}.${Math.floor((number % 1000) / 10)}`;
}

/** The verdict: names the first obstacle and its remedy. */
export function concluded(found: Findings): DoctorReport {
  const loads = found.providers.filter(({ loads: does }) => does).map(({ name }) => name);
  // A server does not use an incomplete folder.
  const isWhole = found.folder.sources.every(({ broken }) => broken.length === 0);
  const onGpu = loads.includes('cuda') && found.devices.length > 0 && isWhole;
  const verdict = onGpu ? gpuVerdict(found, loads) : cpuVerdict(found);
  return { ...found, verdict, exitCode: onGpu ? 0 : 1 };
}

function gpuVerdict(found: Findings, loads: readonly string[]): readonly [string, string] {
  const devices = found.devices.length === 1 ? '1 GPU' : `${found.devices.length} GPUs`;
  const first = found.devices[0]?.name ?? '';
  const by = loads.includes('tensorrt') ? 'CUDA and TensorRT' : 'CUDA';
  const more = loads.includes('tensorrt')
    ? 'next: serval serve PATH'
    : 'next: serval serve PATH; for TensorRT: serval gpu install --tensorrt';
  return [`verdict: models run on ${devices} (${first}) with ${by}`, more];
}

function cpuVerdict(found: Findings): readonly [string, string] {
  const [why, remedy] = firstObstacle(found);
  return [`verdict: models run on the CPU: ${why}`, `next: ${remedy}`];
}

const ADOPT_OR_INSTALL =
  'serval gpu adopt DIR, if a Python environment on this machine has them; else serval gpu install';
const ADOPT_AGAIN = 'serval gpu adopt DIR with its new place, or serval gpu install';

const lostText = ({ from, exists }: AdoptedSource): string =>
  exists ? `${from}, which was adopted, has changed` : `${from}, which was adopted, is gone`;

function firstObstacle(found: Findings): readonly [string, string] {
  const { driver, devices, libraries } = found;
  const install = `install NVIDIA's driver ${DRIVER_NAME_MIN} or newer`;
  if (driver.reason !== '') return ['no GPU: no driver is installed', `with a GPU, ${install}`];
  if (driver.init !== 0 || devices.length === 0) {
    const remedy =
      'run `nvidia-smi`; a container needs `--gpus all` or the device plugin of Kubernetes';
    return [`no GPU: the driver finds no device (cuInit: ${driver.init})`, remedy];
  }
  if (versionNumber(driver.cuda) < DRIVER_VERSION_MIN) {
    return [`the driver is for CUDA ${driver.cuda}, expected 13.0 or newer`, install];
  }
  const missing = libraries.filter(
    ({ provider, optional, from }) => provider === 'cuda' && !optional && from === undefined,
  );
  const lost = found.folder.sources.find(({ broken }) => broken.length > 0);
  if (lost !== undefined) return [`${lostText(lost)}: ${lost.broken.join(', ')}`, ADOPT_AGAIN];
  if (missing.length > 0) {
    const names = missing.map(({ soname }) => soname).join(', ');
    return [`missing: ${names}`, ADOPT_OR_INSTALL];
  }
  const refused = found.providers.find(({ name }) => name === 'cuda')?.reason ?? '';
  return [`the CUDA provider does not load: ${refused}`, 'serval gpu install'];
}

function versionNumber(text: string): number {
  const [major = 0, minor = 0] = text.split('.').map(Number);
  return major * 1000 + minor * 10;
}

/** Prints all findings, even if the verdict needs no GPU. */
export function doctorText(report: DoctorReport): string {
  const { driver, devices, folder, libraries, providers, verdict } = report;
  const lines = [
    `driver     ${driverText(driver)}`,
    ...(devices.length === 0 ? ['devices    none'] : devices.map(deviceText)),
    `folder     ${folder.path}: ${folder.state}`,
    ...folder.sources.map(sourceText),
    `runtime    ${report.runtime === '' ? 'no ONNX Runtime library found' : report.runtime}`,
    ...libraries.map(libraryText),
    ...providers.map(
      ({ name, loads, reason }) =>
        `provider   ${name.padEnd(9)} ${loads ? 'loads' : `does not load: ${reason}`}`,
    ),
    ...verdict,
  ];
  return `${lines.join('\n')}\n`;
}

const sourceText = (source: AdoptedSource): string =>
  source.broken.length > 0
    ? `adopted    ${lostText(source)}: serval gpu adopt DIR`
    : `adopted    from ${source.from}${source.exists ? '' : ' (copied; it is gone)'}`;

function driverText({ reason, cuda, module }: DoctorReport['driver']): string {
  if (reason !== '') return `not found: ${reason}`;
  const version = module === '' ? 'found' : module;
  return `${version}${cuda === '' ? '' : `, CUDA ${cuda}`}`;
}

function deviceText({ name, memoryBytes, capability }: GpuDevice, index: number): string {
  const gigabytes = (memoryBytes / 2 ** 30).toFixed(1);
  return `device ${index}   ${name}, ${gigabytes} GiB, compute capability ${capability}`;
}

const WIDTH = Math.max(...GPU_LIBRARIES.map(({ soname }) => soname.length));

function libraryText({ soname, package: name, from, reason, optional }: FoundLibrary): string {
  const which = soname.padEnd(WIDTH);
  if (from !== undefined) return `library    ${which}  ${from}`;
  const why = /cannot open shared object file/.test(reason) ? '' : ` (${reason})`;
  return `library    ${which}  missing${optional ? ', optional' : ''}: part of ${name}${why}`;
}
