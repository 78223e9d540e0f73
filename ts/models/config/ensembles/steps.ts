// The steps of an ensemble, as its configuration writes them. Control plane; pure. Source:
// v2-protocol.md 3; Triton's ModelEnsembling.
import { ENSEMBLE_PLATFORM } from '../../../model/platforms.js';
import { read, type MessageValue } from '../../../protobuf/schema.js';

/** A model's tensor, and the ensemble's tensor that is connected with it. */
export interface StepLink {
  readonly name: string;
  readonly tensor: string;
}

export interface EnsembleStep {
  readonly model: string;
  /** Decimal text; "" = the model's default version. */
  readonly version: string;
  readonly inputs: readonly StepLink[];
  readonly outputs: readonly StepLink[];
}

export function isEnsemble(config: MessageValue | undefined): boolean {
  return ['platform', 'backend'].some((name) => read.text(config, name) === ENSEMBLE_PLATFORM);
}

/** The steps in their order; empty if the configuration is not an ensemble's. */
export function ensembleSteps(config: MessageValue | undefined): readonly EnsembleStep[] {
  if (!isEnsemble(config)) return [];
  return stepMessages(config).map((step) => ({
    model: read.text(step, 'model_name'),
    version: Number(step['model_version']) === -1 ? '' : String(step['model_version'] ?? ''),
    inputs: linksOf(step, 'input_map'),
    outputs: linksOf(step, 'output_map'),
  }));
}

export function stepMessages(config: MessageValue | undefined): readonly MessageValue[] {
  return read.children(read.child(config, 'ensemble_scheduling'), 'step');
}

export function linksOf(step: MessageValue, list: string): readonly StepLink[] {
  return read.entries<string>(step, list).map(([name, tensor]) => ({ name, tensor }));
}
