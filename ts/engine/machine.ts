// Decides which native addon this machine runs, or why none. Control plane, start-up only; pure,
// except thisMachine(). Sources: the feature levels of the x86-64 psABI, with the names that Linux
// gives the features (arch/x86/include/asm/cpufeatures.h).
import { closeSync, openSync, readSync } from 'node:fs';

export interface Machine {
  readonly platform: string;
  readonly arch: string;
  /** The features of an x86-64 CPU in Linux' names; undefined where they cannot be read. */
  readonly features?: ReadonlySet<string>;
}

// x86-64-v2 and v3. Linux calls SSE3 "pni" and LZCNT "abm".
const LEVEL_2 = ['pni', 'ssse3', 'sse4_1', 'sse4_2', 'popcnt'];
const LEVEL_3 = ['avx', 'avx2', 'bmi1', 'bmi2', 'f16c', 'fma', 'abm', 'movbe'];

/** The addon of x86-64-v3 and of arm64; that of older x86-64 CPUs. */
export const ADDON = 'serval.node';
export const BASELINE_ADDON = 'serval-baseline.node';

const SUPPORTED = 'Serval runs on Linux with glibc, on x86-64 and arm64';

/** Returns the names of the addons that a machine may run; the first that exists is loaded. */
export function addonsFor({ arch, features }: Machine): readonly string[] {
  if (arch !== 'x64') return [ADDON];
  if (features === undefined) return [BASELINE_ADDON, ADDON];
  return LEVEL_3.every((name) => features.has(name)) ? [ADDON] : [BASELINE_ADDON];
}

/** Returns why no addon can run on a machine; undefined if one can. */
export function refusal({ platform, arch, features }: Machine): string | undefined {
  if (platform !== 'linux' || (arch !== 'x64' && arch !== 'arm64')) {
    return `${SUPPORTED}; this machine is ${platform}-${arch}`;
  }
  if (arch !== 'x64' || features === undefined) return undefined;
  const missing = LEVEL_2.find((name) => !features.has(name));
  if (missing === undefined) return undefined;
  return `Serval needs an x86-64 CPU with SSE4.2 (x86-64-v2); this one lacks ${missing}`;
}

/**
 * Returns why an addon that exists did not load: the C library's version, as Node reports it
 * (undefined where it is not glibc); undefined for other reasons.
 */
export function libraryRefusal(glibc: string | undefined, reason: string): string | undefined {
  if (glibc === undefined) {
    return (
      `${SUPPORTED}; this system's C library is not glibc (on Alpine it is musl): ` +
      'use a system such as Debian, or the image node:22-slim'
    );
  }
  const wanted = /version `GLIBC_([\d.]+)' not found/.exec(reason)?.[1];
  if (wanted === undefined) return undefined;
  return `Serval needs glibc ${wanted} or newer; this system has ${glibc}`;
}

/** Reads the features from the first processor of /proc/cpuinfo. Pure. */
export function featuresIn(text: string): ReadonlySet<string> | undefined {
  const names = /^flags\s*:(.*)$/m.exec(text)?.[1];
  return names === undefined ? undefined : new Set(names.trim().split(/\s+/));
}

// The first processor's lines take about 1,500 bytes. The whole file has those of every processor.
const CPU_INFO_BYTES = 8192;

function cpuInfo(): string {
  try {
    const file = openSync('/proc/cpuinfo', 'r');
    try {
      const part = Buffer.alloc(CPU_INFO_BYTES);
      return part.toString('latin1', 0, readSync(file, part, 0, part.length, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}

/** Describes this machine. */
export function thisMachine(): Machine {
  const { platform, arch } = process;
  if (arch !== 'x64') return { platform, arch };
  const features = featuresIn(cpuInfo());
  return features === undefined ? { platform, arch } : { platform, arch, features };
}

/** Returns the version of glibc that this process runs with; undefined if it runs with another. */
export function glibcVersion(): string | undefined {
  const report = process.report.getReport() as {
    readonly header?: { readonly glibcVersionRuntime?: string };
  };
  return report.header?.glibcVersionRuntime;
}
