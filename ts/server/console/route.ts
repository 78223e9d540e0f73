// The console's files: a page that shows the server through the calls that everybody has. They are
// the same for everybody and say nothing of this server. Read when first asked for, then kept.
// Control plane; the listener's thread.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JSON_TYPE } from '../../base/media-types.js';
import { CONSOLE } from '../../access/groups.js';
import { ErrorCode, ERRORS } from '../../base/errors.js';
import { packageRoot } from '../../base/package-files.js';
import {
  headerName,
  ofCall,
  type HttpExchange,
  type RequestHead,
  type Route,
} from '../../listeners/http/listener.js';

const IF_NONE_MATCH = headerName('if-none-match');
const INDEX_PATH = '/';
const FOLDER_PATH = '/console/';
/** Content security policy: the page loads and calls this server only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');
const HEADERS: readonly string[] = [
  ...['Content-Security-Policy', POLICY],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['X-Frame-Options', 'DENY'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
  ...['Cache-Control', 'no-cache'],
];

/** The entry that scripts/bundle.mjs writes for each file, by its path. */
interface Listed {
  readonly file: string;
  readonly type: string;
  readonly etag: string;
}

interface Loaded extends Listed {
  readonly body: Buffer;
}

let kept: ReadonlyMap<string, Loaded> | undefined;

/** By path. Throws where the files were not built. */
function files(): ReadonlyMap<string, Loaded> {
  if (kept !== undefined) return kept;
  const folder = join(packageRoot(), 'dist', 'bundle', 'console');
  const listed = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8')) as Record<
    string,
    Listed
  >;
  const load = (one: Listed): Loaded => ({ ...one, body: readFileSync(join(folder, one.file)) });
  kept = new Map(Object.entries(listed).map(([path, one]) => [path, load(one)]));
  return kept;
}

class FileRoute implements Route {
  constructor(private readonly path: string) {}

  begin(head: RequestHead, exchange: HttpExchange): void {
    const file = files().get(this.path);
    if (file === undefined) {
      exchange.note(ErrorCode.PathNotFound);
      const { v2Http } = ERRORS[ErrorCode.PathNotFound];
      const error = `no such endpoint: GET ${this.path.slice(0, 256)}`;
      exchange.send(v2Http, JSON_TYPE, JSON.stringify({ error }));
      return;
    }
    const headers = ['ETag', file.etag, ...HEADERS];
    const known = head.header(IF_NONE_MATCH).split(',');
    if (known.some((one) => one.trim() === file.etag)) exchange.send(304, file.type, '', headers);
    else exchange.send(200, file.type, file.body, headers);
  }
  data(): void {
    // Not asked for.
  }
  abort(): void {
    // Answered in begin().
  }
}

/** The route of a file of the console; undefined where this is none. */
export function consoleRoute(method: string, path: string): Route | undefined {
  if (method !== 'GET' || (path !== INDEX_PATH && !path.startsWith(FOLDER_PATH))) return undefined;
  return ofCall(CONSOLE, new FileRoute(path));
}
