// The settings of the request log. Control plane, start-up only. Types and names; data only.

export const REQUEST_LOG_FORMATS = ['json', 'raw', 'tfrecord'] as const;
export type RequestLogFormat = (typeof REQUEST_LOG_FORMATS)[number];

/** Values of each tensor in a line; Infinity: all. 0: none, and no member that has them. */
export type ValuesMax = number;

export interface RequestLogSettings {
  /** Where all models' requests go; undefined: only models.config says what is logged. */
  readonly folder: string | undefined;
  /** 0 .. 1 */
  readonly sampling: number;
  readonly format: RequestLogFormat;
  readonly values: ValuesMax;
  readonly fileMb: number;
  readonly filesMax: number;
}
