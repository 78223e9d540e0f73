// One exact request and its exact response, for the tables of both REST protocols. Test time only.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { errorOf, exchange, jsonOf } from '../e2e/support/raw-http.js';

/** Exactly one of `answer`, `text`, `error`, `errorLike` and `empty` states the expected body. */
export interface RestCase {
  readonly name: string;
  /** Section of the page, or upstream file, that requires it. */
  readonly source: string;
  /** Default: POST if there is a body. */
  readonly method?: string;
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly headers?: readonly string[];
  /** Default: 200. */
  readonly status?: number;
  /** The body as a JSON value. */
  readonly answer?: unknown;
  /** The exact body, except for blanks between tokens: for tokens that JSON.parse cannot read. */
  readonly text?: string;
  /** The complete text of {"error": text}. */
  readonly error?: string;
  /** The same if the page does not specify its end. */
  readonly errorLike?: RegExp;
  readonly empty?: true;
  /** Required headers, in lower case. */
  readonly with?: Readonly<Record<string, string>>;
}

/** Adds a test per case. `port` is called when the test runs. `ask`: exchange() or exchange2(). */
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
