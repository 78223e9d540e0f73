// The request editor: an example for each protocol, a picture where the model takes one, the same
// as a curl command, and what was answered. The browser's thread.
import { CSV_TYPE, JSON_TYPE } from '../../../../base/media-types.js';
import { answerView, rawView } from '../answer/view.js';
import { bytes, h, replace, tabRow } from '../dom.js';
import { call, CallError, errorText, type Reply } from '../api.js';
import type { ModelEntry, ModelFacts } from '../models.js';
import { examplesOf, type Example } from './examples.js';
import { filledBody, type Paint } from './fill.js';
import { canvasOfFile, SCALINGS, testCard, type Scaling } from './pictures.js';

/** Maximum length of a body that is put into a command line. */
const CURL_CHARS_MAX = 4000;

export class Editor {
  readonly element = h('div.editor');
  readonly #examples: readonly Example[];
  readonly #texts = new Map<string, string>();
  readonly #answer = h('section.answer', { 'aria-label': 'Answer', 'aria-live': 'polite' });
  readonly #body = h('textarea.code', { spellcheck: 'false', 'aria-label': 'Request body' });
  readonly #send = h('button.primary.send', { type: 'button', click: () => void this.#sent() });
  readonly #outputs: ModelFacts['signatures'][number]['outputs'];
  #chosen: string;
  #paint: Paint = { canvas: testCard(), scaling: 'unit' };

