// The rule for Serval's reading of a framing case: it refuses what Node or nginx refuses, and reads
// the same requests where both agree. Test time only.
import type { Answer } from './conversation.js';
import type { Reading, Reference, Seen } from './references.js';

/** Serval's reaction to a case, without NEXT's response. */
export interface Outcome {
  readonly answers: readonly Answer[];
  readonly end: 'next' | 'close' | 'waits';
}

/** Serval's response to one request in its plainest form. */
export type Plain = (seen: Seen) => Promise<Answer>;

const textOf = ({ requests, end, status }: Reading): string => {
  const what = requests.map(({ method, target, body }) => `${method} ${target} [${body}]`);
  return [...what, end === 'refused' ? `refused (${status})` : end].join(', ');
};

export const outcomeText = ({ answers, end }: Outcome): string =>
  [...answers.map(({ status }) => String(status)), ...(end === 'next' ? [] : [end])].join(' ');

const same = (a: Answer | undefined, b: Answer): boolean =>
  a !== undefined && a.status === b.status && a.body === b.body;

const sameRequest = (a: Seen | undefined, b: Seen): boolean =>
  a !== undefined && a.method === b.method && a.target === b.target && a.body === b.body;

/** True if Serval answered these requests, its first ones, as separate requests. */
async function answered(outcome: Outcome, requests: readonly Seen[], plain: Plain) {
  for (const [i, seen] of requests.entries()) {
    if (!same(outcome.answers[i], await plain(seen))) return false;
  }
  return true;
}

/** Describes how the outcome violates the rule, or undefined. */
export async function violation(
  outcome: Outcome,
  references: readonly Pick<Reference, 'name'>[],
  readings: readonly Reading[],
  plain: Plain,
): Promise<string | undefined> {
  const found = readings.some(({ end }) => end === 'refused')
    ? await whereRefused(outcome, readings, plain)
    : await whereTaken(outcome, readings, plain);
  if (found === undefined) return undefined;
  const others = references.map(({ name }, i) => `${name}: ${textOf(readings[i] as Reading)}`);
  return `${found}; ${others.join('; ')}; Serval: ${outcomeText(outcome)}`;
}

/**
 * One reference refuses a request: Serval must refuse it, too, and close, unless the other one read
 * exactly the requests that Serval answered.
 */
async function whereRefused(outcome: Outcome, readings: readonly Reading[], plain: Plain) {
  const refusing = readings.filter(({ end }) => end === 'refused');
  const [first] = refusing.sort((a, b) => a.requests.length - b.requests.length);
  const requests = first?.requests ?? [];
  if (!(await answered(outcome, requests, plain))) return 'what came before is read differently';
  const error = outcome.answers[requests.length];
  if (error !== undefined && error.status < 400) return 'what one refuses is answered';
  const closes = outcome.end === 'close' && outcome.answers.length <= requests.length + 1;
  const asOther = readings.some(
    ({ end, requests: read }) =>
      end === 'waits' || (end !== 'refused' && read.length === outcome.answers.length),
  );
  return closes || asOther ? undefined : 'it goes on after what one refuses';
}

/** No reference refuses anything. A server that closes early has read less, and nothing else. */
async function whereTaken(outcome: Outcome, readings: readonly Reading[], plain: Plain) {
  const [longest, ...others] = [...readings].sort((a, b) => b.requests.length - a.requests.length);
  if (longest === undefined) return undefined;
  const agree = others.every(
    ({ requests, end }) =>
      requests.every((seen, i) => sameRequest(longest.requests[i], seen)) &&
      (requests.length === longest.requests.length || end !== 'next'),
  );
  const errs = (outcome.answers.at(-1)?.status ?? 400) >= 400 && outcome.end === 'close';
  if (!agree) return errs ? undefined : 'it takes what the others read differently';
  const ends = new Set(readings.map(({ end }) => end));
  const count = outcome.end === 'close' ? outcome.answers.length : longest.requests.length;
  if (outcome.answers.length !== count) return 'the others read another number of requests';
  if (outcome.end === 'close' && !readings.some(({ requests }) => requests.length === count)) {
    return 'the others read another number of requests';
  }
  if (!(await answered(outcome, longest.requests.slice(0, count), plain))) {
    return 'the others read other requests';
  }
  const expected = outcome.end === 'close' ? 'closed' : outcome.end;
  return ends.has('waits') || ends.has(expected) ? undefined : 'the others end otherwise';
}
