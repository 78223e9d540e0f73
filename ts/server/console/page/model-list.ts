// The list of models with its filter box. Only the rows in sight are on the page, so that a
// thousand models cost what twenty do. The browser's thread.
import { h, replace } from './dom.js';
import { mood, type ModelEntry } from './models.js';

/** Row height; style.css has the same. */
const ROW_PX = 34;
/** Above and below what is in sight. */
const SPARE_ROWS = 6;

const WORDS = {
  ready: 'ready',
  partly: 'ready, with problems',
  loading: 'loading',
  failed: 'failed',
  off: 'not loaded',
} as const;

export class ModelList {
  readonly element: HTMLElement;
  readonly #filter = h('input.filter', {
    type: 'search',
    placeholder: 'Filter models ( / )',
    'aria-label': 'Filter models',
    'aria-controls': 'models',
  });
  readonly #count = h('div.count', { role: 'status' });
  readonly #space = h('div.space');
  readonly #box = h(
    'div.models',
    { id: 'models', role: 'listbox', tabindex: 0, 'aria-label': 'Models' },
    this.#space,
  );
  readonly #opened: (name: string) => void;
  #models: readonly ModelEntry[] = [];
  #found: readonly ModelEntry[] = [];
  #selected = '';
  #active = 0;

  /** Calls `opened` with the name of the chosen model. */
  constructor(opened: (name: string) => void) {
    this.#opened = opened;
    this.#filter.addEventListener('input', () => this.#search());
    this.#filter.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.#open(this.#found[0]);
      if (event.key !== 'ArrowDown') return;
      event.preventDefault();
      this.#box.focus();
    });
    this.#box.addEventListener('scroll', () => this.#draw(), { passive: true });
    this.#box.addEventListener('keydown', (event) => this.#key(event));
    this.#space.addEventListener('click', (event) => {
      const row = (event.target as Element).closest<HTMLElement>('[data-index]');
      if (row !== null) this.#open(this.#found[Number(row.dataset['index'])]);
    });
    new ResizeObserver(() => this.#draw()).observe(this.#box);
    const search = h('div.search', { role: 'search' }, this.#filter, this.#count);
    this.element = h('nav.sidebar', { 'aria-label': 'Models' }, search, this.#box);
  }

  focusFilter(): void {
    this.#filter.focus();
    this.#filter.select();
  }

  set models(models: readonly ModelEntry[]) {
    this.#models = models;
    this.#search();
  }

  set selected(name: string) {
    this.#selected = name;
    const index = this.#found.findIndex((model) => model.name === name);
    if (index >= 0) this.#activate(index);
    else this.#draw();
  }

  #search(): void {
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const before = this.#found[this.#active]?.name;
    this.#found = this.#models.filter((model) => {
      const text = `${model.name} ${WORDS[mood(model)]} ${model.platform ?? ''}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const index = this.#found.findIndex(({ name }) => name === before);
    this.#active = Math.max(0, index);
    const [found, all] = [this.#found.length, this.#models.length];
    this.#count.textContent = found === all ? `${all} models` : `${found} of ${all} models`;
    this.#draw();
  }

  #open(model: ModelEntry | undefined): void {
    if (model !== undefined) this.#opened(model.name);
  }

  #key(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.#box.clientHeight / ROW_PX) - 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.#open(this.#found[this.#active]);
      return;
    }
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.#activate(Math.min(this.#found.length - 1, Math.max(0, this.#active + step)));
  }

  #activate(index: number): void {
    this.#active = index;
    const top = index * ROW_PX;
    const { scrollTop, clientHeight } = this.#box;
    if (top < scrollTop) this.#box.scrollTop = top;
    if (top + ROW_PX > scrollTop + clientHeight) this.#box.scrollTop = top + ROW_PX - clientHeight;
    this.#draw();
  }

  #draw(): void {
    const { scrollTop, clientHeight } = this.#box;
    const first = Math.max(0, Math.floor(scrollTop / ROW_PX) - SPARE_ROWS);
    const last = Math.ceil((scrollTop + clientHeight) / ROW_PX) + SPARE_ROWS;
    this.#space.style.height = `${this.#found.length * ROW_PX}px`;
    const rows = this.#found.slice(first, last).map((model, at) => this.#row(model, first + at));
    replace(this.#space, ...rows);
    if (this.#found.length > 0) this.#box.setAttribute('aria-activedescendant', `m${this.#active}`);
    else this.#box.removeAttribute('aria-activedescendant');
  }

  #row(model: ModelEntry, index: number): HTMLElement {
    const kind = mood(model);
    const row = h(
      `div.model${index === this.#active ? '.active' : ''}`,
      {
        id: `m${index}`,
        role: 'option',
        'data-index': index,
        'aria-selected': String(model.name === this.#selected),
        'aria-setsize': this.#found.length,
        'aria-posinset': index + 1,
        title: model.reason ?? WORDS[kind],
      },
      h(`span.dot.${kind}`, { role: 'img', 'aria-label': WORDS[kind] }),
      h('span.name', {}, model.name),
      h('span.version', {}, model.default_version === undefined ? '' : `v${model.default_version}`),
    );
    row.style.top = `${index * ROW_PX}px`;
    return row;
  }
}
