// Python and conda environments with libraries that have only heads, for tests of
// `serval gpu adopt`. Test time only.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface LibraryHead {
  readonly soname?: string;
  readonly needed?: readonly string[];
  /** e_machine; 62: x86-64. */
  readonly machine?: number;
}

const HEADERS_BYTES = 64 + 2 * 56;

/** A shared library without code: an ELF header, two segments, a dynamic section, its strings. */
export function sharedLibrary({ soname, needed = [], machine = 62 }: LibraryHead): Buffer {
  const names = [...(soname === undefined ? [] : [soname]), ...needed];
  const strings = Buffer.from(`\0${names.map((name) => `${name}\0`).join('')}`);
  const offsetOf = (name: string): number => strings.indexOf(`\0${name}\0`) + 1;
  const tags: (readonly [number, number])[] = [
    ...needed.map((name) => [1, offsetOf(name)] as const),
    ...(soname === undefined ? [] : [[14, offsetOf(soname)] as const]),
  ];
  const dynamicBytes = (tags.length + 3) * 16;
  tags.push([5, HEADERS_BYTES + dynamicBytes], [10, strings.length], [0, 0]);
  const head = Buffer.alloc(HEADERS_BYTES + dynamicBytes);
  head.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  head.writeUInt16LE(3, 16); // ET_DYN
  head.writeUInt16LE(machine, 18);
  head.writeBigUInt64LE(64n, 32);
  head.writeUInt16LE(56, 54);
  head.writeUInt16LE(2, 56);
  const segment = (at: number, kind: number, offset: number, bytes: number): void => {
    head.writeUInt32LE(kind, at);
    for (const [field, value] of [
      [8, offset],
      [16, offset],
      [32, bytes],
    ] as const) {
      head.writeBigUInt64LE(BigInt(value), at + field);
    }
  };
  segment(64, 1, 0, head.length + strings.length);
  segment(64 + 56, 2, HEADERS_BYTES, dynamicBytes);
  tags.forEach(([tag, value], i) => {
    head.writeBigUInt64LE(BigInt(tag), HEADERS_BYTES + i * 16);
    head.writeBigUInt64LE(BigInt(value), HEADERS_BYTES + i * 16 + 8);
  });
  return Buffer.concat([head, strings]);
}

export interface FakePackage {
  readonly name: string;
  readonly version: string;
  /** Paths below site-packages -> content. */
  readonly files: Readonly<Record<string, Buffer | string>>;
}

/** Writes the files below `folder`. */
export function writeFiles(folder: string, files: Readonly<Record<string, Buffer | string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** Installs packages into `site`, as pip does: files, and a .dist-info with RECORD. */
export function installPackages(site: string, packages: readonly FakePackage[]): void {
  for (const { name, version, files } of packages) {
    const info = `${name.replaceAll('-', '_')}-${version}.dist-info`;
    const all = { ...files, [`${info}/licenses/License.txt`]: `licence of ${name}` };
    const lines = Object.entries(all).map(
      ([path, content]) => `${path},sha256=x,${Buffer.byteLength(content)}`,
    );
    writeFiles(site, {
      ...all,
      [`${info}/RECORD`]: `${[...lines, `${info}/RECORD,,`].join('\n')}\n`,
    });
  }
}

/** A library whose soname is its file name. */
const named = (path: string, needed: readonly string[] = []): Readonly<Record<string, Buffer>> => ({
  [path]: sharedLibrary({ soname: path.slice(path.lastIndexOf('/') + 1), needed }),
});

const CUDNN_PARTS = ['cnn', 'engines_precompiled', 'graph', 'ops'];

/** The packages that torch for CUDA 13 brings, with other versions by name. */
export function cudaPackages(
  versions: Readonly<Record<string, string>> = {},
): readonly FakePackage[] {
  const row = (name: string, version: string, files: FakePackage['files']): FakePackage => ({
    name,
    version: versions[name] ?? version,
    files,
  });
  const lib = 'nvidia/cu13/lib';
  return [
    row('nvidia-cuda-runtime', '13.0.96', named(`${lib}/libcudart.so.13`)),
    row('nvidia-cuda-nvrtc', '13.0.88', {
      ...named(`${lib}/libnvrtc.so.13`),
      ...named(`${lib}/libnvrtc-builtins.so.13.0`),
    }),
    row('nvidia-cublas', '13.1.0.3', {
      ...named(`${lib}/libcublas.so.13`, ['libcublasLt.so.13', 'libc.so.6']),
      ...named(`${lib}/libcublasLt.so.13`),
      ...named(`${lib}/libnvblas.so.13`),
    }),
    row('nvidia-curand', '10.4.0.35', named(`${lib}/libcurand.so.10`)),
    row('nvidia-cufft', '12.0.0.61', named(`${lib}/libcufft.so.12`)),
    row('nvidia-cudnn-cu13', '9.19.0.56', {
      ...named('nvidia/cudnn/lib/libcudnn.so.9'),
      ...Object.assign(
        {},
        ...CUDNN_PARTS.map((part) => named(`nvidia/cudnn/lib/libcudnn_${part}.so.9`)),
      ),
    }),
  ];
}

/** onnxruntime-gpu; `needed`: what its CUDA provider needs. */
export const runtimePackage = (
  version = '1.30.0',
  needed: readonly string[] = ['libcublas.so.13', 'libcudart.so.13'],
): FakePackage => ({ name: 'onnxruntime-gpu', version, files: runtimeFiles(version, needed) });

function runtimeFiles(version: string, needed: readonly string[]): FakePackage['files'] {
  const capi = 'onnxruntime/capi';
  const provider = (name: string): string => `${capi}/libonnxruntime_providers_${name}.so`;
  return {
    [`${capi}/libonnxruntime.so.${version}`]: sharedLibrary({ soname: 'libonnxruntime.so.1' }),
    [provider('shared')]: sharedLibrary({ soname: 'libonnxruntime_providers_shared.so' }),
    [provider('cuda')]: sharedLibrary({ needed }),
    [provider('tensorrt')]: sharedLibrary({ needed: ['libnvinfer.so.10'] }),
    [`${capi}/onnxruntime_pybind11_state.so`]: 'not wanted',
  };
}

export const tensorrtPackage = (version = '10.16.1.11'): FakePackage => ({
  name: 'tensorrt-cu13-libs',
  version,
  files: {
    ...named('tensorrt_libs/libnvinfer.so.10'),
    ...named('tensorrt_libs/libnvinfer_plugin.so.10'),
    ...named('tensorrt_libs/libnvonnxparser.so.10'),
    ...named('tensorrt_libs/libnvinfer_builder_resource_sm90.so.10.16.1'),
  },
});
