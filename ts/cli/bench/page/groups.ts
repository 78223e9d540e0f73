// Groups a report's points into series for comparison in plots: by path and rows per request.
// Control plane; pure.
import type { BenchLoop, BenchPoint } from '../types.js';
import { grouped, pathWords, rowsWords } from './numbers.js';

export interface Group {
  readonly name: string;
  /** Its colour, the same in every plot of its part of the page. */
  readonly style: number;
  /** Closed loops and open ones, each in ascending order of load. */
  readonly points: readonly BenchPoint[];
}

/** Series plotted together. */
export interface Part {
  /** "" if there is only one part. */
  readonly title: string;
  readonly groups: readonly Group[];
}

const distinct = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];
const asked = (point: BenchPoint): number =>
  point.loop === 'closed' ? point.concurrency : point.rate;

function groupsOf(points: readonly BenchPoint[], said: Said): readonly Group[] {
  const keys = distinct(points.map(keyOf));
  return keys.map((key, index) => {
    const own = points.filter((point) => keyOf(point) === key);
    const sorted = [...own].sort((a, b) => a.loop.localeCompare(b.loop) || asked(a) - asked(b));
    return { name: nameOf(own[0], said), style: index % 8, points: sorted };
  });
}

const keyOf = ({ path, batch }: BenchPoint): string => `${path} ${batch}`;

/** Properties that differ and are therefore part of the name. */
interface Said {
  readonly path: boolean;
  readonly batch: boolean;
}

function nameOf(point: BenchPoint | undefined, said: Said): string {
  if (point === undefined) return '';
  const words = [
    said.path ? pathWords(point.path) : '',
    said.batch ? rowsWords(point.batch) : '',
  ].filter((word) => word !== '');
  return words.length > 0 ? words.join(', ') : pathWords(point.path);
}

/** One series per path; if there are several request sizes too, one part per size. */
export function partsOf(points: readonly BenchPoint[]): readonly Part[] {
  const paths = distinct(points.map(({ path }) => path));
  const batches = distinct(points.map(({ batch }) => batch));
  if (paths.length < 2 || batches.length < 2) {
    const said = { path: paths.length > 1, batch: batches.length > 1 };
    return points.length === 0 ? [] : [{ title: '', groups: groupsOf(points, said) }];
  }
  return [...batches]
    .sort((a, b) => a - b)
    .map((batch) => {
      const own = points.filter((point) => point.batch === batch);
      const title = `Requests of ${rowsWords(batch)}`;
      return { title, groups: groupsOf(own, { path: true, batch: false }) };
    });
}

/** Every series of the report, in any part, by its full name. */
export function allGroups(points: readonly BenchPoint[]): readonly Group[] {
  const several = <T>(value: (point: BenchPoint) => T): boolean =>
    distinct(points.map(value)).length > 1;
  return groupsOf(points, {
    path: true,
    batch: several(({ batch }) => batch),
  });
}

/** Series of one kind of loop; groups without any are omitted. */
export function ofLoop(groups: readonly Group[], loop: BenchLoop): readonly Group[] {
  return groups.flatMap((group) => {
    const points = group.points.filter((point) => point.loop === loop);
    return points.length > 0 ? [{ ...group, points }] : [];
  });
}

/** The point with the most rows per second. */
export function fastest(points: readonly BenchPoint[]): BenchPoint | undefined {
  return points.reduce<BenchPoint | undefined>(
    (best, one) => (one.rowsPerSecond > (best?.rowsPerSecond ?? 0) ? one : best),
    undefined,
  );
}

/** "8 in flight", "500 a second". */
export const askedWords = (point: BenchPoint): string =>
  point.loop === 'closed' ? `${point.concurrency} in flight` : `${grouped(point.rate)} /s sent`;
