// Groups the flags of `serve` by subject, for help pages and the manual. Control plane; pure.
import type { FlagRow } from '../../config/values/flag-row.js';

export interface FlagGroup {
  readonly title: string;
  readonly rows: readonly FlagRow[];
}

/** The first group that matches a flag's name contains it. */
const GROUPS: readonly (readonly [title: string, names: RegExp])[] = [
  ['Keys and access', /^(api-key|open-groups|allow-remote|allow-client|admin-|cors-)/],
  ['Keys and access', /(-restricted-|enable-cors)/],
  ['TLS', /(^tls-|-use-ssl|ssl-config|^grpc-server-|^grpc-root-cert)/],
  ['Batching and warm-up', /(batch|warmup)/],
  ['Models and versions', /^(model-|load-|saved-model|settle-|reload-|version-|exit-on-error)/],
  ['Models and versions', /(-poll-|labels|-load-|auto-complete|^platform-config)/],
  ['Logs', /^(access-log|log-)/],
  ['Logs of requests', /^request-log/],
  ['Metrics', /(metrics|^monitoring)/],
  ['Traces', /^trace-/],
  ['Ports', /^(host|http-|allow-|reuse-|grpc-address|grpc-port|max-connections)/],
  ['gRPC', /^grpc-/],
  ['Limits', /(-max$|^memory-limit|timeout)/],
  ['How models run', /^(exec-|inline-|instances|int(ra|er)-op|graph-|providers|onnxruntime)/],
];
const OTHERS = 'More';
const ORDER = [
  ...['Models and versions', 'Ports', 'How models run', 'Batching and warm-up', 'Limits', 'TLS'],
  ...['Keys and access', 'gRPC', 'Logs', 'Logs of requests', 'Metrics', 'Traces', OTHERS],
];

export function groupOf(name: string): string {
  return GROUPS.find(([, names]) => names.test(name))?.[0] ?? OTHERS;
}

/** In the order of ORDER, without empty groups. */
export function grouped(rows: readonly FlagRow[]): readonly FlagGroup[] {
  const groups = ORDER.map((title) => ({
    title,
    rows: rows.filter((row) => groupOf(row.name) === title),
  }));
  return groups.filter((group) => group.rows.length > 0);
}
