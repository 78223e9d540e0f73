// The files of a request log: complete records, sizes, the number of files, full disks.
import assert from 'node:assert/strict';
import {
  existsSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { LogFiles, type OpenFile } from '../../../../../ts/server/observe/request-log/log-files.js';
import { tempFolder } from '../../../temp-folder.js';

const bytes = (text: string): Buffer => Buffer.from(text);

/** Files of at most 10 bytes, of which 3 are kept; time does not pass by itself. */
function made(context: TestContext, more: object = {}) {
  const folder = tempFolder(context);
  const clock = { ms: Date.UTC(2026, 0, 2, 3, 4, 5, 678) };
  const files = new LogFiles({
    prefix: join(folder, 'm'),
    suffix: '.log',
    bytesMax: 10,
    filesMax: 3,
    now: () => clock.ms,
    ...more,
  });
  const append = async (...records: readonly string[]): Promise<number> => {
    let written = 0;
    await files.append(records.map(bytes), (count) => {
      written += count;
    });
    return written;
  };
  const names = (): readonly string[] => readdirSync(folder).sort();
  const contents = (): readonly string[] =>
    names().map((name) => readFileSync(join(folder, name), 'utf8'));
  return { folder, clock, files, append, names, contents };
}

/** Files whose writes fail with `code` beyond a total number of bytes; half of each is written. */
function failing(code: string, room: { bytes: number }): OpenFile {
  return async (path, isNew) => {
    const file = await open(path, isNew ? 'wx' : 'r+');
    const error = Object.assign(new Error(`${code}: no`), { code });
    return {
      write: async (from: Buffer, at: number, length: number, position: number) => {
        const taken = Math.min(length, room.bytes);
        if (taken === 0) throw error;
        room.bytes -= taken;
        return file.write(from, at, taken, position);
      },
      truncate: (length?: number) => file.truncate(length),
      close: () => file.close(),
    } as Awaited<ReturnType<OpenFile>>;
  };
}

describe('files of a request log', () => {
  it('begin with the first record, for the owner alone', async (context) => {
    const { folder, append, names } = made(context);
    assert.deepEqual(names(), []);
    assert.equal(await append('one'), 1);
    assert.deepEqual(names(), ['m-20260102T030405678Z.log']);
    assert.equal(statSync(join(folder, 'm-20260102T030405678Z.log')).mode & 0o777, 0o600);
  });

  it('are appended to up to their size, and never cut a record', async (context) => {
    const { append, contents } = made(context);
    assert.equal(await append('1234'), 1);
    assert.equal(await append('56', '7890', 'abc'), 3);
    assert.deepEqual(contents(), ['1234567890', 'abc']);
    assert.equal(await append('longer than a file may be', 'd'), 2);
    // The oldest of four was removed.
    assert.deepEqual(contents(), ['abc', 'longer than a file may be', 'd']);
  });

  it('have a limited number of records', async (context) => {
    const { append, contents } = made(context, { recordsMax: 2, bytesMax: 1000 });
    await append('a', 'b', 'c');
    await append('d', 'e');
    assert.deepEqual(contents(), ['ab', 'cd', 'e']);
  });

  it('leave the files of others, and of other logs, alone', async (context) => {
    const { folder, clock, append, names } = made(context);
    const others = ['m-1.log', 'm-20260102T030405678Z.log.gz', 'mm-20260102T030405678Z.log'];
    for (const name of others) writeFileSync(join(folder, name), '');
    for (let i = 0; i < 5; i += 1) {
      clock.ms += 1000;
      await append('0123456789');
    }
    const mine = ['08', '09', '10'].map((second) => `m-20260102T0304${second}678Z.log`);
    assert.deepEqual(names(), [...others, ...mine].sort());
  });

  it('count those of earlier runs, and never append to them', async (context) => {
    const { folder, append, contents } = made(context);
    writeFileSync(join(folder, 'm-20260102T030405678Z.log'), 'before');
    await append('x');
    assert.deepEqual(contents(), ['before', 'x']);
  });

  it('that are moved away are followed by a new one', async (context) => {
    const { folder, append, names, contents } = made(context);
    await append('one');
    renameSync(join(folder, names()[0] ?? ''), join(folder, 'moved'));
    await append('two');
    assert.deepEqual(contents(), ['two', 'one']);
  });

  it('end when that is asked for', async (context) => {
    const { files, append, contents } = made(context);
    await append('one');
    files.end();
    await append('two');
    assert.deepEqual(contents(), ['one', 'two']);
  });

  for (const code of ['ENOSPC', 'EDQUOT', 'EIO']) {
    it(`have whole records only after ${code}`, async (context) => {
      const room = { bytes: 6 };
      const { append, contents } = made(context, { openFile: failing(code, room) });
      assert.equal(await append('1234'), 1);
      await assert.rejects(append('5678'), { code });
      assert.deepEqual(contents(), ['1234']);
      room.bytes = 100;
      assert.equal(await append('9'), 1);
      assert.deepEqual(contents(), ['1234', '9']);
    });
  }

  it('that got nothing are gone', async (context) => {
    const { append, names } = made(context, { openFile: failing('ENOSPC', { bytes: 2 }) });
    await assert.rejects(append('1234'), { code: 'ENOSPC' });
    assert.deepEqual(names(), []);
  });

  it('count what was written before the disk was full', async (context) => {
    const { files } = made(context, { openFile: failing('ENOSPC', { bytes: 12 }) });
    const counts: number[] = [];
    const records = ['12345', '67890', 'abcdef'].map(bytes);
    await assert.rejects(files.append(records, (count) => counts.push(count)));
    assert.deepEqual(counts, [2]);
  });

  it('need their folder', async (context) => {
    const { folder, append } = made(context, { prefix: join('/nowhere', 'at', 'all') });
    await assert.rejects(append('1'), { code: 'ENOENT' });
    assert.ok(existsSync(folder));
  });
});
