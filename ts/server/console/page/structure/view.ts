// The part of a model's overview that shows its structure, if it has one: the steps of an ensemble
// or the slots of sequences. Reads /metrics for as long as it is on the page. The browser's thread.
import { h, replace } from '../dom.js';
import { byLabel, samplesNamed, type Samples } from '../metrics/exposition.js';
import { MetricsReader } from '../metrics/reader.js';
import type { ModelEntry, ModelFacts } from '../models.js';
import { EnsembleView } from './ensemble-view.js';
import { flowOf, sequencesOf } from './flow.js';
import { SequencesView } from './sequences-view.js';

const NAMES = new Set([
  ...['nv_inference_request_success', 'nv_inference_request_duration_us'],
  ...['nv_inference_pending_request_count', 'serval_sequences_active', 'serval_sequences_waiting'],
]);

/** One kind of structure. */
export interface Structure {
  readonly element: HTMLElement;
  /** The list of models is fresh. */
  update(): void;
  /** `byModel`: the samples of each model. */
  read(byModel: ReadonlyMap<string, Samples>): void;
}

/** undefined: a model of one piece, without sequences. */
function structureOf(
  name: string,
  facts: ModelFacts,
  models: () => readonly ModelEntry[],
): Structure | undefined {
  const flow = flowOf(facts.config);
  if (flow !== undefined) return new EnsembleView(name, flow, facts, models);
  const sequences = sequencesOf(facts.config);
  return sequences && new SequencesView(name, sequences);
}

export class StructureView {
  readonly element = h('div');
  readonly #structure: Structure | undefined;
  readonly #note = h('div');
  readonly #reader: MetricsReader | undefined;

  /** `models`: the list as it is now. */
  constructor(name: string, facts: ModelFacts, models: () => readonly ModelEntry[]) {
    const structure = structureOf(name, facts, models);
    this.#structure = structure;
    if (structure === undefined) return;
    replace(this.element, structure.element, this.#note);
    this.#reader = new MetricsReader({
      read: (text) => {
        replace(this.#note);
        structure.read(byLabel(samplesNamed(text, NAMES), 'model'));
      },
      failed: (reason) => {
        const text = `Failed to read /metrics: ${reason}`;
        replace(this.#note, h('p.bad', { role: 'alert' }, text));
      },
    });
  }

  /** The list of models is fresh. */
  update(): void {
    this.#structure?.update();
  }

  /** Reads no more. */
  close(): void {
    this.#reader?.close();
  }
}
