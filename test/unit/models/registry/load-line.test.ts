// The terminal line about loading models: when it is drawn, its text, and that other output stays
// intact.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import {
  LoadLine,
  loadLineText,
  type LineTerminal,
} from '../../../../ts/models/registry/load-line.js';
import {
  bytesReadByProcess,
  TerminalLine,
  type LineStream,
} from '../../../../ts/server/start/terminal-line.js';
import { FakeClock } from './fakes.js';

class FakeTerminal implements LineTerminal {
  readonly columns = 200;
  readonly drawn: string[] = [];
  draw(text: string): void {
    this.drawn.push(text);
  }
  erase(): void {
    this.drawn.push('');
  }
}

const load = (model: string, bytes?: number, stage = 'loading') => ({
  model,
  version: '1',
  stage,
  bytes: () => Promise.resolve(bytes),
});

describe('the line of loads', () => {
  it('is not drawn for quick loads, and goes away with the last', async () => {
    const [terminal, clock] = [new FakeTerminal(), new FakeClock()];
    let read = 1_000_000;
    const line = new LoadLine(terminal, clock, () => read);
    line.add(load('quick', 5))();
    await clock.pass(10_000);
    assert.deepEqual([terminal.drawn, clock.nextMs], [[], undefined]);
    const one = { ...load('big', 400_000_000) };
    const end = line.add(one);
    await clock.pass(299);
    assert.deepEqual(terminal.drawn, []);
    read += 100_000_000;
    await clock.pass(1);
    await turn();
    assert.deepEqual(terminal.drawn, ['loading big version 1: 100 of 400 MB read, loading, 0 s']);
    one.stage = 'warming up';
    read += 900_000_000;
    await clock.pass(250);
    await turn();
    assert.equal(terminal.drawn[1], 'loading big version 1: 400 of 400 MB read, warming up, 1 s');
    end();
    end();
    await clock.pass(10_000);
    assert.deepEqual([terminal.drawn.slice(2), clock.nextMs], [[''], undefined]);
  });

  it('counts several together, and no more what is loaded', async () => {
    const [terminal, clock] = [new FakeTerminal(), new FakeClock()];
    let read = 0;
    const line = new LoadLine(terminal, clock, () => read);
    const ends = [line.add(load('a', 2e9)), line.add(load('b', 1e9, 'importing'))];
    read = 2.5e9;
    await clock.pass(300);
    await turn();
    ends[0]?.();
    await clock.pass(250);
    await turn();
    assert.deepEqual(terminal.drawn, [
      'loading 2 models: 2.5 of 3.0 GB read, loading, importing, 0 s',
      'loading b version 1: 0.5 of 1.0 GB read, importing, 1 s',
    ]);
    ends[1]?.();
  });

  it('is of one piece where loads end and begin while sizes are looked up', async () => {
    const [terminal, clock] = [new FakeTerminal(), new FakeClock()];
    const line = new LoadLine(terminal, clock, () => 0);
    let resolve: (bytes: number) => void = () => undefined;
    const slow = new Promise<number>((settle) => {
      resolve = settle;
    });
    const end = line.add({ ...load('slow'), bytes: () => slow });
    await clock.pass(300);
    end();
    const next = line.add(load('next', 1));
    resolve(7);
    await turn();
    assert.deepEqual(terminal.drawn, []);
    await clock.pass(300);
    await turn();
    assert.equal(terminal.drawn.length, 1);
    next();
    assert.equal(clock.nextMs, undefined);
  });

  it('fits the terminal, and shows no bytes that move it', () => {
    const loads = [{ model: `m\u001b[2J${'x'.repeat(90)}`, version: '1', stage: 'loading' }];
    const state = { loads, bytes: undefined, readBytes: 5, seconds: 12 };
    const text = loadLineText(state, 40);
    assert.equal(text.length, 39);
    assert.match(text, /^loading m\\u001b\[2Jx+\.\.\.: loading, 12 s$/);
    assert.equal(loadLineText(state, 5), 'load');
    assert.equal(loadLineText({ ...state, bytes: 1_500_000 }, 300).includes('0.0 of 1.5 MB'), true);
  });
});

describe('the last line of a terminal', () => {
  it('stands below what is printed, and leaves the streams as they were', () => {
    const printed: string[] = [];
    const write = ((text: string) => printed.push(text) > 0) as LineStream['write'];
    const [stderr, stdout, file]: LineStream[] = [
      { isTTY: true, columns: 33, write },
      { isTTY: true, write },
      { isTTY: false, write },
    ];
    assert.ok(stderr && stdout && file);
    const exits = process.listeners('exit').length;
    const line = new TerminalLine(stderr, [stdout, file]);
    assert.equal(line.columns, 33);
    line.draw('one');
    line.draw('two');
    stdout.write('said\n');
    stderr.write('logged\n');
    file.write('apart\n');
    line.draw('three');
    line.erase();
    line.erase();
    const clear = '\r\u001b[2K';
    assert.deepEqual(printed, [
      ...[`${clear}one`, `${clear}two`, clear, 'said\n', 'logged\n', 'apart\n'],
      ...[`${clear}three`, clear],
    ]);
    assert.deepEqual([stderr.write, stdout.write, file.write], [write, write, write]);
    assert.equal(process.listeners('exit').length, exits);
  });

  it('knows what was read', () => {
    assert.ok(bytesReadByProcess() > 0);
  });
});
