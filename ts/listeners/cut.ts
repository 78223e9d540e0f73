// Requests that a drain cut off: the report of both kinds of listener. Types only; control plane.

/** Requests that a drain cut off: their total, and the number per model, by name. */
export interface Cut {
  readonly requests: number;
  readonly models: Readonly<Record<string, number>>;
}

export const NOTHING_CUT: Cut = { requests: 0, models: {} };
