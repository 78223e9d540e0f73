// Writes the files of package.json's `exports` beside dist/bundle/api.cjs: api.js for import, and
// the declarations of both, whose options, defaults and texts come from the table of flags; the
// rest is in library-types.txt. Build time only.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'dist');

const TYPES = {
  text: 'string',
  path: 'string',
  providers: 'string',
  int: 'number',
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
/** What loadModel() takes beside the path. */
export interface ModelOptions {
  /** Where the path holds several models. */
  readonly name?: string | undefined;
  /** Default: the highest. */
  readonly version?: string | undefined;
  /** Of a TensorFlow model: what infer() calls. Default: serving_default. */
  readonly signature?: string | undefined;
${own.map((row) => optionLines(row, optionName)).join('')}}

/** What \`ServalError.code\` is. */
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
  /** Port 0 where \`allowHttp\` is false; so of gRPC. */
  readonly http: Address;
  readonly grpc: Address;
  /** Whether every model is available. */
  readonly ready: boolean;
  /** Stops accepting, finishes what runs within \`drainSeconds\`, closes every connection and ends
   * the threads. Settles with what had to be cut: undefined where nothing had. */
  stop(): Promise<
    { readonly httpRequests: number | string; readonly grpcRequests: number | string } | undefined>;
}

/** Starts a server in this process; settles when it listens and every model is loaded or has
 * failed. Relative paths count from the working directory. Rejects with an Error that names the
 * option, the port or the path, or where one runs here already. */
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
}
