// Merges settings into a model's own config.pbtxt: replaced fields are cut out of its text, the
// rest is kept as written, including comments. Control plane.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { TRITON_CONFIG_FILE } from '../../../base/file-names.js';
import type { ModelPath } from '../../../config/values/model-path.js';
import { ErrorCode, ServalError } from '../../../base/errors.js';
import { readConfigText } from '../../../protobuf/text-format.js';
import { foundModel } from '../endpoint/found-model.js';
import type { TunedSettings } from '../types.js';
import { settingBlocks, THREADS_PARAMETER } from './config-text.js';

const OPENING: Readonly<Record<string, string>> = { '{': '}', '[': ']', '<': '>' };

/** The text of the model's config.pbtxt; undefined: it has none. Errors: those of foundModel(). */
export async function ownConfig(
  given: ModelPath,
  name: string | undefined,
): Promise<string | undefined> {
  const { model } = await foundModel(given, name);
  if (model.source === 'file' || model.source === 'base-path') return undefined;
  const file = join(model.basePath, TRITON_CONFIG_FILE);
  return existsSync(file) ? readConfigText(file) : undefined;
}

/** `base` with `settings` replacing its own. Errors: InvalidArgument: not a text proto. */
export function mergedConfig(
  base: string,
  settings: TunedSettings,
  notes: readonly string[] = [],
): string {
  const fields = topFields(base);
  const cut = fields.filter((field) => isReplaced(field, base, settings));
  let kept = '';
  let at = 0;
  for (const { begin, end } of cut) {
    kept += base.slice(at, begin);
    at = end;
  }
  kept += base.slice(at);
  const said = notes.map((note) => `# ${note.replaceAll(/\s+/g, ' ')}`);
  const rest = kept.replaceAll(/\n\s*\n\s*\n/g, '\n\n').trim();
  const blocks = [...said, ...(rest === '' ? [] : [rest]), ...settingBlocks(settings)];
  return `${blocks.join('\n')}\n`;
}

interface Field {
  readonly name: string;
  readonly begin: number;
  /** Position after it. */
  readonly end: number;
}

function isReplaced({ name, begin, end }: Field, base: string, settings: TunedSettings): boolean {
  switch (name) {
    case 'max_batch_size':
    case 'dynamic_batching':
      return settings.maxBatchSize !== undefined;
    case 'instance_group':
      return settings.instances !== undefined;
    case 'parameters':
      return settings.threads !== undefined && base.slice(begin, end).includes(THREADS_PARAMETER);
    default:
      return false;
  }
}

/** The top-level fields of the message, in the order of its text. */
function topFields(text: string): readonly Field[] {
  const fields: Field[] = [];
  let at = behindSpace(text, 0, true);
  while (at < text.length) {
    const [name] = /^[A-Za-z_]\w*/.exec(text.slice(at, at + 256)) ?? [];
    if (name === undefined) throw unreadable(text, at);
    let end = behindSpace(text, at + name.length);
    if (text[end] === ':') end = behindSpace(text, end + 1);
    end = behindValue(text, end);
    fields.push({ name, begin: at, end });
    at = behindSpace(text, end, true);
  }
  return fields;
}

/** `separators`: also skips characters allowed between two fields. */
function behindSpace(text: string, from: number, separators = false): number {
  let at = from;
  for (;;) {
    const char = text[at] ?? '';
    if (char === '#') {
      const line = text.indexOf('\n', at);
      at = line < 0 ? text.length : line;
    } else if (char !== '' && (/\s/.test(char) || (separators && /[,;]/.test(char)))) at += 1;
    else return at;
  }
}

function behindValue(text: string, from: number): number {
  const char = text[from] ?? '';
  if (OPENING[char] !== undefined) return behindNested(text, from);
  if (char === '"' || char === "'") {
    let at = behindText(text, from);
    // Consecutive strings are concatenated.
    for (;;) {
      const next = behindSpace(text, at);
      if (text[next] !== '"' && text[next] !== "'") return at;
      at = behindText(text, next);
    }
  }
  const [word] = /^[^\s,;#{}[\]<>"']+/.exec(text.slice(from, from + 1024)) ?? [];
  if (word === undefined) throw unreadable(text, from);
  return from + word.length;
}

function behindNested(text: string, from: number): number {
  const closers: string[] = [];
  let at = from;
  while (at < text.length) {
    const char = text[at] ?? '';
    if (char === '"' || char === "'") at = behindText(text, at);
    else if (char === '#') at = behindSpace(text, at);
    else {
      const closer = OPENING[char];
      if (closer !== undefined) closers.push(closer);
      else if (char === closers.at(-1)) closers.pop();
      at += 1;
      if (closers.length === 0) return at;
    }
  }
  throw unreadable(text, from);
}

function behindText(text: string, from: number): number {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote) return at + 1;
  }
  throw unreadable(text, from);
}

function unreadable(text: string, at: number): ServalError {
  const line = text.slice(0, at).split('\n').length;
  const message = `${TRITON_CONFIG_FILE}:${line}: expected a field of text proto`;
  return new ServalError(ErrorCode.InvalidArgument, message);
}
