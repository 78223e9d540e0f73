// The drawing of an ensemble: boxes of steps and tensors, lines between them. Its texts change
// without a new drawing. The browser's thread; knows no server.
import { svg } from '../dom.js';
import type { Flow } from './flow.js';
import { layoutOf, type Box, type Wire } from './layout.js';

/** Characters that fit in a box. */
const NAME_MAX = 27;
/** A page has one drawing at a time. */
const ARROW = 'arrow';

/** Texts of a step's box that change. */
export interface StepTexts {
  readonly state: string;
  /** "ready", "partly", "loading", "failed" or "off": the colour of its dot. */
  readonly mood: string;
  readonly numbers: string;
}

export interface Graph {
  readonly element: SVGElement;
  /** `at`: the place of the step in the flow. */
  setStep(at: number, texts: StepTexts): void;
  /** `type`: such as "FP32[?, 4]". */
  setTensor(at: number, type: string): void;
}

const cut = (text: string): string =>
  text.length <= NAME_MAX ? text : `${text.slice(0, NAME_MAX - 1)}…`;

const line = (box: Box, up: number, name: string, text: string): SVGTextElement =>
  svg('text', { class: name, x: box.x, y: box.y + up, 'text-anchor': 'middle' }, text);

const frame = (box: Box, name: string, radius: number): SVGElement =>
  svg('rect', {
    class: name,
    ...{ x: box.x - box.width / 2, y: box.y - box.height / 2, rx: radius },
    ...{ width: box.width, height: box.height },
  });

/** Curves that leave and reach each point upright. */
function pathOf({ points }: Wire): string {
  const [first = [0, 0], ...rest] = points;
  let [x, y] = first;
  const parts = rest.map(([toX, toY]) => {
    const half = (toY - y) / 2;
    const curve = `C${x} ${y + half} ${toX} ${toY - half} ${toX} ${toY}`;
    [x, y] = [toX, toY];
    return curve;
  });
  return `M${first[0]} ${first[1]}${parts.join('')}`;
}

function wireOf(flow: Flow, wire: Wire): SVGElement {
  const step = flow.steps[wire.step];
  const tensor = flow.tensors[wire.tensor] ?? '';
  const links = (wire.isWritten ? step?.writes : step?.reads) ?? [];
  const own = links.filter((link) => link.tensor === tensor).map(({ name }) => name);
  const what = wire.isWritten ? 'written by' : 'read by';
  const said = `${tensor}: ${what} step ${wire.step + 1} (${step?.model ?? ''}) as ${own.join(', ')}`;
  const attributes = { class: 'wire', d: pathOf(wire), 'marker-end': `url(#${ARROW})` };
  return svg('path', attributes, svg('title', {}, said));
}

/** The head of an arrow, which lines end with. */
const arrowHead = (): SVGElement =>
  svg(
    'marker',
    {
      ...{ id: ARROW, viewBox: '0 0 8 8', refX: 7, refY: 4, orient: 'auto' },
      ...{ markerWidth: 6, markerHeight: 6 },
    },
    svg('path', { class: 'head', d: 'M0 0L8 4L0 8z' }),
  );

/** The drawing in one sentence; the table of steps has the rest. */
const titleOf = ({ steps, tensors, inputs, outputs }: Flow, name: string): string =>
  `Steps of the ensemble ${name}: ${steps.length} steps and ${tensors.length} tensors, ` +
  `from ${inputs.join(', ')} to ${outputs.join(', ')}. The table of steps has the same.`;

export function graphOf(flow: Flow, name: string): Graph {
  const { width, height, boxes, wires } = layoutOf(flow);
  const types: SVGElement[] = [];
  const steps: { dot: SVGElement; state: SVGElement; numbers: SVGElement }[] = [];
  const outer = new Set([...flow.inputs, ...flow.outputs]);
  const drawn = boxes.map((box) => {
    if (box.kind === 'tensor') {
      const tensor = flow.tensors[box.index] ?? '';
      const type = line(box, 12, 'type', '');
      types[box.index] = type;
      return svg(
        'g',
        { class: outer.has(tensor) ? 'value outer' : 'value' },
        svg('title', {}, tensor),
        frame(box, 'box', box.height / 2),
        line(box, -4, 'label', cut(tensor)),
        type,
      );
    }
    const { model = '' } = flow.steps[box.index] ?? {};
    const dot = svg('circle', {
      class: 'mood',
      cx: box.x - box.width / 2 + 12,
      cy: box.y - 17,
      r: 4,
    });
    const state = line(box, 3, 'state', '');
    const numbers = line(box, 21, 'amount', '');
    steps[box.index] = { dot, state, numbers };
    const label = line(box, -13, 'label', cut(`${box.index + 1}. ${model}`));
    const title = svg('title', {}, model);
    return svg('g', { class: 'step' }, title, frame(box, 'box', 8), dot, label, state, numbers);
  });
  const element = svg(
    'svg',
    {
      class: 'flow',
      ...{ width, height, viewBox: `0 0 ${width} ${height}` },
      ...{ role: 'img', 'aria-label': titleOf(flow, name) },
    },
    svg('defs', {}, arrowHead()),
    ...wires.map((wire) => wireOf(flow, wire)),
    ...drawn,
  );
  return {
    element,
    setStep: (at, { state, mood, numbers }) => {
      const texts = steps[at];
      if (texts === undefined) return;
      texts.dot.setAttribute('class', `mood ${mood}`);
      texts.state.textContent = cut(state);
      texts.numbers.textContent = numbers;
    },
    setTensor: (at, type) => {
      const text = types[at];
      if (text !== undefined) text.textContent = cut(type);
    },
  };
}
