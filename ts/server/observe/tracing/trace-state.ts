// W3C's tracestate of a caller, handed on as it came. Control plane, main thread; pure.
import type { TraceState } from '@opentelemetry/api';

/** One that is only read: exporters write it out. */
export function parseTraceState(text: string): TraceState {
  const members = new Map<string, string>();
  for (const member of text.split(',')) {
    const equals = member.indexOf('=');
    if (equals > 0) members.set(member.slice(0, equals).trim(), member.slice(equals + 1).trim());
  }
  const state: TraceState = {
    get: (key) => members.get(key),
    set: () => state,
    unset: () => state,
    serialize: () => text,
  };
  return state;
}
