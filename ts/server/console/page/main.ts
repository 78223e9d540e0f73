// The console: its frame, the view that the address after "#" selects, and the model list, which it
// reloads every few seconds. The browser's thread.
import { CallError, getJson, key, openWithKey } from './api.js';
import { factOf, h, replace } from './dom.js';
import { ModelList } from './model-list.js';
import { ServerView } from './metrics/server-view.js';
import { ModelView, type ModelTab } from './model-view.js';
import { listModels, mood, unlisted, type ModelEntry } from './models.js';

const EVERY_MS = 5000;
/** A list that takes long is read less often: this many times what it took. */
const TIMES = 10;
/** The repositories are polled once per this number of list reloads, and after a change. */
const LOOK_EVERY = 6;
const ADDRESS = /^#\/([^/]+)(?:\/(overview|request|metrics))?$/;

/** Models whose problems the overview lists. */
const PROBLEMS_MAX = 50;

interface ServerFacts {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}

/** The kind and the text of the badge beside the server's name. */
function badge(models: readonly ModelEntry[]): readonly [kind: string, text: string] {
  const count = (...kinds: readonly string[]): number =>
    models.filter((model) => kinds.includes(mood(model))).length;
  const [ready, failed, loading] = [count('ready', 'partly'), count('failed'), count('loading')];
  const partly = count('partly');
  const parts = [
    `${ready} ready`,
    ...(loading > 0 ? [`${loading} loading`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(partly > 0 ? [`${partly} with problems`] : []),
  ];
  const kind = failed > 0 ? 'bad' : loading + partly > 0 ? 'busy' : 'good';
  return [kind, parts.join(', ')];
}

function keyForm(changed: () => void): HTMLElement {
  const field = h('input', {
    type: 'password',
    autocomplete: 'off',
    'aria-label': 'API key',
    placeholder: 'API key',
  });
  field.value = key.get();
  const form = h(
    'form.key',
    {
      submit: (event: SubmitEvent) => {
        event.preventDefault();
        key.set(field.value.trim());
        changed();
      },
    },
    field,
    h('button', { type: 'submit' }, 'Use'),
  );
  const summary = h(
    'summary',
    { title: 'Stored for this tab and sent to this server only' },
    'Key',
  );
  return h('details.keybox', {}, summary, form);
}

class Console {
  readonly #list = new ModelList((name) => this.#go(name, this.#address().tab));
  readonly #version = h('span.dim');
  readonly #state = h('span.status', { role: 'status' });
  readonly #main = h('div.main');
  #models: readonly ModelEntry[] = [];
  /** Models of the repositories that are not in the list. */
  #others: readonly ModelEntry[] = [];
  #reads = 0;
  #view: ModelView | undefined;
  /** While no model is open. */
  #server: ServerView | undefined;
  #facts: ServerFacts | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isShown = false;

  start(): void {
    const skip = h(
      'a.skip',
      { href: '#main', click: (event: Event) => this.#skip(event) },
      'Skip to the model',
    );
    const home = h('a.brand', { href: '#', 'aria-label': 'Serval: server' }, 'Serval');
    const links = h(
      'nav.links',
      { 'aria-label': 'Documents', click: openWithKey },
      h('a', { href: '/openapi.json' }, 'OpenAPI'),
      h('a', { href: '/metrics' }, 'Metrics'),
    );
    const top = h('header.top', {}, home, this.#version, this.#state, h('span.grow'), links);
    top.append(keyForm(() => void this.#refresh()));
    replace(document.body, skip, top, h('div.columns', {}, this.#list.element, this.#main));
    addEventListener('hashchange', () => this.#show());
    addEventListener('keydown', (event) => {
      const { target } = event;
      const isTyping =
        target instanceof HTMLInputElement ||
        target instanceof HTMLTextAreaElement ||
        target instanceof HTMLSelectElement;
      if (event.key !== '/' || isTyping) return;
      event.preventDefault();
      this.#list.focusFilter();
    });
    void this.#poll();
  }

  #skip(event: Event): void {
    event.preventDefault();
    document.getElementById('main')?.focus();
  }

  #address(): { readonly name: string; readonly tab: ModelTab } {
    const [, name = '', tab = 'overview'] = ADDRESS.exec(location.hash) ?? [];
    try {
      return { name: decodeURIComponent(name), tab: tab as ModelTab };
    } catch {
      return { name: '', tab: 'overview' };
    }
  }

  #go(name: string, tab: ModelTab): void {
    location.hash = `#/${encodeURIComponent(name)}/${tab}`;
  }

  async #poll(): Promise<void> {
    const begun = performance.now();
    if (!document.hidden || !this.#isShown) await this.#refresh();
    const wait = Math.max(EVERY_MS, (performance.now() - begun) * TIMES);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#poll(), wait);
  }

  async #refresh(): Promise<void> {
    try {
      this.#facts ??= await getJson<ServerFacts>('/v2');
      const listed = await listModels();
      if (this.#reads % LOOK_EVERY === 0) this.#others = await unlisted(listed);
      this.#reads += 1;
      const names = new Set(listed.map(({ name }) => name));
      const others = this.#others.filter(({ name }) => !names.has(name));
      this.#models = [...listed, ...others].sort((a, b) => (a.name < b.name ? -1 : 1));
      const { version } = this.#facts;
      this.#version.textContent = version;
      this.#said(...badge(this.#models));
      this.#list.models = this.#models;
    } catch (error) {
      this.#said('bad', error instanceof CallError ? error.message : 'the server does not respond');
      if (error instanceof CallError && error.status === 401) this.#askKey();
    }
    this.#show();
  }

  #said(kind: string, text: string): void {
    this.#state.className = `status ${kind}`;
    if (this.#state.textContent !== text) this.#state.textContent = text;
  }

  #askKey(): void {
    const box = document.querySelector<HTMLDetailsElement>('.keybox');
    if (box !== null && key.get() === '') box.open = true;
  }

  #show(): void {
    const { name, tab } = this.#address();
    const model = this.#models.find((one) => one.name === name);
    this.#list.selected = name;
    document.title = model === undefined ? 'Serval' : `${model.name} · Serval`;
    if (model === undefined && this.#view?.name === name) {
      this.#view.update({ name, ready: false, versions: [] });
      return;
    }
    if (model === undefined) {
      this.#view?.close();
      this.#view = undefined;
      this.#isShown = true;
      this.#server ??= new ServerView();
      replace(this.#main, this.#overview(name, this.#server.element));
      return;
    }
    if (this.#view?.name === name) {
      this.#view.update(model);
      this.#view.tab = tab;
      return;
    }
    this.#view?.close();
    this.#server?.close();
    this.#server = undefined;
    this.#isShown = true;
    this.#view = new ModelView(
      model,
      tab,
      () => {
        this.#reads = 0;
        return this.#refresh();
      },
      (chosen) => this.#go(name, chosen),
      () => this.#models,
    );
    replace(this.#main, this.#view.element);
  }

  /** The server as a whole. */
  #overview(missing: string, numbers: HTMLElement): HTMLElement {
    const count = (kind: string): number =>
      this.#models.filter((model) => mood(model) === kind).length;
    const failed = this.#models.filter((model) => ['failed', 'partly'].includes(mood(model)));
    const row = (model: ModelEntry): HTMLElement => {
      const reason = model.versions.find((one) => one.reason !== undefined)?.reason;
      const link = h('a', { href: `#/${encodeURIComponent(model.name)}/overview` }, model.name);
      return h('li', {}, link, ' ', h('span.dim', {}, reason ?? model.reason ?? ''));
    };
    return h(
      'main.overview',
      { id: 'main', tabindex: -1 },
      missing !== '' &&
        this.#models.length > 0 &&
        h('p.bad', {}, `There is no model '${missing}'.`),
      h(
        'div.facts',
        {},
        factOf('models', String(this.#models.length)),
        factOf('ready', String(count('ready') + count('partly'))),
        factOf('loading', String(count('loading'))),
        factOf('with problems', String(failed.length), failed.length > 0),
        factOf('not loaded', String(count('off'))),
      ),
      h('p.note', {}, 'Select a model: press / to filter, arrow keys to move, Enter to open.'),
      failed.length > 0 && h('h3', {}, 'Models with problems'),
      failed.length > 0 && h('ul.problems', {}, ...failed.slice(0, PROBLEMS_MAX).map(row)),
      numbers,
      this.#facts && h('h3', {}, 'Extensions'),
      this.#facts && h('p.dim', {}, this.#facts.extensions.join(', ')),
    );
  }
}

new Console().start();
