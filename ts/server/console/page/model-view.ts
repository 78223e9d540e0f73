// One model: what it is, its versions with their states and reasons, its structure, its signatures,
// loading and unloading, and the tabs for requests and metrics. The browser's thread.
import { CallError, openWithKey, part, post } from './api.js';
import { h, replace, tabRow, type Child } from './dom.js';
import { MetricsView } from './metrics/view.js';
import { modelFacts, typeText, type ModelEntry, type ModelFacts } from './models.js';
import { Editor } from './request/editor.js';
import { StructureView } from './structure/view.js';
import type { SignatureInfo, TensorInfo } from '../../../model/snapshot.js';

export type ModelTab = 'overview' | 'request' | 'metrics';

const TABS = [
  { id: 'overview', label: 'Overview' },
  { id: 'request', label: 'Request' },
  { id: 'metrics', label: 'Metrics' },
] as const;

const STATES: Readonly<Record<string, string>> = {
  AVAILABLE: 'good',
  LOADING: 'busy',
  START: 'busy',
  UNLOADING: 'busy',
  END: 'off',
};

function versionRows(model: ModelEntry): HTMLElement {
  const labels = Object.entries(model.labels ?? {});
  const rows = model.versions.map(({ version, state, reason }) => {
    const kind = reason !== undefined && state !== 'AVAILABLE' ? 'bad' : (STATES[state] ?? 'off');
    const named = labels.filter(([, of]) => of === version).map(([label]) => label);
    return h(
      'tr',
      {},
      h('td', {}, version, ...named.map((label) => h('span.label', {}, label))),
      h('td', {}, h(`span.status.${kind}`, {}, state)),
      h('td.reason', {}, reason ?? ''),
    );
  });
  const titles = ['Version', 'State', 'Reason'].map((title) => h('th', { scope: 'col' }, title));
  return h('table.versions', {}, h('thead', {}, h('tr', {}, ...titles)), h('tbody', {}, ...rows));
}

function tensorRows(title: string, tensors: readonly TensorInfo[]): HTMLElement {
  const rows = tensors.map((tensor) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, tensor.name),
      h('td', {}, h('code', {}, typeText(tensor))),
    ),
  );
  return h(
    'div',
    {},
    h('h4', {}, title),
    h(
      'div.scroll',
      { tabindex: 0, role: 'group', 'aria-label': title },
      h('table', {}, h('tbody', {}, ...rows)),
    ),
  );
}

function signatureView({ name, inputs, outputs, methodName }: SignatureInfo): HTMLElement {
  return h(
    'section.signature',
    {},
    h('h3', {}, name, methodName !== undefined && h('code.dim', {}, ` ${methodName}`)),
    h('div.tensors', {}, tensorRows('Inputs', inputs), tensorRows('Outputs', outputs)),
  );
}

/** Why a change was refused, and what to do about it. */
function refusal(verb: string, error: unknown): HTMLElement {
  const text = error instanceof Error ? error.message : String(error);
  const status = error instanceof CallError ? error.status : 0;
  const advice: Readonly<Record<number, string>> = {
    401: 'Enter an API key with access to the group "control" under "Key" above.',
    403: 'Changes need an API key of the group "control", or a client on the server\'s machine.',
    503: 'Loading and unloading by request needs --model-control-mode explicit.',
  };
  const said = advice[status];
  return h(
    'div.refused',
    { role: 'alert' },
    h('p.bad', {}, `${verb}: ${text}`),
    said !== undefined && h('p.note', {}, said),
  );
}

export class ModelView {
  readonly element = h('main.model-view', { id: 'main', tabindex: -1 });
  #model: ModelEntry;
  #tab: ModelTab;
  readonly #changed: () => Promise<void>;
  readonly #moved: (tab: ModelTab) => void;
  readonly #models: () => readonly ModelEntry[];
  readonly #note = h('div.changes');
  readonly #head = h('div');
  readonly #body = h('div.tab-body', { role: 'tabpanel' });
  /** The facts on screen, so that a fresh list redraws only what changed. */
  #facts: Promise<ModelFacts> | undefined;
  #factsOf = '';
  #editor: Editor | undefined;
  #metrics: MetricsView | undefined;
  #structure: StructureView | undefined;
  #isOver = false;

