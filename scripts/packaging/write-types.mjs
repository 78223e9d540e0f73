// Writes the files of package.json's `exports` next to dist/bundle/api.cjs: api.js for import, and
// the declarations of both. Options, defaults and descriptions in the declarations come from the
// table of flags; library-types.txt has the rest. Build time only.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeClientTypes } from './client.mjs';

const dist = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'dist');

const TYPES = {
  text: 'string',
  path: 'string',
  providers: 'string',
  int: 'number',
  'int-or-auto': "number | 'auto'",
  bool: 'boolean',
  size: 'number | string',
  'path-list': 'string | readonly string[]',
  'text-list': 'string | readonly string[]',
  'graph-optimization': "'none' | 'basic' | 'extended' | 'all'",
};

function typeOf({ name, type }) {
  if (type.kind === 'choice') return type.choices.map((each) => `'${each}'`).join(' | ');
  const found = TYPES[type.kind];
  if (found === undefined) throw new Error(`write-types: no type for --${name} (${type.kind})`);
  return found;
}

function optionLines(row, optionName) {
  const standard = row.default === '' ? '' : ` Default: ${row.default}.`;
  const unit = ['BYTES', 'MS', 'US'].includes(row.value) ? ` (${row.value.toLowerCase()})` : '';
  const text = `${row.help}${unit}.${standard}`.replaceAll('*/', '* /');
  return (
    `  /** ${text[0].toUpperCase()}${text.slice(1)} */\n  readonly ${optionName(row)}?: ` +
    `${typeOf(row)} | undefined;\n`
  );
}

// Returns the declarations of loadModel()'s options and of error numbers.
function libraryDeclarations(rows, optionName, { settings, codes }) {
  const own = rows.filter(({ name }) => settings.includes(name));
  const numbers = Object.entries(codes).filter(([name]) => !/^\d+$/.test(name));
  const file = new URL('./library-types.txt', import.meta.url);
  return `
/** The options of loadModel(). */
export interface ModelOptions {
  /** The model's name, if the path has several models. */
  readonly name?: string | undefined;
  /** The model's version. Default: the highest. */
  readonly version?: string | undefined;
  /** The signature of a TensorFlow model that infer() calls. Default: serving_default. */
  readonly signature?: string | undefined;
${own.map((row) => optionLines(row, optionName)).join('')}}

/** The values of \`ServalError.code\`. */
export const ErrorCode: {
${numbers.map(([name, number]) => `  readonly ${name}: ${number};\n`).join('')}};
${readFileSync(file, 'utf8')}`;
}

// Returns the declarations as text. `rows`: ts/config/flags.ts; `library`: {settings, codes}.
export function declarations(rows, optionName, library) {
  return `// Written by scripts/packaging/write-types.mjs from ts/config/flags.ts.

/** The settings of \`serval serve\`. */
export interface ServeOptions {
${rows.map((row) => optionLines(row, optionName)).join('')}}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Server {
  /** Has port 0 if \`allowHttp\` is false. */
  readonly http: Address;
  /** Has port 0 if \`allowGrpc\` is false. */
  readonly grpc: Address;
  /** Whether every model is available. */
  readonly ready: boolean;
  /** Stops accepting, finishes running requests within \`drainSeconds\`, closes every connection
   * and ends the threads. Resolves to the requests that had to be cut, or undefined if none had. */
  stop(): Promise<
    { readonly httpRequests: number | string; readonly grpcRequests: number | string } | undefined>;
}

/** Starts a server in this process; resolves when it listens and every model is loaded or has
 * failed. Relative paths are relative to the working directory. Rejects with an Error that names
 * the option, the port or the path, or if a server is already running in this process. */
export function startServer(options: ServeOptions): Promise<Server>;
${libraryDeclarations(rows, optionName, library)}`;
}

const ES_MODULE = `import api from './api.cjs';
export const { startServer, loadModel, ServalError, ErrorCode } = api;
`;

export async function writeTypes() {
  const { SERVE_FLAGS } = await import(join(dist, 'config', 'flags.js'));
  const { optionName, ErrorCode } = await import(join(dist, 'api.js'));
  const { MODEL_SETTINGS } = await import(join(dist, 'library', 'settings.js'));
  const library = { settings: MODEL_SETTINGS, codes: ErrorCode };
  const text = declarations(SERVE_FLAGS, optionName, library);
  for (const name of ['api.d.ts', 'api.d.cts']) writeFileSync(join(dist, 'bundle', name), text);
  writeFileSync(join(dist, 'bundle', 'api.js'), ES_MODULE);
  writeClientTypes(join(dist, 'bundle'));
}
