// The settings of the request log. Control plane, start-up only. Types and names; data only.

export const REQUEST_LOG_FORMATS = ['json', 'raw', 'tfrecord'] as const;
export type RequestLogFormat = (typeof REQUEST_LOG_FORMATS)[number];

/**
 * Values of each tensor in a line; Infinity: all. 0: none, and the member for values is omitted.
 */
export type ValuesMax = number;

export interface RequestLogSettings {
  /** The folder for all models' requests; undefined: only models.config enables logging. */
  readonly folder: string | undefined;
  /** Fraction of requests, 0 to 1. */
  readonly sampling: number;
  readonly format: RequestLogFormat;
  readonly values: ValuesMax;
  readonly fileMb: number;
  readonly filesMax: number;
}
