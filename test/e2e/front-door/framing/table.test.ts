// The table of framing cases, byte for byte, over both HTTP listeners of Serval. The addon's
// reading of each is compared with those of Node's parser and of nginx, observed here. Source: RFC
// 9110, RFC 9112; for the rule, rule.ts; docs/guides/security.md lists the differences.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../../../ts/base/package-files.js';
import { mapAtOnce } from './at-once.js';
import { BY_BYTES_MAX, FRAMING, bytesOf, type FramingCase } from './cases.js';
import { answersOf, converse, type Answer } from './conversation.js';
import { missingProgram } from './proxy-servers.js';
import { startNginxReference, startNode, type Reading, type Reference } from './references.js';
import { outcomeText, violation, type Outcome } from './rule.js';
import type { Seen } from './references.js';
import { overListeners } from '../../support/http-listeners.js';
import { ModelFolders } from '../../support/model-folders.js';
import { until } from '../../support/polling.js';
import { exchange } from '../../support/raw-http.js';
import { DEADLINE_MS, startServer, type ServalProcess } from '../../support/serval-process.js';

const NO_NGINX = missingProgram('nginx', 'nginx-light');
const AT_ONCE = 16;

const folders = new ModelFolders();
const models = folders.repository('framing', ['half_plus_three']);
after(() => folders.remove());

/** A server that receives cases. */
class Asked {
  readonly server: ServalProcess;
  /** The total number of its responses. */
  answers = 0;
  private readonly plain = new Map<string, Promise<Answer>>();

  constructor(server: ServalProcess) {
    this.server = server;
  }

  async outcome(one: FramingCase, bytes: Buffer | readonly Buffer[], waits: boolean) {
    const { httpPort } = this.server;
    // A request that is unanswered when later ones have been answered stays unanswered.
    const enough = async (): Promise<boolean> => {
      for (let i = 0; waits && i < 2; i += 1) {
        assert.equal((await exchange(httpPort, 'GET', '/v2/health/live')).status, 200);
        this.answers += 1;
      }
      return waits;
    };
    const { text, closed } = await converse(httpPort, bytes, one.ends, DEADLINE_MS, enough);
    const answers = answersOf(text);
    this.answers += answers.length;
    const next = await this.answerTo({ method: 'GET', target: '/next', body: '' });
    const last = answers.at(-1);
    if (last !== undefined && last.status === next.status && last.body === next.body) {
      return { answers: answers.slice(0, -1), end: 'next' } satisfies Outcome;
    }
    return { answers, end: closed ? 'close' : 'waits' } satisfies Outcome;
  }

  answerTo(seen: Seen): Promise<Answer> {
    const key = JSON.stringify(seen);
    const known = this.plain.get(key) ?? this.ask(seen);
    this.plain.set(key, known);
    return known;
  }

