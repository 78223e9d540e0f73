// The libraries with custom operators that a Triton model configuration names (model_operations).
// Control plane; pure: the engine's thread finds the files. Source: Triton's custom_operations.md.
import { echo } from '../../../base/text.js';
import type { ModelSpec } from '../../../model/engine-api.js';
import { read } from '../../../protobuf/schema.js';
import type { TritonConfig } from '../types.js';

/** Their names in the configuration. */
export function operatorLibraries(config: TritonConfig | undefined): readonly string[] {
  return read.texts(read.child(config, 'model_operations'), 'op_library_filename').map(String);
}

/** `folders`: of the version and of the model, where relative names are looked up first. */
export function librarySettings(
  config: TritonConfig | undefined,
  folders: readonly string[],
): Pick<ModelSpec, 'operatorLibraries' | 'libraryFolders'> {
  const libraries = operatorLibraries(config);
  return libraries.length === 0 ? {} : { operatorLibraries: libraries, libraryFolders: folders };
}

/** Why a model of this format cannot have the libraries; undefined if it can or has none. */
export function libraryProblem(
  config: TritonConfig | undefined,
  format: string,
): string | undefined {
  const [library] = operatorLibraries(config);
  if (library === undefined || format === 'onnx') return undefined;
  const why =
    format === 'tensorflow'
      ? "a TensorFlow model is compiled to ONNX, where TensorFlow's operators do not exist"
      : 'only ONNX models have custom operators';
  return `model_operations: expected no operator library, got ${echo(library)}: ${why}`;
}
