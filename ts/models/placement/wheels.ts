// The packages of `serval gpu install`: exactly these files, pinned by hash. ONNX Runtime 1.30.0
// for GPUs is built with CUDA 13.0, so these are the libraries of CUDA 13.0; newer ones need newer
// drivers. Control plane; data only.

/** A wheel (a zip file) of a package index, and the files to extract from it. */
export interface Wheel {
  /** Name as the index spells it. */
  readonly package: string;
  readonly version: string;
  /**
   * Lowest version that `serval gpu adopt` accepts, of the same major version. Source: the extras
   * [cuda] and [cudnn] in the metadata of onnxruntime-gpu 1.30.0; CUDA 13.0's release notes.
   */
  readonly least: string;
  readonly file: string;
  readonly bytes: number;
  /** Hash of the whole wheel, in hexadecimal. */
  readonly sha256: string;
  /** Approximate size of the extracted files, for the free-space check. */
  readonly unpackedBytes: number;
  /** Paths in the wheel; each is extracted into the folder under its base name. */
  readonly wanted: RegExp;
  /** Short description of its purpose. */
  readonly about: string;
  /** Fallback index if the user's indexes do not have the package. */
  readonly index?: string;
}

const NVIDIA_INDEX = 'https://pypi.nvidia.com';

/** Installed by every run of `serval gpu install`. */
export const CUDA_WHEELS: readonly Wheel[] = [
  {
    package: 'nvidia-cuda-runtime',
    version: '13.0.96',
    least: '13.0',
    file: 'nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl',
    bytes: 2_243_632,
    sha256: '7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548',
    unpackedBytes: 704_288,
    wanted: /\/lib\/libcudart\.so\.13$/,
    about: "CUDA's runtime",
  },
  {
    package: 'nvidia-cuda-nvrtc',
    version: '13.0.88',
    least: '13.0',
    file: 'nvidia_cuda_nvrtc-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl',
    bytes: 90_215_200,
    sha256: 'ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575',
    unpackedBytes: 113_718_680,
    wanted: /\/lib\/libnvrtc(-builtins\.so\.13\.\d+|\.so\.13)$/,
    about: "CUDA's compiler at run time, for cuDNN",
  },
  {
    package: 'nvidia-cublas',
    version: '13.1.0.3',
    least: '13.0',
    file: 'nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_x86_64.whl',
    bytes: 423_133_236,
    sha256: 'ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171',
    unpackedBytes: 595_773_576,
    wanted: /\/lib\/libcublas(Lt)?\.so\.13$/,
    about: 'matrix products',
  },
  {
    package: 'nvidia-curand',
    version: '10.4.0.35',
    least: '10.4',
    file: 'nvidia_curand-10.4.0.35-py3-none-manylinux_2_27_x86_64.whl',
    bytes: 59_544_258,
    sha256: '1aee33a5da6e1db083fe2b90082def8915f30f3248d5896bcec36a579d941bfc',
    unpackedBytes: 132_698_328,
    wanted: /\/lib\/libcurand\.so\.10$/,
    about: 'random numbers',
  },
  {
    package: 'nvidia-cufft',
    version: '12.0.0.61',
    least: '12.0',
    file: 'nvidia_cufft-12.0.0.61-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl',
    bytes: 214_085_489,
    sha256: '6c44f692dce8fd5ffd3e3df134b6cdb9c2f72d99cf40b62c32dde45eea9ddad3',
    unpackedBytes: 286_542_352,
    wanted: /\/lib\/libcufft\.so\.12$/,
    about: 'Fourier transforms',
  },
  {
    package: 'nvidia-cudnn-cu13',
    version: '9.19.0.56',
    least: '9.0',
    file: 'nvidia_cudnn_cu13-9.19.0.56-py3-none-manylinux_2_27_x86_64.whl',
    bytes: 366_066_321,
    sha256: 'd20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf',
    unpackedBytes: 493_410_672,
    wanted: /\/lib\/libcudnn(_\w+)?\.so\.9$/,
    about: 'convolutions and normalizations',
  },
  {
    package: 'onnxruntime-gpu',
    version: '1.30.0',
    least: '1.30.0',
    file: 'onnxruntime_gpu-1.30.0-cp312-cp312-manylinux_2_28_x86_64.whl',
    bytes: 246_685_715,
    sha256: '6acc0f4b3d5ac5f2984432faa59dd8fcce6775f8b43a7140afa0f322c7a703b1',
    unpackedBytes: 302_118_154,
    wanted: /\/capi\/libonnxruntime(\.so\.1\.30\.0|_providers_(shared|cuda|tensorrt)\.so)$/,
    about: 'ONNX Runtime with its CUDA and TensorRT providers',
  },
];

/** Installed by `--tensorrt`: PyPI's own entry only names NVIDIA's index, which has the wheel. */
export const TENSORRT_WHEELS: readonly Wheel[] = [
  {
    package: 'tensorrt-cu13-libs',
    version: '10.16.1.11',
    least: '10.16',
    file: 'tensorrt_cu13_libs-10.16.1.11-py3-none-manylinux_2_28_x86_64.whl',
    bytes: 3_728_705_565,
    sha256: '91142c8ab3c58bed213cf1a563a6eb4e4f0ac529d05b5f909073acece0e3b712',
    unpackedBytes: 5_500_000_000,
    wanted:
      /^tensorrt_libs\/lib(nvinfer(_plugin)?\.so\.10|nvonnxparser\.so\.10|nvinfer_builder_resource_\w+\.so\.10\.\d+\.\d+)$/,
    about: 'TensorRT 10',
    index: NVIDIA_INDEX,
  },
];
