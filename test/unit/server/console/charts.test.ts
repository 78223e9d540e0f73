// The console's drawings: lengths of bars, axes and gaps of lines, heights of columns, and the
// short texts of numbers.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bars, columnPlot, linePlot } from '../../../../ts/server/console/page/charts.js';
import { bytes, duration, short } from '../../../../ts/server/console/page/dom.js';
import { fakeOf, installFakeDocument } from './fake-dom.js';

installFakeDocument();

describe('bars', () => {
  it('draws lengths relative to the largest magnitude', () => {
    const list = fakeOf(
      bars([
        { label: 'a', score: 2 },
        { label: 'b', score: -1 },
      ]),
    );
    const drawn = list.all('span').filter(({ className }) => className.startsWith('bar'));
    assert.deepEqual(
      drawn.map(({ className, style }) => [className, style['width']]),
      [
        ['bar', '100%'],
        ['bar negative', '50%'],
      ],
    );
    assert.match(list.text, /a2b-1/);
  });

  it('draws bars without a length when all scores are 0', () => {
    const [, , bar] = fakeOf(bars([{ label: 'a', score: 0 }])).all('span');
    assert.equal(bar?.style['width'], '0%');
  });
});

describe('linePlot', () => {
  const plot = (...values: readonly (number | undefined)[]) =>
    fakeOf(
      linePlot({
        title: 'Rate',
        samples: 4,
        shown: String,
        lines: [{ name: 'one', colour: 1, values }],
      }),
    );

  it('ends the axis at the next 1, 2 or 5', () => {
    const axis = (value: number): string | undefined => plot(value).all('text')[2]?.text;
    assert.equal(axis(0.7), '1');
    assert.equal(axis(13), '20');
    assert.equal(axis(410), '500');
    assert.equal(axis(1000), '1000');
    assert.equal(axis(0), '1');
  });

  it('puts the newest value at the right edge', () => {
    const d = plot(1).all('path')[0]?.attributes.get('d');
    assert.equal(d, 'M360.0 6.0h.01');
  });

  it('leaves a gap where nothing was measured', () => {
    const d = plot(1, undefined, 1, 1).all('path')[0]?.attributes.get('d') ?? '';
    assert.deepEqual(d.replace(/[^ML]/g, ''), 'MML');
  });

  it('shows the newest value in the legend, or a dash', () => {
    assert.match(plot(1, 3).all('ul')[0]?.text ?? '', /one 3/);
    assert.match(plot(1, undefined).all('ul')[0]?.text ?? '', /one –/);
  });
});

describe('columnPlot', () => {
  it('draws heights relative to the axis and describes them in words', () => {
    const figure = fakeOf(
      columnPlot('Batch size', [
        { label: '≤1', count: 10 },
        { label: '≤2', count: 5 },
      ]),
    );
    const heights = figure.all('rect').map(({ attributes }) => Number(attributes.get('height')));
    assert.equal(heights[0], 2 * (heights[1] ?? 0));
    const label = figure.all('svg')[0]?.attributes.get('aria-label');
    assert.equal(label, 'Batch size: ≤1: 10, ≤2: 5');
    assert.deepEqual(figure.all('p'), []);
  });

  it('labels at most eight columns', () => {
    const columns = Array.from({ length: 40 }, (_, at) => ({ label: `c${at}`, count: 1 }));
    const named = fakeOf(columnPlot('t', columns))
      .all('text')
      .filter(({ text }) => /^c/.test(text));
    assert.ok(named.length > 0 && named.length <= 8, `${named.length} labels`);
  });

  it('says so when there is no data', () => {
    assert.equal(fakeOf(columnPlot('t', [])).all('p')[0]?.text, 'No data yet.');
  });
});

describe('texts of numbers', () => {
  it('shortens counts to three digits and a unit', () => {
    assert.deepEqual([0, 7, 999, 1240, 12_400, 124_000, 3e6].map(short), [
      '0',
      '7',
      '999',
      '1.24k',
      '12.4k',
      '124k',
      '3M',
    ]);
    assert.equal(short(-1500), '-1.50k');
    assert.equal(short(NaN), '–');
  });

  it('writes seconds in the unit that fits', () => {
    assert.deepEqual([2, 0.0123, 0.000012, NaN].map(duration), ['2.00 s', '12.3 ms', '12 µs', '–']);
  });

  it('writes bytes with a unit', () => {
    assert.deepEqual([12, 1200, 3e6].map(bytes), ['12 B', '1.20 kB', '3 MB']);
  });
});
