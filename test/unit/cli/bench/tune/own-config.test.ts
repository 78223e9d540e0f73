// A config.pbtxt with settings replaced: only those are removed, in any form.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mergedConfig } from '../../../../../ts/cli/bench/tune/own-config.js';
import { parseTritonConfig } from '../../../../../ts/models/config/triton-config.js';

const BASE = `# max_batch_size: 1 is a comment
name: "m" # { not a bracket
max_batch_size : 8;
input [ { name: 'x # "y' data_type: TYPE_FP32 dims: [ -1 ] }, { name: "two" " parts" } ]
instance_group { count: 4 }
instance_group < count: 1 >
dynamic_batching { preferred_batch_size: [ 2, 4 ] # }
  max_queue_delay_microseconds: 9 }
parameters { key: "intra_op_thread_count" value { string_value: "4" } }
parameters { key: "execution_mode" value { string_value: "1\\" }" } }
`;

describe('mergedConfig', () => {
  it('leaves a configuration as it is where nothing is set', () => {
    assert.equal(mergedConfig(BASE, {}), BASE);
    assert.equal(mergedConfig(BASE, {}, ['a\nnote']), `# a note\n${BASE}`);
    assert.equal(mergedConfig('', {}), '\n');
  });

  it('cuts what is set, and nothing else', () => {
    const merged = mergedConfig(BASE, { instances: 2, threads: 1, maxBatchSize: 16 });
    assert.equal(merged.match(/instance_group/g)?.length, 1);
    assert.equal(merged.match(/^max_batch_size/gm)?.length, 1);
    assert.match(merged, /^max_batch_size: 16$/m);
    assert.doesNotMatch(merged, /preferred_batch_size|string_value: "4"/);
    for (const kept of ["'x # \"y'", '"two" " parts"', 'execution_mode', '# { not a bracket']) {
      assert.ok(merged.includes(kept), kept);
    }
    const some = mergedConfig(BASE, { instances: 2 });
    assert.ok(some.includes('max_batch_size : 8;') && some.includes('string_value: "4"'));
    assert.ok(some.includes('preferred_batch_size: [ 2, 4 ]'));
  });

  it('gives what the server reads', () => {
    const base = 'name: "m", max_batch_size: 4\ninstance_group [ { count: 3 } ]\n';
    const text = mergedConfig(base, { instances: 2, maxBatchSize: 8, threads: 3 }, ['note']);
    const { config, problems } = parseTritonConfig(text, 'config.pbtxt');
    assert.deepEqual(problems, []);
    assert.equal(Number(config?.['max_batch_size']), 8);
    assert.equal(config?.['name'], 'm');
  });

  it('refuses what is no text proto, with its line', () => {
    for (const text of ['name: "m"\n{', 'x', 'a: [ {', 'a: "b', 'a: }', '\n\n: 3']) {
      assert.throws(() => mergedConfig(text, {}), /config\.pbtxt:\d: expected a field/, text);
    }
  });
});