  constructor(model: ModelEntry, facts: ModelFacts) {
    this.#examples = examplesOf(model.name, facts);
    this.#outputs = facts.signatures[0]?.outputs ?? [];
    this.#chosen = this.#examples[0]?.id ?? '';
    const input = facts.signatures[0]?.inputs.find(({ datatype }) => datatype === 'UINT8');
    if (input !== undefined) this.#paint = { ...this.#paint, scaling: 'bytes' };
    this.#body.addEventListener('input', () => this.#texts.set(this.#chosen, this.#body.value));
    this.#body.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void this.#sent();
    });
    this.#draw();
  }

  get #example(): Example | undefined {
    return this.#examples.find(({ id }) => id === this.#chosen);
  }

  #draw(): void {
    const example = this.#example;
    if (example === undefined) {
      replace(
        this.element,
        h('p.note', {}, 'The model has no signature, so there is no example request.'),
      );
      return;
    }
    this.#body.value = this.#texts.get(example.id) ?? example.body;
    this.#send.textContent = 'Send';
    const hasPicture = example.filled.some(({ picture }) => picture !== undefined);
    const hasRandom = example.filled.some(({ picture }) => picture === undefined);
    const choose = (id: string): void => {
      this.#chosen = id;
      replace(this.#answer);
      this.#draw();
    };
    replace(
      this.element,
      h(
        'section.request',
        { 'aria-label': 'Request' },
        tabRow('Protocol', this.#examples, example.id, choose),
        h('div.target', {}, h('span.method', {}, 'POST'), h('code', {}, example.path)),
        example.note !== undefined && h('p.note', {}, example.note),
        hasPicture && this.#pictureRow(),
        hasRandom &&
          h('p.note', {}, '"@random" is replaced by random values of the shape on sending.'),
        this.#body,
        h(
          'div.actions',
          {},
          this.#send,
          h('button', { type: 'button', click: () => this.#reset() }, 'Reset'),
          h('button', { type: 'button', click: () => void this.#copyCurl() }, 'Copy as curl'),
          h('span.hint', {}, 'Ctrl+Enter sends'),
        ),
      ),
      this.#answer,
    );
  }

  #pictureRow(): HTMLElement {
    const preview = h('div.preview', {}, this.#paint.canvas);
    const problem = h('span.bad', { role: 'alert' });
    const take = async (file: Blob | undefined | null): Promise<void> => {
      if (!file) return;
      try {
        this.#paint = { ...this.#paint, canvas: await canvasOfFile(file) };
        replace(preview, this.#paint.canvas);
        problem.textContent = '';
      } catch {
        problem.textContent = 'The browser cannot read this file as an image.';
      }
    };
    const chooser = h('input.file', { type: 'file', accept: 'image/*', 'aria-label': 'Image' });
    chooser.addEventListener('change', () => void take(chooser.files?.[0]));
    const scaling = h(
      'select',
      { 'aria-label': 'Colour scaling' },
      ...SCALINGS.map(([id, label]) =>
        h('option', { value: id, selected: id === this.#paint.scaling }, label),
      ),
    );
    scaling.addEventListener('change', () => {
      this.#paint = { ...this.#paint, scaling: scaling.value as Scaling };
    });
    const row = h(
      'div.picture',
      {},
      preview,
      h(
        'div',
        {},
        h(
          'p.note',
          {},
          '"@image" stands for this image, resized to the input. Drop another one here.',
        ),
        h('div.actions', {}, chooser, h('label', {}, 'Colours as ', scaling), problem),
      ),
    );
    row.addEventListener('dragover', (event) => event.preventDefault());
    row.addEventListener('drop', (event) => {
      event.preventDefault();
      void take(event.dataTransfer?.files[0]);
    });
    return row;
  }

  #reset(): void {
    this.#texts.delete(this.#chosen);
    this.#draw();
    this.#body.focus();
  }

  async #copyCurl(): Promise<void> {
    const example = this.#example;
    if (example === undefined) return;
    const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
    const compact = this.#body.value.length > CURL_CHARS_MAX ? '@request.json' : this.#body.value;
    const type = example.type === 'csv' ? CSV_TYPE : JSON_TYPE;
    const url = quoted(location.origin + example.path);
    const text = `curl -s -H 'Content-Type: ${type}' --data-binary ${quoted(compact)} ${url}`;
    try {
      await navigator.clipboard.writeText(text);
      replace(this.#answer, h('p.note', {}, 'Copied to the clipboard.'));
    } catch {
      const shown = h('textarea.code.short', { readonly: true, 'aria-label': 'Command' });
      shown.value = text;
      replace(this.#answer, shown);
      shown.select();
    }
  }

  async #sent(): Promise<void> {
    const example = this.#example;
    if (example === undefined || this.#send.disabled) return;
    this.#send.disabled = true;
    replace(this.#answer, h('p.note', {}, 'Waiting for the response…'));
    try {
      const body = filledBody(this.#body.value, example.filled, this.#paint);
      const reply = await call('POST', example.path, body);
      const shown =
        reply.status === 200 ? answerView(reply, example, this.#outputs) : refusedView(reply);
      replace(this.#answer, replyHead(reply, body.length), shown);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      replace(this.#answer, h('p.bad', { role: 'alert' }, text));
    } finally {
      this.#send.disabled = false;
    }
  }
}

function replyHead({ status, millis, text }: Reply, sent: number): HTMLElement {
  const kind = status === 200 ? 'good' : 'bad';
  return h(
    'div.replyhead',
    {},
    h(`span.status.${kind}`, {}, String(status)),
    h('span', {}, `${millis.toFixed(millis < 10 ? 1 : 0)} ms`),
    h('span.dim', {}, `${bytes(sent)} out, ${bytes(text.length)} in`),
  );
}

function refusedView(reply: Reply): HTMLElement {
  const text = errorText(reply);
  return h('div', {}, h('p.bad', { role: 'alert' }, text), advice(reply, text), rawView(reply));
}

/** Returns advice about an error that the page knows. */
function advice({ status }: Reply, text: string): HTMLElement | string {
  const error = new CallError(status, text);
  if (error.status === 401) return h('p.note', {}, 'Enter an API key under "Key" above.');
  if (status === 403 && text.includes('admin address')) {
    return h(
      'p.note',
      {},
      'The admin address does not serve inference. Copy the request as curl, and send it to ' +
        'the HTTP port.',
    );
  }
  return '';
}
