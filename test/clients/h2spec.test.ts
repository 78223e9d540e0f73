// h2spec, the conformance suite of HTTP/2, against the native listener of a real server: every case
// passes, or is listed here with the reason why it cannot. Source: github.com/summerwind/h2spec;
// RFC 9113, which is newer.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { ModelFolders } from '../e2e/support/model-folders.js';
import { startServer, type ServalProcess } from '../e2e/support/serval-process.js';
import { findGo } from './support.js';

/** The number of cases in the version that test/clients/go/go.mod names. */
const CASES = 145;
const RUN_MS = 240_000;
const WAIT_SECONDS = 2;

const FORGOTTEN =
  'frames on a closed stream may be ignored (RFC 9113 5.1), and libnghttp2 passes over DATA of one ' +
  'that it has forgotten without telling anybody';

/** Case -> why it cannot pass. A case that passes is a failure, because it must leave the table. */
const REASONS: Readonly<Record<string, string>> = {
  'http2/5.1: closed: Sends a DATA frame after sending RST_STREAM frame': FORGOTTEN,
  'http2/5.1: closed: Sends a DATA frame': FORGOTTEN,
  'http2/5.3.1: Sends PRIORITY frame that depend on itself':
    'RFC 9113 5.3.2 did away with dependencies and this rule (SETTINGS_NO_RFC7540_PRIORITIES is ' +
    'said): libnghttp2 does not read what a PRIORITY frame says',
};

/**
 * Cases that depend on timing: the GET may have been answered, and its stream closed and forgotten,
 * before the invalid frame arrives. BrokenFrame of test/native/transport/listener_defence_test.cc
 * tests this on a call that is not answered.
 */
const RACES: readonly RegExp[] = [
  /^http2\/5\.1: half closed \(remote\): Sends a DATA frame$/,
  /^http2\/6\.1: Sends a DATA frame on the stream that is not in .* state$/,
  // A connection without calls is closed at a GOAWAY; the PING after it may reach a closed socket.
  /^http2\/7: Sends a GOAWAY frame with unknown error code$/,
];

interface Case {
  readonly name: string;
  readonly passed: boolean;
  readonly seen: string;
}

/** The cases of h2spec's JUnit report. */
function casesOf(report: string): readonly Case[] {
  const found = report.matchAll(
    /<testcase package="([^"]*)" classname="([^"]*)"[^>]*>(.*?)<\/testcase>/gs,
  );
  return [...found].map(([, place = '', title = '', seen = '']) => ({
    name: `${place}: ${title}`,
    passed: seen === '',
    seen: seen.trim(),
  }));
}

const skip = findGo().missing;

describe('h2spec', { skip }, () => {
  const folders = new ModelFolders();
  const scratch = mkdtempSync(join(tmpdir(), 'serval-h2spec-'));
  let server: ServalProcess;
  let cases: readonly Case[] = [];
  const ask = (): readonly Case[] => {
    const report = join(scratch, 'report.xml');
    const place = ['-h', '127.0.0.1', '-p', String(server.grpcPort)];
    const args = [...place, '-o', String(WAIT_SECONDS), '-j', report];
    const { error } = spawnSync(findGo().program('h2spec'), args, { timeout: RUN_MS });
    assert.equal(error, undefined);
    return casesOf(readFileSync(report, 'latin1'));
  };
  before(async () => {
    const models = folders.repository('h2spec', ['half_plus_three']);
    server = await startServer([models]);
    cases = ask();
  });
  after(async () => {
    await server.stop();
    folders.remove();
    rmSync(scratch, { recursive: true, force: true });
  });

  it(`runs ${CASES} cases`, () => {
    assert.equal(cases.length, CASES);
    assert.ok(server.running, server.stderr);
  });

  it('passes all but those with a reason', () => {
    const failed = cases.filter(({ name, passed }) => !passed && REASONS[name] === undefined);
    const unexplained = failed.filter(({ name }) => !RACES.some((race) => race.test(name)));
    assert.deepEqual(
      unexplained.map(({ name, seen }) => `${name}: ${seen}`),
      [],
    );
  });

  it('lists no reason for cases that pass or do not exist', () => {
    const passed = new Set(cases.filter((one) => one.passed).map(({ name }) => name));
    assert.deepEqual(
      Object.keys(REASONS).filter((name) => passed.has(name)),
      [],
    );
    for (const race of RACES)
      assert.ok(
        cases.some(({ name }) => race.test(name)),
        String(race),
      );
  });
});
