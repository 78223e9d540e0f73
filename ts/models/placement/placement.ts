// Decides where a model runs: maps its configuration and the machine's hardware to execution
// providers and to a reason for the log. Control plane; pure.
import { TENSORRT_PROVIDER } from '../../model/onnx-names.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { ModelSpec, Placement, ProviderOptions } from '../../model/engine-api.js';
import type { ContextNode } from '../../importers/onnx/context-node.js';

export const AUTO = 'auto';

/** The machine's GPUs and libraries. */
export interface GpuFacts {
  readonly devices: number;
  /** Why models cannot run on a GPU; "" if they can. */
  readonly obstacle: string;
  readonly tensorrt: boolean;
}

export interface Placed {
  readonly providers: readonly ProviderOptions[];
  /** "tensorrt, cuda", "cuda", "cpu" */
  readonly on: string;
  readonly why: string;
}

/** Whether --providers leaves the choice to Serval. `ready`: this ONNX Runtime supports GPUs. */
export function choosesItself(spec: ModelSpec, ready: boolean): boolean {
  const { providers = [] } = spec;
  return providers.length === 0 ? ready : providers.some(({ name }) => name === AUTO);
}

/**
 * TensorRT if the configuration requests it or fixes the shapes of all inputs (TensorRT builds an
 * engine for each shape), else CUDA; the CPU if there is no GPU or the configuration says KIND_CPU.
 * `context`: the compiled nodes of the model's file, if it has any: with TensorRT's, the model runs
 * on TensorRT or not at all; the loader refuses those of other providers. Errors: ModelInvalid
 * (KIND_CPU), RuntimeUnavailable (no GPU, no TensorRT) for such a model.
 */
export function place(spec: ModelSpec, facts: GpuFacts, context?: ContextNode): Placed {
  const { placement } = spec;
  if (spec.backend !== 'onnxruntime') return onCpu('tabular models run on the CPU');
  if (context !== undefined && ['', TENSORRT_PROVIDER].includes(context.source)) {
    return onTensorrt(spec, facts, context);
  }
  if (placement?.kind === 'cpu') return onCpu('its configuration says KIND_CPU');
  if (facts.obstacle !== '') return onCpu(facts.obstacle);
  const cuda: ProviderOptions = { name: 'cuda', options: placement?.cuda ?? {} };
  const asked = placement?.tensorrt;
  const cudaOnly = (why: string): Placed => ({ providers: [cuda], on: 'cuda', why });
  if (!facts.tensorrt) {
    return asked === undefined
      ? cudaOnly('a GPU is present; TensorRT is not installed')
      : cudaOnly('TensorRT, which its configuration requests, is not installed');
  }
  const obstacle = asked === undefined ? shapeObstacle(spec, placement) : '';
  if (obstacle !== '') return cudaOnly(obstacle);
  const options = { ...placement?.profiles, ...asked };
  const why =
    asked === undefined ? 'its configuration fixes all shapes' : 'its configuration requests it';
  return { providers: [{ name: 'tensorrt', options }, cuda], on: 'tensorrt, cuda', why };
}

/** Prebuilt engines need no profiles. */
function onTensorrt(
  { path, placement }: ModelSpec,
  facts: GpuFacts,
  { name }: ContextNode,
): Placed {
  const refused = (code: ErrorCode, why: string): ServalError =>
    new ServalError(
      code,
      `model file ${path}: node '${name}' (EPContext) holds an engine of ${TENSORRT_PROVIDER}, which runs on TensorRT only (serval gpu install --tensorrt): ${why}`,
    );
  if (placement?.kind === 'cpu') {
    throw refused(ErrorCode.ModelInvalid, 'expected no KIND_CPU in its configuration');
  }
  const { obstacle, tensorrt: isInstalled } = facts;
  const missing = isInstalled ? '' : 'TensorRT is not installed';
  const why = obstacle === '' ? missing : obstacle;
  if (why !== '') throw refused(ErrorCode.RuntimeUnavailable, why);
  return {
    providers: [
      { name: 'tensorrt', options: placement?.tensorrt ?? {} },
      { name: 'cuda', options: placement?.cuda ?? {} },
    ],
    on: 'tensorrt, cuda',
    why: 'holds TensorRT engines (EPContext)',
  };
}

function onCpu(why: string): Placed {
  return { providers: [], on: 'cpu', why };
}

/** Why TensorRT would build engines while requests wait. */
function shapeObstacle({ importer, graphs }: ModelSpec, placement: Placement | undefined): string {
  if (importer !== undefined || (graphs?.length ?? 0) > 0) {
    return 'TensorRT is for ONNX files; this one is compiled from TensorFlow';
  }
  if (placement?.open === undefined) {
    return 'no configuration gives the shapes that TensorRT needs';
  }
  const [open] = placement.open;
  return open === undefined
    ? ''
    : `TensorRT needs shapes; its configuration leaves '${open}' dynamic`;
}
