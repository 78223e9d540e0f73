// Converts Triton's --http-restricted-api and --grpc-restricted-protocol to header rules. Control
// plane, start-up only. Source: Triton's inference protocols page, "Limit endpoint access".
import { digestOf } from './keys.js';
import type { CallGroup } from './groups.js';
import type { HeaderRule } from './policy.js';

/** Triton's names to groups. */
const TRITON_GROUPS: Readonly<Record<string, CallGroup>> = {
  health: 'health',
  metadata: 'metadata',
  inference: 'inference',
  'shared-memory': 'shared-memory',
  'model-config': 'model-config',
  'model-repository': 'control',
  statistics: 'statistics',
  trace: 'tracing',
  logging: 'logging',
};

/** The prefix that Triton puts before the key of a gRPC restriction. */
export const GRPC_HEADER_PREFIX = 'triton-grpc-protocol-';

/** Header names that are also valid gRPC metadata keys. */
const HEADER = /^[0-9a-z_.-]{1,128}$/;

/** Parses `APIS:HEADER=VALUE` items. `problem` throws. */
export function readRestrictions(
  texts: readonly string[],
  prefix: string,
  problem: (message: string) => Error,
): readonly HeaderRule[] {
  const seen = new Set<string>();
  return texts.map((text) => {
    const colon = text.indexOf(':');
    const equals = text.indexOf('=', colon);
    // The value may be a secret, so errors do not repeat it.
    if (colon < 1 || equals < colon + 2 || equals === text.length - 1) {
      throw problem('expected API[,API...]:HEADER=VALUE');
    }
    const header = prefix + text.slice(colon + 1, equals).toLowerCase();
    if (!HEADER.test(header) || header.endsWith('-bin'))
      throw problem(`expected the name of a header, got "${header}"`);
    const groups = text
      .slice(0, colon)
      .split(',')
      .map((written) => {
        const name = written.trim();
        const group = Object.hasOwn(TRITON_GROUPS, name) ? TRITON_GROUPS[name] : undefined;
        if (group === undefined) {
          const known = Object.keys(TRITON_GROUPS).join(', ');
          throw problem(`expected APIs of ${known}, got "${name.slice(0, 64)}"`);
        }
        if (seen.has(name)) throw problem(`"${name}" is restricted twice`);
        seen.add(name);
        return group;
      });
    return { header, digest: digestOf(text.slice(equals + 1)), groups };
  });
}
