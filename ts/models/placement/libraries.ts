// The libraries that the GPU providers need, and which package brings each. Control plane. Source:
// the NEEDED entries of ONNX Runtime 1.30.0's providers.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface GpuLibrary {
  /** What the loader looks for. */
  readonly soname: string;
  readonly package: string;
  readonly provider: 'cuda' | 'tensorrt';
  /** Needed by some operators only. */
  readonly optional?: true;
}

const cuda = (soname: string, name: string): GpuLibrary => ({
  soname,
  package: name,
  provider: 'cuda',
});
const tensorrt = (soname: string): GpuLibrary => ({
  soname,
  package: 'tensorrt-cu13-libs',
  provider: 'tensorrt',
});

/** What needs another stands behind it. */
export const GPU_LIBRARIES: readonly GpuLibrary[] = [
  cuda('libcudart.so.13', 'nvidia-cuda-runtime'),
  cuda('libnvrtc-builtins.so.13.0', 'nvidia-cuda-nvrtc'),
  cuda('libnvrtc.so.13', 'nvidia-cuda-nvrtc'),
  cuda('libcublasLt.so.13', 'nvidia-cublas'),
  cuda('libcublas.so.13', 'nvidia-cublas'),
  cuda('libcurand.so.10', 'nvidia-curand'),
  { ...cuda('libcufft.so.12', 'nvidia-cufft'), optional: true },
  cuda('libcudnn.so.9', 'nvidia-cudnn-cu13'),
  tensorrt('libnvinfer.so.10'),
  tensorrt('libnvonnxparser.so.10'),
];

const CUDA_RUNTIMES: readonly string[] = ['libcudart.so.13', 'libcudart.so.12'];

/** Whether CUDA's runtime library lies where ONNX Runtime's does (`serval gpu install`). Where only
 * the system has one, GPUs work all the same. */
export const hasCudaBeside = (runtime: string): boolean =>
  runtime !== '' && CUDA_RUNTIMES.some((name) => existsSync(join(dirname(runtime), name)));

/** Of cuDriverGetVersion(): CUDA 13.0, with which the libraries come. */
export const DRIVER_VERSION_MIN = 13_000;
/** The first of NVIDIA's drivers that has it. */
export const DRIVER_NAME_MIN = '580';
