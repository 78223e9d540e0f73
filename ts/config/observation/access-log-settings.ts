// The settings of the access log. Types only; control plane, start-up only.

/** Which requests have lines, as native/stats/access_log.h has it. */
export interface AccessLogSettings {
  readonly oneIn: number;
  readonly errorsOnly: boolean;
  readonly reasons: boolean;
}
