// One exact request and its exact answer, for the tables of both REST protocols. Test time only.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { errorOf, exchange, jsonOf } from '../e2e/support/raw-http.js';

/** Exactly one of `answer`, `text`, `error`, `errorLike` and `empty` says what the body must be. */
export interface RestCase {
  readonly name: string;
  /** Section of the page, seed or upstream file that demands it. */
  readonly source: string;
  /** POST where there is a body. */
  readonly method?: string;
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly headers?: readonly string[];
  /** 200 unless said. */
  readonly status?: number;
  /** The body as a JSON value. */
  readonly answer?: unknown;
  /** The body to the letter, blanks between tokens aside: tokens that JSON.parse does not know. */
  readonly text?: string;
  /** The text of {"error": text}, whole. */
  readonly error?: string;
  /** The same where its end is not given by the page. */
  readonly errorLike?: RegExp;
  readonly empty?: true;
  /** Headers that must be there, lower case. */
  readonly with?: Readonly<Record<string, string>>;
}

/** A test per case; `port` is asked when it runs. `ask`: exchange() or exchange2(). */
export function restTests(
  port: () => number,
  cases: readonly RestCase[],
  ask: typeof exchange = exchange,
): void {
  for (const one of cases) {
    it(`${one.name} (${one.source})`, () => checkCase(port(), one, ask));
  }
}

async function checkCase(port: number, one: RestCase, ask: typeof exchange): Promise<void> {
  const method = one.method ?? (one.body === undefined ? 'GET' : 'POST');
  const response = await ask(port, method, one.path, one.body, one.headers);
  const shown = response.body.toString('utf8');
  assert.equal(response.status, one.status ?? 200, shown);
  for (const [name, value] of Object.entries(one.with ?? {})) {
    assert.equal(response.headers.get(name), value, name);
  }
  if (one.empty === true) {
    assert.equal(shown, '');
    return;
  }
  assert.match(response.headers.get('content-type') ?? '', /^application\/json$/);
  if (one.error !== undefined) assert.equal(errorOf(response), one.error);
  else if (one.errorLike !== undefined) assert.match(errorOf(response), one.errorLike);
  else if (one.text !== undefined) assert.equal(shown.replace(/(?<=[[{,:])\s+|\n$/g, ''), one.text);
  else assert.deepEqual(jsonOf(response), one.answer);
}
