// Every refusal of access is listed in docs/reference/errors.md, under its status.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CONTROL_CHANGE, INFERENCE, type CallKind } from '../../../ts/access/groups.js';
import { digestOf } from '../../../ts/access/keys.js';
import { callAccess, OPEN_POLICY, type Entrance, type Policy } from '../../../ts/access/policy.js';
import { packageRoot } from '../../../ts/base/package-files.js';
import { foreignCall, HostCheck } from '../../../ts/listeners/http/access/own-page.js';

const page = readFileSync(join(packageRoot(), 'docs', 'reference', 'errors.md'), 'utf8').replace(
  /\n {2}/g,
  ' ',
);
/** The text under a heading, up to the next one. */
const section = (heading: string): string =>
  page.split(`### ${heading}\n`)[1]?.split(/\n###? /)[0] ?? assert.fail(heading);
const SECTIONS: Readonly<Record<number, string>> = {
  401: section('UNAUTHENTICATED (401)'),
  403: section('PERMISSION_DENIED (403)'),
};

const DEFAULT: Policy = { ...OPEN_POLICY, remoteControl: false };
const KEYS: Policy = { ...DEFAULT, keys: [{ name: 'a', digest: digestOf('k'), groups: [] }] };
const rule = { header: 'h', digest: digestOf('v'), groups: ['inference'] } as const;
const SITUATIONS: readonly (readonly [Policy, CallKind, Entrance])[] = [
  [DEFAULT, CONTROL_CHANGE, 'http'],
  [KEYS, INFERENCE, 'grpc'],
  [{ ...DEFAULT, hasAdmin: true }, CONTROL_CHANGE, 'http'],
  [{ ...DEFAULT, hasAdmin: true }, INFERENCE, 'admin'],
  [{ ...DEFAULT, httpRules: [rule] }, INFERENCE, 'http'],
  [{ ...DEFAULT, grpcRules: [rule] }, INFERENCE, 'grpc'],
];

test('refusals of a policy', () => {
  const said = new Set<string>();
  for (const [policy, call, entrance] of SITUATIONS) {
    const { missing, unknown, forbidden } = callAccess(policy, call, entrance);
    for (const { http, message } of [missing, unknown, forbidden]) {
      const general = message
        .replace(/\b(inference|control)\b(?= calls?\b)/, 'GROUP')
        .replace(/, expecting header 'h'/, ", expecting header 'HEADER'")
        .replace(/^This protocol is restricted.*/, 'This protocol is restricted, ...');
      assert.ok(SECTIONS[http]?.includes(`\`${general}\``), `${http}: ${general}`);
      said.add(general);
    }
  }
  assert.equal(said.size, 8);
});

test('refusals of a foreign Host', () => {
  const hosts = HostCheck.of('127.0.0.1', []);
  const message = hosts?.problem({ header: () => 'a.example' }) ?? '';
  assert.ok(SECTIONS[403]?.includes(message.replace(/(?<= )'[^']*'/g, "'...'")), message);
});

test('refusals of web pages', () => {
  const headers: readonly Record<string, string>[] = [
    { origin: 'http://a', host: 'b' },
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'http://a.example', host: 'a.example' },
  ];
  for (const given of headers) {
    const message = foreignCall({ header: (name) => given[String(name)] ?? '' }) ?? '';
    const [what = '', got = ''] = message.replace(/(?<= )'[^']*'/g, "'...'").split(/, (?=got)/);
    const is403 = SECTIONS[403] ?? '';
    assert.ok(is403.includes(what), what);
    assert.ok(is403.includes(got), got);
  }
});
