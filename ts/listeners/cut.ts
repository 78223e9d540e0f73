// Requests that a drain cut: what listeners of both kinds report. Types only; control plane.

/** What a drain had to cut: how many requests, and of those the models have, by name. */
export interface Cut {
  readonly requests: number;
  readonly models: Readonly<Record<string, number>>;
}

export const NOTHING_CUT: Cut = { requests: 0, models: {} };
