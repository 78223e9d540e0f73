// Structures of models: steps and slots as the configuration has them, the drawing of an ensemble
// (no box covers another one, lines run downwards and past the boxes), a step's model in the list.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  flowOf,
  sequencesOf,
  type Flow,
  type ModelConfig,
} from '../../../../ts/server/console/page/structure/flow.js';
import { stepEntry } from '../../../../ts/server/console/page/structure/ensemble-view.js';
import { graphOf } from '../../../../ts/server/console/page/structure/graph.js';
import {
  layoutOf,
  type Box,
  type Layout,
} from '../../../../ts/server/console/page/structure/layout.js';
import { fakeOf, installFakeDocument } from './fake-dom.js';

installFakeDocument();

const CONFIG: ModelConfig = {
  input: [{ name: 'IN' }],
  output: [{ name: 'OUT' }],
  ensemble_scheduling: {
    step: [
      { model_name: 'b', model_version: '3', input_map: { x: 'a' }, output_map: { y: 'OUT' } },
      { model_name: 'a', model_version: -1, input_map: { x: 'IN' }, output_map: { y: 'a' } },
    ],
  },
};

/** Each step reads some of the tensors before it and writes one. */
function flowOfReads(reads: readonly (readonly number[])[]): Flow {
  const steps = reads.map((of, at) => ({
    model: `m${at}`,
    version: '',
    reads: of.map((tensor) => ({ name: `x${tensor}`, tensor: `t${tensor}` })),
    writes: [{ name: 'y', tensor: `t${at + 1}` }],
  }));
  const tensors = Array.from({ length: reads.length + 1 }, (_, at) => `t${at}`);
  return { steps, tensors, inputs: ['t0'], outputs: [tensors.at(-1) ?? ''] };
}

const covers = (a: Box, b: Box): boolean =>
  Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < (a.height + b.height) / 2;

function check({ boxes, wires, width, height }: Layout): void {
  for (const [at, one] of boxes.entries()) {
    for (const other of boxes.slice(at + 1))
      assert.ok(!covers(one, other), JSON.stringify([one, other]));
    assert.ok(one.x - one.width / 2 >= 0 && one.x + one.width / 2 <= width);
    assert.ok(one.y - one.height / 2 >= 0 && one.y + one.height / 2 <= height);
  }
  for (const { points } of wires) {
    for (const [at, [, y]] of points.slice(1).entries()) assert.ok(y > (points[at]?.[1] ?? y));
    // A point inside a row, which a line passes upright.
    for (const [x, y] of points.slice(1, -1)) {
      for (const box of boxes) {
        const isInside =
          Math.abs(box.x - x) < box.width / 2 && Math.abs(box.y - y) < box.height / 2;
        assert.ok(!isInside, JSON.stringify([box, x, y]));
      }
    }
  }
}

describe('the steps of an ensemble', () => {
  it('are those of its configuration, with versions and tensors', () => {
    const flow = flowOf(CONFIG);
    assert.deepEqual(flow?.tensors, ['IN', 'OUT', 'a']);
    assert.deepEqual(
      flow.steps.map(({ model, version }) => [model, version]),
      [
        ['b', '3'],
        ['a', ''],
      ],
    );
    assert.deepEqual(flow.steps[0]?.reads, [{ name: 'x', tensor: 'a' }]);
    assert.equal(flowOf({}), undefined);
    assert.equal(flowOf(undefined), undefined);
  });

  it('are drawn below each other in the order of their tensors', () => {
    const layout = layoutOf(flowOf(CONFIG) ?? flowOfReads([]));
    const y = (kind: Box['kind'], index: number): number =>
      layout.boxes.find((box) => box.kind === kind && box.index === index)?.y ?? NaN;
    const down = [y('tensor', 0), y('step', 1), y('tensor', 2), y('step', 0), y('tensor', 1)];
    assert.deepEqual(
      down,
      [...down].sort((a, b) => a - b),
    );
    assert.equal(layout.wires.length, 4);
    check(layout);
  });

  it('have no box over another one and no line through a box, in random ensembles', () => {
    let state = 12_345;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let round = 0; round < 200; round += 1) {
      const reads = Array.from({ length: 1 + random(9) }, (_, at) => [
        ...new Set(Array.from({ length: 1 + random(3) }, () => random(at + 1))),
      ]);
      const layout = layoutOf(flowOfReads(reads));
      assert.equal(layout.boxes.length, reads.length * 2 + 1);
      assert.equal(layout.wires.length, reads.flat().length + reads.length, JSON.stringify(reads));
      check(layout);
    }
  });

  it('are drawn with names in full as titles, texts that change, and a text of the whole', () => {
    const graph = graphOf(flowOf(CONFIG) ?? flowOfReads([]), 'e');
    const drawing = fakeOf(graph.element);
    assert.match(
      drawing.attributes.get('aria-label') ?? '',
      /ensemble e: 2 steps and 3 tensors, from IN to OUT/,
    );
    const titles = drawing.all('title').map(({ text }) => text);
    assert.ok(titles.includes('IN: read by step 2 (a) as x'), titles.join());
    assert.ok(titles.includes('OUT: written by step 1 (b) as y'), titles.join());
    const wires = drawing.all('path').filter((one) => one.attributes.get('class') === 'wire');
    assert.equal(wires.length, 4);
    graph.setStep(1, { state: 'v1 · ready', mood: 'ready', numbers: '3 requests' });
    graph.setStep(7, { state: '', mood: '', numbers: '' });
    assert.equal(
      drawing.all('circle').filter((dot) => dot.attributes.get('class') === 'mood ready').length,
      1,
    );
  });

  it('are looked up in the namespace of the ensemble first', () => {
    const models = ['m', 'one::m', 'two::m'].map((name) => ({ name, ready: true, versions: [] }));
    assert.equal(stepEntry(models, 'one::e', 'm')?.name, 'one::m');
    assert.equal(stepEntry(models, 'e', 'm')?.name, 'm');
    assert.equal(stepEntry(models, 'three::e', 'm')?.name, 'm');
    assert.equal(stepEntry(models, 'e', 'n'), undefined);
  });
});

describe('the slots of sequences', () => {
  it('are the rows of each instance, or the candidates of each instance', () => {
    const direct = { max_batch_size: 4, sequence_batching: {} };
    assert.deepEqual(sequencesOf(direct), { strategy: 'direct', slots: 4, idleSeconds: 1 });
    const oldest = {
      max_batch_size: 4,
      instance_group: [{ count: 2 }, { kind: 'KIND_GPU', count: 1, gpus: [0, 1] }],
      sequence_batching: {
        max_sequence_idle_microseconds: '30000000',
        oldest: { max_candidate_sequences: 3 },
      },
    };
    assert.deepEqual(sequencesOf(oldest), { strategy: 'oldest', slots: 12, idleSeconds: 30 });
    assert.equal(sequencesOf({ sequence_batching: {} })?.slots, 1);
    assert.equal(sequencesOf({}), undefined);
  });
});
