// The console's reader of the metrics page, and the arithmetic of histograms.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  EMPTY,
  histogramOf,
  quantile,
  samplesOf,
  since,
  total,
} from '../../../../ts/server/console/page/metrics/exposition.js';

const PAGE = `# HELP requests The requests.
# TYPE requests counter
requests{model="a",version="1"} 3
requests{model="a",version="2"} 4
requests{model="ab",version="1"} 100
requests{model="q\\"\\\\\\n",version="1"} 7
up 1
nonsense
took_bucket{model="a",version="1",le="0.1"} 1
took_bucket{model="a",version="1",le="1"} 3
took_bucket{model="a",version="1",le="+Inf"} 4
took_bucket{model="a",version="2",le="0.1"} 10
took_bucket{model="a",version="2",le="1"} 10
took_bucket{model="a",version="2",le="+Inf"} 12
limit{model="a"} +Inf
`;

describe('samplesOf', () => {
  it('keeps only the lines of the named model', () => {
    const samples = samplesOf(PAGE, 'a');
    assert.deepEqual([...samples.keys()], ['requests', 'took_bucket', 'limit']);
    assert.equal(total(samples, 'requests'), 7);
    assert.deepEqual(samples.get('requests')?.[1], {
      labels: { model: 'a', version: '2' },
      value: 4,
    });
  });

  it('keeps the lines without a model for an empty name', () => {
    const samples = samplesOf(PAGE, '');
    assert.deepEqual([...samples.keys()], ['up']);
    assert.equal(total(samples, 'up'), 1);
  });

  it('reads escaped names and infinite values', () => {
    const escaped = samplesOf(PAGE, 'q"\\\n');
    assert.deepEqual(escaped.get('requests')?.[0]?.labels['model'], 'q"\\\n');
    assert.equal(total(samplesOf(PAGE, 'a'), 'limit'), Infinity);
  });

  it('returns no samples for an unknown model, and a total of 0', () => {
    assert.equal(samplesOf(PAGE, 'b').size, 0);
    assert.equal(total(samplesOf(PAGE, 'b'), 'requests'), 0);
  });
});

describe('histogramOf', () => {
  it('adds versions and turns cumulative counts into counts per bucket', () => {
    const histogram = histogramOf(samplesOf(PAGE, 'a'), 'took');
    assert.deepEqual(histogram, { bounds: [0.1, 1, Infinity], counts: [11, 2, 3] });
  });

  it('is empty for a metric that the page does not have', () => {
    assert.deepEqual(histogramOf(samplesOf(PAGE, 'a'), 'other'), EMPTY);
  });
});

describe('since', () => {
  const before = { bounds: [1, 2], counts: [1, 5] };

  it('subtracts the earlier counts', () => {
    assert.deepEqual(since({ bounds: [1, 2], counts: [4, 5] }, before).counts, [3, 0]);
  });

  it('counts a bucket that is new as a whole', () => {
    assert.deepEqual(since({ bounds: [1, 2, 3], counts: [1, 5, 2] }, before).counts, [0, 0, 2]);
    assert.deepEqual(since(before, EMPTY).counts, [1, 5]);
  });

  it('returns the later counts when the server restarted in between', () => {
    const now = { bounds: [1, 2], counts: [2, 1] };
    assert.deepEqual(since(now, before), now);
  });
});

describe('quantile', () => {
  it('interpolates inside the bucket, as histogram_quantile() does', () => {
    const histogram = { bounds: [1, 2, 4, Infinity], counts: [0, 10, 10, 0] };
    assert.equal(quantile(histogram, 0.5), 2);
    assert.equal(quantile(histogram, 0.25), 1.5);
    assert.equal(quantile(histogram, 0.75), 3);
    assert.equal(quantile({ bounds: [4, Infinity], counts: [10, 0] }, 0.5), 2);
  });

  it('returns the last finite bound for values beyond it', () => {
    assert.equal(quantile({ bounds: [1, 2, Infinity], counts: [0, 1, 9] }, 0.9), 2);
  });

  it('is NaN without any values', () => {
    assert.equal(quantile(EMPTY, 0.5), NaN);
    assert.equal(quantile({ bounds: [1, Infinity], counts: [0, 0] }, 0.5), NaN);
  });
});
