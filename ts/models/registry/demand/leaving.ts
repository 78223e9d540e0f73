// Decides which versions that were loaded on demand leave memory for one that must come: those of
// the lowest priority first, and of these the least recently used. Pure;
// ts/models/registry/demand/on-demand.ts calls it. Control plane.
import { STAYS_MS } from '../../../base/limits.js';

/** A loaded version that may leave. Times on the registry's clock. */
export interface Resident {
  readonly place: number;
  readonly bytes: number;
  readonly loadedAtMs: number;
  /** Its last request, or its load. */
  readonly usedAtMs: number;
  /** Requests wait for it or run. */
  readonly isBusy: boolean;
  /** It never leaves. */
  readonly pin: boolean;
  /** It stays until it had no request for this long. */
  readonly minIdleMs: number;
  /** It stays longer than those with a lower one. */
  readonly priority: number;
}

export interface Memory {
  /** Bytes of models that cannot leave. */
  readonly held: number;
  /** Bytes of loads under way, whose models can leave later. Absent: 0. */
  readonly coming?: number;
  readonly needs: number;
  readonly limit: number;
}

export interface Leaving {
  readonly fits: boolean;
  /** Those that leave so that it fits. */
  readonly leave: readonly Resident[];
  /** It would not fit even if every version left that is not pinned. */
  readonly isHopeless: boolean;
}

const byOrder = (a: Resident, b: Resident): number =>
  a.priority - b.priority || a.usedAtMs - b.usedAtMs;

/** A version that came within STAYS_MS stays: versions do not push each other out in turn. */
export function whoLeaves(residents: readonly Resident[], memory: Memory, nowMs: number): Leaving {
  const { held, coming = 0, needs, limit } = memory;
  const bytesOf = (some: readonly Resident[]): number =>
    some.reduce((sum, { bytes }) => sum + bytes, 0);
  let excess = held + coming + needs + bytesOf(residents) - limit;
  const leave: Resident[] = [];
  const movable = residents.filter((one) => !one.pin);
  const free = movable.filter(
    (one) =>
      !one.isBusy && nowMs - one.loadedAtMs >= STAYS_MS && nowMs - one.usedAtMs >= one.minIdleMs,
  );
  for (const one of [...free].sort(byOrder)) {
    if (excess <= 0) break;
    leave.push(one);
    excess -= one.bytes;
  }
  const isHopeless = held + needs + bytesOf(residents) - bytesOf(movable) > limit;
  return excess <= 0
    ? { fits: true, leave, isHopeless: false }
    : { fits: false, leave: [], isHopeless };
}
