// A caller's W3C tracestate, forwarded unchanged. Control plane, main thread; pure.
import type { TraceState } from '@opentelemetry/api';

/** A read-only state: exporters only serialize it. */
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
