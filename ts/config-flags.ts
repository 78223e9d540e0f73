// The table of settings: one row per flag of `serval serve`, also the keys of the configuration
// file and the text of --help. Control plane, start-up only. Data only; ts/config.ts reads it.
import {
  BODY_BYTES_MAX_DEFAULT, HTTP_THREADS_MAX, JSON_DEPTH_MAX_DEFAULT, MODEL_THREADS_MAX,
} from './limits.js';
import { LOG_FORMATS, LOG_LEVELS } from './logger.js';

/** How a flag's text becomes a value. "list" flags may be repeated. */
export type FlagType =
  | { readonly kind: 'text' }
  | { readonly kind: 'path' }
  | { readonly kind: 'path-list' }
  | { readonly kind: 'int'; readonly min: number; readonly max: number }
  | { readonly kind: 'bool' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'graph-optimization' }
  | { readonly kind: 'providers' };

export interface FlagRow {
  /** Kebab-case; underscores and camelCase mean the same. */
  readonly name: string;
  readonly aliases: readonly string[];
  readonly type: FlagType;
  /** As it would be written; "" = none. */
  readonly default: string;
  /** What stands for the value in --help. */
  readonly value: string;
  readonly help: string;
  /** Given as plain arguments on the command line; a key only in the file. */
  readonly positional?: true;
  /** A flag only; no key of the file. */
  readonly commandLineOnly?: true;
}

const PORT: FlagType = { kind: 'int', min: 0, max: 65_535 };
const BYTES: FlagType = { kind: 'int', min: 1, max: BODY_BYTES_MAX_DEFAULT };
const THREADS: FlagType = { kind: 'int', min: 0, max: MODEL_THREADS_MAX };
const text: FlagType = { kind: 'text' };
const path: FlagType = { kind: 'path' };
const choice = (choices: readonly string[]): FlagType => ({ kind: 'choice', choices });

type RowExtra = Pick<FlagRow, 'positional' | 'commandLineOnly'> & { aliases?: readonly string[] };

function flag(
  name: string, value: string, type: FlagType, standard: string | number, help: string,
  extra: RowExtra = {},
): FlagRow {
  const { aliases = [], ...rest } = extra;
  return { name, aliases, type, default: String(standard), value, help, ...rest };
}

export const SERVE_FLAGS: readonly FlagRow[] = [
  flag('paths', 'PATH', { kind: 'path-list' }, '',
    'a model file, a model folder or a model repository', { positional: true }),
  flag('model-repository', 'DIR', { kind: 'path-list' }, '',
    'serve DIR/<name>/<version>/model.onnx; may be repeated', { aliases: ['model-store'] }),
  flag('model-name', 'NAME', text, '',
    'name of the model in --model-base-path (default: "default")'),
  flag('model-base-path', 'DIR', path, '', 'serve one model, DIR/<version>/model.onnx'),
  flag('host', 'ADDRESS', text, '0.0.0.0', 'address to listen on'),
  flag('http-port', 'PORT', PORT, 8000, 'REST, V1 and V2; 0 picks a free port',
    { aliases: ['rest-api-port'] }),
  flag('grpc-port', 'PORT', PORT, 8001, 'gRPC; 0 picks a free port', { aliases: ['port'] }),
  flag('http-threads', 'N', { kind: 'int', min: 1, max: HTTP_THREADS_MAX }, 1,
    'listeners on the HTTP port, one worker thread each'),
  flag('log-level', 'LEVEL', choice(LOG_LEVELS), 'info', LOG_LEVELS.join(', ')),
  flag('log-format', 'FORMAT', choice(LOG_FORMATS), 'text', LOG_FORMATS.join(' or ')),
  flag('config', 'FILE', path, '', 'YAML with the names of these flags; flags win',
    { commandLineOnly: true }),
  flag('drain-seconds', 'N', { kind: 'int', min: 0, max: 86_400 }, 30,
    'after SIGTERM, how long running requests may take'),
  flag('health-body', 'FORM', choice(['json', 'empty']), 'json', 'body of V2 health replies'),
  flag('strict-readiness', 'BOOL', { kind: 'bool' }, 'true',
    'ready only when every model is available; false: ready when started'),
  flag('exec-mode', 'MODE', choice(['auto', 'inline', 'queued']), 'auto',
    'where models run: listener thread, instance threads, or by measured time'),
  flag('inline-us-max', 'US', { kind: 'int', min: 0, max: 1_000_000 }, 100,
    'auto: a model slower than this goes to instance threads'),
  flag('queue-requests-max', 'N', { kind: 'int', min: 1, max: 1_000_000 }, 1024,
    'requests that may wait for one model; more are refused'),
  flag('instances', 'N', { kind: 'int', min: 1, max: MODEL_THREADS_MAX }, 1,
    'instance threads of each model'),
  flag('intra-op-threads', 'N', THREADS, 0, 'threads inside an operator; 0: a shared pool'),
  flag('inter-op-threads', 'N', THREADS, 0, 'operators at the same time; 0: one by one'),
  flag('graph-optimization', 'LEVEL', { kind: 'graph-optimization' }, 'all',
    'none (0), basic (1), extended (2) or all (99)'),
  flag('providers', 'LIST', { kind: 'providers' }, '',
    'execution providers in order of preference: cuda:device_id=0,cpu'),
  flag('body-bytes-max', 'BYTES', BYTES, BODY_BYTES_MAX_DEFAULT,
    'largest HTTP request body, inflated'),
  flag('grpc-message-bytes-max', 'BYTES', BYTES, BODY_BYTES_MAX_DEFAULT, 'largest gRPC message'),
  flag('json-depth-max', 'N', { kind: 'int', min: 1, max: 10_000 }, JSON_DEPTH_MAX_DEFAULT,
    'deepest nesting of JSON'),
  flag('onnxruntime-library', 'PATH', path, '',
    'libonnxruntime.so (default: SERVAL_ORT_LIBRARY, else the bundled one)'),
];

/** One spelling for what is written with dashes, underscores or camelCase. */
export function canonicalName(written: string): string {
  return written
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}

/** The row with this name or alias. */
export function findFlag(
  written: string, rows: readonly FlagRow[] = SERVE_FLAGS,
): FlagRow | undefined {
  const name = canonicalName(written);
  return rows.find((row) => row.name === name || row.aliases.includes(name));
}

/** The known flag with the fewest edits, for "did you mean". */
export function nearestFlag(written: string, rows: readonly FlagRow[] = SERVE_FLAGS): string {
  const names = rows.flatMap((row) => [row.name, ...row.aliases]);
  return nearestWord(canonicalName(written), names);
}

/** The word in `words` with the fewest edits to `written`. */
export function nearestWord(written: string, words: readonly string[]): string {
  let best = '';
  let bestEdits = Number.POSITIVE_INFINITY;
  const bounded = written.slice(0, 64);
  for (const word of words) {
    const edits = editCount(bounded, word);
    if (edits < bestEdits) [best, bestEdits] = [word, edits];
  }
  return best;
}

/** Levenshtein distance. */
function editCount(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(change, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
