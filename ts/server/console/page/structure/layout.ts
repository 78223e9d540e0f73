// Places the steps and the tensors of an ensemble in rows, from the inputs down to the outputs:
// tensors and steps alternate, and a line that passes rows bends around their boxes. Pure; the
// browser's thread. Method: layers of longest paths, ordered by the mean of their neighbours
// (Sugiyama).
import type { Flow } from './flow.js';

export const STEP = { width: 216, height: 62 } as const;
export const TENSOR = { width: 190, height: 38 } as const;
const BEND = { width: 14, height: 0 } as const;
const GAP_X = 18;
const GAP_Y = 24;
const MARGIN = 6;
const SWEEPS = 6;

/** A box; x and y are its centre, in pixels. */
export interface Box {
  readonly kind: 'step' | 'tensor' | 'bend';
  /** Its place among the flow's steps or tensors. */
  readonly index: number;
  readonly width: number;
  height: number;
  x: number;
  y: number;
}

/** A line from a box to another one, through its points. */
export interface Wire {
  readonly step: number;
  readonly tensor: number;
  /** Whether the step writes the tensor; else it reads it. */
  readonly isWritten: boolean;
  /** The lower end of the first box, both ends of each bend, the upper end of the last box. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly wires: readonly Wire[];
}

interface Rows {
  readonly steps: readonly number[];
  readonly tensors: readonly number[];
}

/** Inputs have row 0, a step the row after its lowest input, a tensor the row after its step. */
function rowsOf({ steps, tensors }: Flow): Rows {
  const rows = new Map(tensors.map((name) => [name, 0]));
  const of = steps.map(() => 1);
  // Each pass settles at least one more step of the longest path. There are no cycles.
  for (let pass = 0; pass < steps.length; pass += 1) {
    for (const [at, { reads, writes }] of steps.entries()) {
      const row = 1 + Math.max(0, ...reads.map(({ tensor }) => rows.get(tensor) ?? 0));
      of[at] = row;
      for (const { tensor } of writes) rows.set(tensor, row + 1);
    }
  }
  return { steps: of, tensors: tensors.map((name) => rows.get(name) ?? 0) };
}

/** Boxes of each row, and the boxes above each box. */
class Grid {
  readonly rows: Box[][] = [];
  readonly above = new Map<Box, Box[]>();
  readonly below = new Map<Box, Box[]>();

  add(row: number, kind: Box['kind'], index: number): Box {
    const size = kind === 'step' ? STEP : kind === 'tensor' ? TENSOR : BEND;
    const box: Box = { kind, index, ...size, x: 0, y: 0 };
    while (this.rows.length <= row) this.rows.push([]);
    this.rows[row]?.push(box);
    this.above.set(box, []);
    this.below.set(box, []);
    return box;
  }

  /** Joins two boxes through a bend in each row between them. Returns all of them. */
  join(from: Box, fromRow: number, to: Box, toRow: number): readonly Box[] {
    const path = [from];
    for (let row = fromRow + 1; row < toRow; row += 1) path.push(this.add(row, 'bend', 0));
    path.push(to);
    for (const [at, box] of path.slice(1).entries()) {
      const upper = path[at];
      if (upper === undefined) continue;
      this.above.get(box)?.push(upper);
      this.below.get(upper)?.push(box);
    }
    return path;
  }

  /** Sets each x near the mean of the neighbours, in the order of these means. */
  arrange(): void {
    for (const row of this.rows) spread(row);
    for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
      const isDown = sweep % 2 === 0;
      const rows = isDown ? this.rows : [...this.rows].reverse();
      const near = isDown ? this.above : this.below;
      for (const row of rows) {
        for (const box of row) box.x = meanX(near.get(box) ?? [], box.x);
        spread(row);
      }
    }
  }
}

const meanX = (boxes: readonly Box[], otherwise: number): number =>
  boxes.length === 0 ? otherwise : boxes.reduce((sum, { x }) => sum + x, 0) / boxes.length;

/** Orders a row by x and moves its boxes apart, as little as the whole row needs. */
function spread(row: Box[]): void {
  row.sort((a, b) => a.x - b.x);
  const before = meanX(row, 0);
  let end = -Infinity;
  for (const box of row) {
    box.x = Math.max(box.x, end + GAP_X + box.width / 2);
    end = box.x + box.width / 2;
  }
  const shift = before - meanX(row, 0);
  for (const box of row) box.x += shift;
}

export function layoutOf(flow: Flow): Layout {
  const { steps, tensors } = rowsOf(flow);
  const grid = new Grid();
  const tensorBoxes = tensors.map((row, index) => grid.add(row, 'tensor', index));
  const stepBoxes = steps.map((row, index) => grid.add(row, 'step', index));
  const paths: { readonly wire: Omit<Wire, 'points'>; readonly path: readonly Box[] }[] = [];
  for (const [step, { reads, writes }] of flow.steps.entries()) {
    const [box, row] = [stepBoxes[step], steps[step] ?? 0];
    for (const [links, isWritten] of [[reads, false] as const, [writes, true] as const]) {
      for (const name of new Set(links.map((link) => link.tensor))) {
        const tensor = flow.tensors.indexOf(name);
        const [other, otherRow] = [tensorBoxes[tensor], tensors[tensor] ?? 0];
        if (box === undefined || other === undefined) continue;
        const path = isWritten
          ? grid.join(box, row, other, otherRow)
          : grid.join(other, otherRow, box, row);
        paths.push({ wire: { step, tensor, isWritten }, path });
      }
    }
  }
  grid.arrange();
  return finished(grid.rows, paths);
}

/** Sets each y, moves everything into positive coordinates, and draws the wires. */
function finished(
  rows: readonly (readonly Box[])[],
  paths: readonly { readonly wire: Omit<Wire, 'points'>; readonly path: readonly Box[] }[],
): Layout {
  const all = rows.flat();
  const left = Math.min(...all.map((box) => box.x - box.width / 2)) - MARGIN;
  let top = MARGIN;
  for (const row of rows) {
    const height = Math.max(...row.map((box) => box.height));
    for (const box of row) {
      box.x -= left;
      box.y = top + height / 2;
      if (box.kind === 'bend') box.height = height;
    }
    top += height + GAP_Y;
  }
  return {
    width: Math.ceil(Math.max(...all.map((box) => box.x + box.width / 2)) + MARGIN),
    height: Math.ceil(top - GAP_Y + MARGIN),
    boxes: all.filter(({ kind }) => kind !== 'bend'),
    wires: paths.map(({ wire, path }) => {
      const last = path.length - 1;
      const points = path.flatMap((box, at): readonly (readonly [number, number])[] => [
        ...(at > 0 ? [[box.x, box.y - box.height / 2] as const] : []),
        ...(at < last ? [[box.x, box.y + box.height / 2] as const] : []),
      ]);
      return { ...wire, points };
    }),
  };
}
