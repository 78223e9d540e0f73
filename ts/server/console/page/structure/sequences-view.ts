// The slots of a model with sequences: how many are in use and free, and how many sequences wait.
// The browser's thread.
import { duration, factOf, h, replace, svg } from '../dom.js';
import { total, type Samples } from '../metrics/exposition.js';
import type { SequenceFacts } from './flow.js';
import type { Structure } from './view.js';

const WIDTH = 320;
const HEIGHT = 12;

const STRATEGIES = {
  direct: 'direct: a sequence keeps its row of the batch',
  oldest: 'oldest: a batch has the oldest requests of different sequences',
} as const;

export class SequencesView implements Structure {
  readonly element = h('section.structure', { 'aria-label': 'Sequences' });
  readonly #name: string;
  readonly #facts: SequenceFacts;
  readonly #numbers = h('div');

  constructor(name: string, facts: SequenceFacts) {
    this.#name = name;
    this.#facts = facts;
    replace(
      this.element,
      h('h3', {}, 'Sequences'),
      h('p.note', {}, `Strategy ${STRATEGIES[facts.strategy]}.`),
      this.#numbers,
    );
    this.#draw(undefined, undefined, undefined);
  }

  update(): void {
    // The list of models says nothing about sequences.
  }

  read(byModel: ReadonlyMap<string, Samples>): void {
    const samples: Samples = byModel.get(this.#name) ?? new Map();
    const value = (name: string): number | undefined =>
      samples.has(name) ? total(samples, name) : undefined;
    this.#draw(
      value('serval_sequences_active'),
      value('serval_sequences_waiting'),
      value('nv_inference_pending_request_count'),
    );
  }

  /** undefined: not known yet. A version that is being replaced has slots, too. */
  #draw(used: number | undefined, waiting: number | undefined, queued: number | undefined): void {
    const { slots, strategy, idleSeconds } = this.#facts;
    const shown = (value: number | undefined): string =>
      value === undefined ? '–' : String(value);
    const free = used === undefined ? undefined : Math.max(0, slots - used);
    const width = WIDTH * Math.min(1, (used ?? 0) / slots);
    const said = `${shown(used)} of ${slots} slots are in use`;
    replace(
      this.#numbers,
      h(
        'div.facts',
        {},
        factOf('strategy', strategy),
        factOf('slots in use', shown(used)),
        factOf('slots free', shown(free)),
        factOf('waiting sequences', shown(waiting)),
        factOf('queued requests', shown(queued)),
        factOf('idle limit', duration(idleSeconds)),
      ),
      svg(
        'svg',
        {
          class: 'slots',
          ...{ viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none' },
          ...{ role: 'img', 'aria-label': said },
        },
        svg('title', {}, said),
        svg('rect', { class: 'free', x: 0, y: 0, width: WIDTH, height: HEIGHT, rx: 3 }),
        svg('rect', { class: 'used', x: 0, y: 0, width, height: HEIGHT, rx: 3 }),
      ),
    );
  }
}
