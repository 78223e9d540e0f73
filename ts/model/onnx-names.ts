// ONNX's domains of operators and ONNX Runtime's names of providers. Any plane, any thread; data
// only.

/** Operators that ONNX Runtime adds to ONNX. */
export const CONTRIB_DOMAIN = 'com.microsoft';
export const CUDA_PROVIDER = 'CUDAExecutionProvider';
export const TENSORRT_PROVIDER = 'TensorrtExecutionProvider';
