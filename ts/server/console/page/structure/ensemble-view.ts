// The steps of an ensemble: a drawing, and a table with the same and with links. States come from
// the list of models, requests and times from /metrics. The browser's thread.
import { duration, h, replace, short } from '../dom.js';
import { total, type Samples } from '../metrics/exposition.js';
import { mood, outputTypes, typeText, type ModelEntry, type ModelFacts } from '../models.js';
import type { Flow, FlowStep } from './flow.js';
import { graphOf, type Graph } from './graph.js';
import type { Structure } from './view.js';

/** More steps than this are only in the table. */
const DRAWN_MAX = 64;
const ANSWERED = 'nv_inference_request_success';
const MICROS = 'nv_inference_request_duration_us';
const SEPARATOR = '::';

const MOODS: Readonly<Record<ReturnType<typeof mood>, string>> = {
  ready: 'ready',
  partly: 'ready, a version failed',
  loading: 'loading',
  failed: 'failed',
  off: 'not loaded',
};

interface Cells {
  readonly link: HTMLElement;
  readonly state: HTMLElement;
  readonly requests: HTMLElement;
  readonly mean: HTMLElement;
}

/** A step's model in the list: of models of equal names the one of the ensemble's repository. */
export function stepEntry(
  models: readonly ModelEntry[],
  ensemble: string,
  model: string,
): ModelEntry | undefined {
  const at = ensemble.lastIndexOf(SEPARATOR);
  const own = at < 0 ? model : `${ensemble.slice(0, at)}${SEPARATOR}${model}`;
  return models.find(({ name }) => name === own) ?? models.find(({ name }) => name === model);
}

export class EnsembleView implements Structure {
  readonly element = h('section.structure', { 'aria-label': 'Steps' });
  readonly #name: string;
  readonly #flow: Flow;
  readonly #models: () => readonly ModelEntry[];
  readonly #graph: Graph | undefined;
  readonly #cells: readonly Cells[];
  readonly #types: HTMLElement[] = [];
  #samples: ReadonlyMap<string, Samples> = new Map();

  constructor(name: string, flow: Flow, facts: ModelFacts, models: () => readonly ModelEntry[]) {
    this.#name = name;
    this.#flow = flow;
    this.#models = models;
    this.#graph = flow.steps.length > DRAWN_MAX ? undefined : graphOf(flow, name);
    this.#cells = flow.steps.map(() => ({
      link: h('a'),
      state: h('td'),
      requests: h('td.amount'),
      mean: h('td.amount'),
    }));
    const table = this.#table();
    const graph = this.#graph && h('div.drawing', {}, this.#graph.element);
    const scroll = { tabindex: 0, role: 'group', 'aria-label': 'Graph of the steps' };
    const note =
      'Requests and mean time are those of the model since it was loaded, also outside the ensemble.';
    replace(
      this.element,
      h('h3', {}, 'Steps'),
      graph && h('div.scroll', scroll, graph),
      table,
      h('p.note', {}, note),
    );
    const outer = facts.signatures[0];
    for (const tensor of [...(outer?.inputs ?? []), ...(outer?.outputs ?? [])]) {
      this.#setType(tensor.name, typeText(tensor));
    }
    for (const step of flow.steps) void this.#readTypes(step);
    this.update();
  }

  /** Shows the states of the list, and the numbers of the page of metrics that was read last. */
  update(): void {
    for (const [at, step] of this.#flow.steps.entries()) {
      const entry = stepEntry(this.#models(), this.#name, step.model);
      const kind = entry === undefined ? 'off' : mood(entry);
      const version = step.version || entry?.default_version;
      const state = entry === undefined ? 'not in the list' : MOODS[kind];
      const told = version === undefined ? state : `v${version} · ${state}`;
      const samples: Samples = this.#samples.get(entry?.name ?? step.model) ?? new Map();
      const requests = total(samples, ANSWERED);
      const mean = duration(total(samples, MICROS) / 1e6 / requests);
      this.#graph?.setStep(at, {
        ...{ state: told, mood: kind },
        numbers: requests === 0 ? 'no requests' : `${short(requests)} requests · ${mean} each`,
      });
      const cells = this.#cells[at];
      if (cells === undefined) continue;
      cells.link.setAttribute(
        'href',
        `#/${encodeURIComponent(entry?.name ?? step.model)}/overview`,
      );
      cells.state.textContent = told;
      cells.requests.textContent = short(requests);
      cells.mean.textContent = requests === 0 ? '–' : mean;
    }
  }

  /** `byModel`: the samples of each model. */
  read(byModel: ReadonlyMap<string, Samples>): void {
    this.#samples = byModel;
    this.update();
  }

  /** Types of inner tensors are in the metadata of the step that writes them. */
  async #readTypes({ model, version, writes }: FlowStep): Promise<void> {
    const { outputs } = this.#flow;
    const inner = writes.filter(({ tensor }) => !outputs.includes(tensor));
    if (inner.length === 0) return;
    const name = stepEntry(this.#models(), this.#name, model)?.name ?? model;
    // A step that is not ready has no metadata: its tensors are drawn without types.
    const types = await outputTypes(name, version).catch(() => new Map<string, string>());
    for (const link of inner) this.#setType(link.tensor, types.get(link.name) ?? '');
  }

  #setType(tensor: string, type: string): void {
    const at = this.#flow.tensors.indexOf(tensor);
    this.#graph?.setTensor(at, type);
    for (const cell of this.#types) if (cell.dataset['tensor'] === tensor) cell.textContent = type;
  }

  #links(links: FlowStep['reads']): HTMLElement {
    const rows = links.map(({ name, tensor }) => {
      const type = h('code', { 'data-tensor': tensor });
      this.#types.push(type);
      return h('li', {}, name === tensor ? tensor : `${name} = ${tensor}`, ' ', type);
    });
    return h('td', {}, h('ul', {}, ...rows));
  }

  #table(): HTMLElement {
    const titles = ['Step', 'State', 'Requests', 'Mean time', 'Inputs', 'Outputs'];
    const rows = this.#flow.steps.map(({ model, reads, writes }, at) => {
      const { link, state, requests, mean } = this.#cells[at] ?? {};
      link?.append(model);
      const head = h('th', { scope: 'row' }, `${at + 1}. `, link);
      return h('tr', {}, head, state, requests, mean, this.#links(reads), this.#links(writes));
    });
    const head = h('tr', {}, ...titles.map((title) => h('th', { scope: 'col' }, title)));
    const table = h('table.steps', {}, h('thead', {}, head), h('tbody', {}, ...rows));
    const scroll = { tabindex: 0, role: 'group', 'aria-label': 'Table of the steps' };
    return h('div.scroll', scroll, table);
  }
}