  private async ask({ method, target, body }: Seen): Promise<Answer> {
    const lines = [`${method} ${target} HTTP/1.1`, 'Host: test', 'Connection: close'];
    const text = `${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const bytes = Buffer.from(text, 'latin1');
    const got = await converse(this.server.httpPort, bytes, false, DEADLINE_MS);
    const [answer, ...more] = answersOf(got.text);
    assert.ok(answer !== undefined && more.length === 0, `${method} ${target}: ${got.text}`);
    this.answers += 1;
    return answer;
  }
}

const readings = new Map<FramingCase, readonly Reading[]>();
const references: Reference[] = [];
before(async () => {
  references.push(await startNode());
  if (NO_NGINX === false) references.push(await startNginxReference(join(folders.folder, 'nginx')));
  await mapAtOnce(FRAMING, AT_ONCE, async (one) => {
    readings.set(one, await Promise.all(references.map(({ read }) => read(one))));
  });
});
after(async () => {
  await Promise.all(references.map(({ stop }) => stop()));
});

it('compares with nginx', { skip: NO_NGINX }, () => {
  assert.deepEqual(
    references.map(({ name }) => name),
    ['node', 'nginx'],
  );
});

it('has at least 150 cases, each with another name and the section of its RFC', () => {
  assert.ok(FRAMING.length >= 150);
  assert.equal(new Set(FRAMING.map(({ name }) => name)).size, FRAMING.length);
  for (const { rfc } of FRAMING) assert.match(rfc, /^\d{4} [\dA-C][\d.]*$/);
});

overListeners('framing', (flags, kind) => {
  const log = join(folders.folder, `access-${kind}.log`);
  let asked: Asked;
  before(async () => {
    const inline = ['--exec-mode', 'inline', '--http-threads', '1', '--access-log', log];
    asked = new Asked(await startServer([models, ...inline, ...flags]));
  });
  after(() => asked.server.stop());

  for (const one of FRAMING) {
    const expected = kind === 'uws' ? one.uws : one.native;
    const waits = expected.endsWith('waits');
    it(`${one.name} (RFC ${one.rfc}): ${expected}`, async () => {
      const outcome = await asked.outcome(one, one.bytes, waits);
      assert.equal(outcomeText(outcome), expected);
      if (kind === 'uws') return;
      const broken = await violation(outcome, references, readings.get(one) ?? [], (seen) =>
        asked.answerTo(seen),
      );
      if (one.differs === undefined) assert.equal(broken, undefined);
      else if (NO_NGINX === false) assert.ok(broken !== undefined, 'it does not differ any more');
      if (one.bytes.length > BY_BYTES_MAX) return;
      const cut = await asked.outcome(one, bytesOf(one), waits);
      assert.deepEqual(cut.answers.map(undated), outcome.answers.map(undated), 'byte by byte');
      assert.equal(cut.end, outcome.end);
    });
  }

  const unlogged = kind === 'uws' && 'what uWebSockets.js refuses by itself is in no log';
  it('has begun as many requests as it has answered', { skip: unlogged }, async () => {
    const lines = (): readonly string[] => readFileSync(log, 'utf8').trim().split('\n');
    const ofAnswers = (): number =>
      lines().filter((line) => (JSON.parse(line) as { status: number }).status !== 499).length;
    await until(
      'a line for each answer',
      () => ofAnswers() >= asked.answers,
      () => `${ofAnswers()} lines of ${asked.answers}`,
    );
    assert.equal(ofAnswers(), asked.answers);
  });
});

function undated({ status, headers, body }: Answer): unknown {
  const own = [...headers].filter(([name]) => name !== 'date' && name !== 'connection');
  return [status, own, body];
}

describe('docs/guides/security.md', () => {
  const page = readFileSync(join(packageRoot(), 'docs', 'guides', 'security.md'), 'utf8');
  const rowsAfter = (head: string): readonly (readonly string[])[] => {
    const [, table = ''] = page.split(`${head}\n| --- | --- | --- |\n`);
    const [lines = ''] = table.split('\n\n');
    return lines.split('\n').map((line) => line.slice(2, -2).split(' | '));
  };
  const cell = (text: string): string => text.replaceAll('*', '\\*');

  it('lists where the default listener is held to neither, and why', () => {
    assert.deepEqual(
      rowsAfter('| request | response | why |'),
      FRAMING.filter(({ differs }) => differs !== undefined).map(({ name, native, differs }) =>
        [name, native, differs ?? ''].map(cell),
      ),
    );
  });

  it('lists what uWebSockets.js reads and the default listener refuses', () => {
    assert.deepEqual(
      rowsAfter('| request | native | uws |'),
      FRAMING.filter(isLoose).map(({ name, native, uws }) => [name, native, uws].map(cell)),
    );
  });
});

/** True if uWebSockets.js answers more of it, or continues after it. */
function isLoose({ native, uws }: FramingCase): boolean {
  if (!/[45]\d\d close$/.test(native)) return false;
  const taken = (text: string): number => text.match(/\b2\d\d\b/g)?.length ?? 0;
  return !/(close|waits)$/.test(uws) || taken(uws) > taken(native);
}
