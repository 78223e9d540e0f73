// Where a model runs: what its configuration asks for and what the machine has come to execution
// providers, and to a reason that is said in the log. Control plane; pure.
import type { ModelSpec, Placement, ProviderOptions } from '../model/engine-api.js';

export const AUTO = 'auto';

/** What the machine has. */
export interface GpuFacts {
  readonly devices: number;
  /** Why models cannot run on a GPU; "" = they can. */
  readonly obstacle: string;
  readonly tensorrt: boolean;
}

export interface Placed {
  readonly providers: readonly ProviderOptions[];
  /** "tensorrt, cuda", "cuda", "cpu" */
  readonly on: string;
  readonly why: string;
}

/** Whether --providers leaves the choice to us. `ready`: ONNX Runtime here is one for GPUs. */
export function choosesItself(spec: ModelSpec, ready: boolean): boolean {
  const { providers = [] } = spec;
  return providers.length === 0 ? ready : providers.some(({ name }) => name === AUTO);
}

/** TensorRT where the configuration asks for it, or fixes the shapes of all inputs, because it
 * builds an engine for each shape; else CUDA; the CPU where there is no GPU, or the configuration
 * says KIND_CPU. */
export function place(spec: ModelSpec, facts: GpuFacts): Placed {
  const { placement } = spec;
  if (spec.backend !== 'onnxruntime') return onCpu('it is no model of tensors');
  if (placement?.kind === 'cpu') return onCpu('its configuration says KIND_CPU');
  if (facts.obstacle !== '') return onCpu(facts.obstacle);
  const cuda: ProviderOptions = { name: 'cuda', options: placement?.cuda ?? {} };
  const asked = placement?.tensorrt;
  const cudaOnly = (why: string): Placed => ({ providers: [cuda], on: 'cuda', why });
  if (!facts.tensorrt) {
    return asked === undefined
      ? cudaOnly('a GPU is there; TensorRT is not installed')
      : cudaOnly('TensorRT, which its configuration asks for, is not installed');
  }
  const obstacle = asked === undefined ? shapeObstacle(spec, placement) : '';
  if (obstacle !== '') return cudaOnly(obstacle);
  const options = { ...placement?.profiles, ...asked };
  const why =
    asked === undefined ? 'its configuration fixes all shapes' : 'its configuration asks for it';
  return { providers: [{ name: 'tensorrt', options }, cuda], on: 'tensorrt, cuda', why };
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
  return open === undefined ? '' : `TensorRT needs shapes; its configuration leaves '${open}' open`;
}
