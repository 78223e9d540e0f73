// Access log lines written by JavaScript: for requests and calls that reached no model's queue, in
// the format of native/stats/access_log. Control plane; a listener's thread.
import { ERRORS, ErrorCode } from '../../base/errors.js';
import { ACCESS_NAME_CHARS_MAX, ACCESS_REASON_CHARS_MAX } from '../../base/limits.js';
import type { AccessLogSettings } from '../../config/config.js';
import { visibleJson } from '../../base/text.js';
import type { AnswerLog, Asked } from '../../listeners/http/answer-log.js';

const NO_ANSWER = ERRORS[ErrorCode.Cancelled];
const MODEL = /^\/v[12]\/models\/([^/:]+)(?:\/versions\/([^/:]+))?/i;
const ERROR_BODY = '{"error":';
/** Names of statuses that have no error code. */
const OTHER_STATUSES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'PATH_NOT_FOUND',
  411: 'LENGTH_REQUIRED',
  431: 'HEAD_TOO_LARGE',
  505: 'VERSION_NOT_SUPPORTED',
};

/** A status with several codes uses the simplest. */
function nameOfStatus(status: number): string {
  if (status < 400) return 'OK';
  const other = OTHER_STATUSES[status];
  if (other !== undefined) return other;
  if (status === 500) return ERRORS[ErrorCode.Internal].name;
  return Object.values(ERRORS).find(({ v2Http }) => v2Http === status)?.name ?? 'UNKNOWN';
}

/** The message in an error's body. */
function reasonOf(body: Uint8Array | string): string {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  if (!text.startsWith(ERROR_BODY)) return '';
  try {
    const { error } = JSON.parse(text) as { readonly error: unknown };
    return typeof error === 'string' ? error : '';
  } catch {
    return '';
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function protocolOf(path: string): string {
  if (/^\/v1(?:\/|$)/i.test(path)) return 'v1-rest';
  return /^\/v2(?:\/|$)/i.test(path) ? 'v2-rest' : 'http';
}

const cut = (text: string): string => text.slice(0, ACCESS_NAME_CHARS_MAX);

export class AnswerLines implements AnswerLog {
  readonly #settings: AccessLogSettings;
  readonly #add: (line: Buffer) => void;
  #passed = 0;

  /** `add` accepts whole lines. */
  constructor(settings: AccessLogSettings, add: (line: Buffer) => void) {
    this.#settings = settings;
    this.#add = add;
  }

  answered(asked: Asked, status: number, body: Uint8Array | string): void {
    const failed = status >= 400;
    if (!this.#samples(failed)) return;
    const { code } = asked;
    const name = code === undefined ? nameOfStatus(status) : ERRORS[code].name;
    this.#http(asked, status, name, failed ? reasonOf(body) : '', body);
  }

  left(asked: Asked): void {
    if (!this.#samples(true)) return;
    this.#http(asked, NO_ANSWER.v2Http, NO_ANSWER.name, 'the client went away', '');
  }

  unread(line: string): void {
    if (!this.#samples(true)) return;
    const status = Number(line.slice(0, 3));
    const reason = `${line.slice(4)}: not an HTTP/1.1 request`;
    this.#write({ protocol: 'http', code: nameOfStatus(status), status, ...this.#why(reason) });
  }

  #http(
    { method, path, begunMs }: Asked,
    status: number,
    code: string,
    reason: string,
    body: Uint8Array | string,
  ): void {
    const [, model, version] = MODEL.exec(path) ?? [];
    this.#write({
      protocol: protocolOf(path),
      call: cut(`${method} ${path}`),
      ...(model !== undefined && { model: cut(decoded(model)) }),
      ...(version !== undefined && { version: cut(decoded(version)) }),
      code,
      status,
      ...this.#why(reason),
      response_bytes: Buffer.byteLength(body),
      total_us: Math.round((performance.now() - begunMs) * 10_000) / 10,
    });
  }

  #why(reason: string): { readonly reason?: string } {
    if (!this.#settings.reasons || reason === '') return {};
    return { reason: reason.slice(0, ACCESS_REASON_CHARS_MAX) };
  }

  #samples(failed: boolean): boolean {
    const { oneIn, errorsOnly } = this.#settings;
    if (errorsOnly) return failed;
    this.#passed += 1;
    if (this.#passed < oneIn) return false;
    this.#passed = 0;
    return true;
  }

  #write(fields: Readonly<Record<string, unknown>>): void {
    const time = new Date().toISOString();
    this.#add(Buffer.from(`${visibleJson({ time, ...fields })}\n`));
  }
}
