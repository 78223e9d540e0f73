// The libraries that the GPU providers need, and the package that contains each. Control plane.
// Source: the NEEDED entries of ONNX Runtime 1.30.0's providers.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface GpuLibrary {
  /** File name that the loader searches for. */
  readonly soname: string;
  readonly package: string;
  readonly provider: 'cuda' | 'tensorrt';
  /** Its names in other minor versions of the package, if the name has the minor version. */
  readonly otherNames?: RegExp;
  /** Needed only by some operators. */
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

/** Dependencies come before the libraries that need them. */
export const GPU_LIBRARIES: readonly GpuLibrary[] = [
  cuda('libcudart.so.13', 'nvidia-cuda-runtime'),
  {
    ...cuda('libnvrtc-builtins.so.13.0', 'nvidia-cuda-nvrtc'),
    otherNames: /^libnvrtc-builtins\.so\.13\.\d+$/,
  },
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

/**
 * Whether CUDA's runtime library is beside ONNX Runtime's (`serval gpu install`). GPUs also work
 * with the system's library only.
 */
export const hasCudaBeside = (runtime: string): boolean =>
  runtime !== '' && CUDA_RUNTIMES.some((name) => existsSync(join(dirname(runtime), name)));

/** Minimum value of cuDriverGetVersion(): CUDA 13.0, the version of the installed libraries. */
export const DRIVER_VERSION_MIN = 13_000;
/** First NVIDIA driver version that supports it. */
export const DRIVER_NAME_MIN = '580';