  /**
   * `changed`: a call has changed the server; settles when the list is fresh. `models`: the list.
   */
  constructor(
    model: ModelEntry,
    tab: ModelTab,
    changed: () => Promise<void>,
    moved: (tab: ModelTab) => void,
    models: () => readonly ModelEntry[],
  ) {
    this.#model = model;
    this.#tab = tab;
    this.#changed = changed;
    this.#moved = moved;
    this.#models = models;
    replace(this.element, this.#head, this.#body);
    this.#drawHead();
    void this.#drawBody();
  }

  get name(): string {
    return this.#model.name;
  }

  /** Applies a model's entry of a reloaded list. */
  update(model: ModelEntry): void {
    this.#structure?.update();
    const same = JSON.stringify(model) === JSON.stringify(this.#model);
    this.#model = model;
    if (same) return;
    this.#drawHead();
    void this.#drawBody();
  }

  set tab(tab: ModelTab) {
    if (tab === this.#tab) return;
    this.#tab = tab;
    this.#drawHead();
    void this.#drawBody();
  }

  close(): void {
    this.#isOver = true;
    this.#stopMetrics();
    this.#stopStructure();
  }

  #stopMetrics(): void {
    this.#metrics?.close();
    this.#metrics = undefined;
  }

  #stopStructure(): void {
    this.#structure?.close();
    this.#structure = undefined;
  }

  #drawHead(): void {
    const { name, platform, ready, reason } = this.#model;
    const button = (verb: 'load' | 'unload', label: string): HTMLElement =>
      h('button', { type: 'button', 'data-do': verb, click: () => void this.#change(verb) }, label);
    replace(
      this.#head,
      h(
        'header.model-head',
        {},
        h('h2', {}, name),
        this.#badge(),
        platform !== undefined && h('code.dim', {}, platform),
        h('span.grow'),
        button('load', ready ? 'Reload' : 'Load'),
        ready && button('unload', 'Unload'),
      ),
      reason !== undefined && h('p.bad', {}, reason),
      this.#note,
      tabRow('Model', TABS, this.#tab, (id) => this.#moved(id as ModelTab)),
    );
  }

  #badge(): HTMLElement {
    const { ready, default_version: version, versions } = this.#model;
    const failed = versions.filter((one) => one.reason !== undefined).length;
    const problems = failed === 0 ? '' : `, ${failed} failed`;
    if (!ready) return h('span.status.bad', {}, `not served${problems}`);
    return h(`span.status.${failed > 0 ? 'busy' : 'good'}`, {}, `serves v${version}${problems}`);
  }

  async #change(verb: 'load' | 'unload'): Promise<void> {
    const label = verb === 'unload' ? 'Unload' : this.#model.ready ? 'Reload' : 'Load';
    replace(this.#note, h('p.note', { role: 'status' }, `${label}: in progress…`));
    try {
      await post(`/v2/repository/models/${part(this.name)}/${verb}`);
      await this.#changed();
      replace(this.#note, h('p.note', { role: 'status' }, `${label}: done.`));
    } catch (error) {
      await this.#changed();
      replace(this.#note, refusal(label, error));
    }
  }

  /** Read once for each version that answers. */
  #readFacts(version: string): Promise<ModelFacts> {
    if (this.#facts === undefined || this.#factsOf !== version) {
      this.#factsOf = version;
      this.#facts = modelFacts(this.name, version);
      this.#stopStructure();
      this.#editor = undefined;
    }
    return this.#facts;
  }

  async #drawBody(): Promise<void> {
    const tab = this.#tab;
    if (tab !== 'metrics') this.#stopMetrics();
    if (tab !== 'overview') this.#stopStructure();
    if (tab === 'metrics') {
      this.#metrics ??= new MetricsView(this.name);
      replace(this.#body, this.#metrics.element);
      return;
    }
    const { default_version: version } = this.#model;
    const top: Child[] = tab === 'overview' ? [versionRows(this.#model)] : [];
    if (version === undefined) {
      this.#stopStructure();
      replace(
        this.#body,
        ...top,
        h('p.note', {}, 'No version is ready, so there is no signature.'),
      );
      return;
    }
    try {
      const facts = await this.#readFacts(version);
      if (tab !== this.#tab || this.#isOver) return;
      if (tab === 'request') {
        this.#editor ??= new Editor(this.#model, facts);
        if (this.#body.firstChild !== this.#editor.element)
          replace(this.#body, this.#editor.element);
      } else {
        this.#structure ??= new StructureView(this.name, facts, this.#models);
        const { element } = this.#structure;
        replace(this.#body, ...top, element, ...facts.signatures.map(signatureView), this.#links());
      }
    } catch (error) {
      this.#facts = undefined;
      const text = error instanceof Error ? error.message : String(error);
      replace(this.#body, ...top, h('p.bad', { role: 'alert' }, text));
    }
  }

  #links(): HTMLElement {
    const name = part(this.name);
    const link = (href: string, label: string): HTMLElement => h('a', { href }, label);
    return h(
      'p.links',
      { click: openWithKey },
      link(`/openapi.json?model=${name}`, 'OpenAPI of this model'),
      link(`/v2/models/${name}/config`, 'configuration'),
      link(`/v2/models/${name}/stats`, 'statistics'),
    );
  }
}
