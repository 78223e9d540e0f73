// Handles given flags of TensorFlow Serving and Triton that Serval does not have. Control plane,
// start-up only; loaded only when a command line has such a flag.
import { echo } from '../../base/text.js';
import { configError, type Written } from '../values/values.js';
import { mappedSettings } from './mapped.js';
import { isHarmless, type PeerFlag } from './row.js';
import { TENSORFLOW_SERVING_FLAGS } from './tensorflow-serving.js';
import { TRITON_FLAGS } from './triton.js';

/** A flag of another server as it was given. */
export interface GivenPeerFlag {
  readonly flag: PeerFlag;
  /** "--log_verbose" */
  readonly where: string;
  /** undefined: the flag has no value. */
  readonly text: string | undefined;
}

/** The result of converting other servers' flags. */
export interface TakenPeerFlags {
  /** By Serval's names; settings that were given by those names take precedence. */
  readonly settings: ReadonlyMap<string, Written>;
  /** "--flag: why" */
  readonly ignored: readonly string[];
}

const PEERS = [
  { peer: 'TensorFlow Serving', flags: TENSORFLOW_SERVING_FLAGS },
  { peer: 'Triton', flags: TRITON_FLAGS },
] as const;

/** `name` is canonical. Flags that Serval has too are not peer flags. */
export function findPeerFlag(name: string): PeerFlag | undefined {
  for (const { flags } of PEERS) {
    const found = flags.find((one) => one.name === name);
    if (found !== undefined) return found.state === 'works' ? undefined : found;
  }
  return undefined;
}

/**
 * Returns why a configuration-file key that is another server's flag is refused; undefined: no
 * server has such a flag. `name` is canonical.
 */
export function peerKeyRefusal(name: string): string | undefined {
  const found = findPeerFlag(name);
  if (found === undefined) return undefined;
  const peer = PEERS.find(({ flags }) => flags.includes(found))?.peer ?? '';
  const what = `${name} is a flag of ${peer}'s and no key of this file`;
  switch (found.state) {
    case 'not here':
      return `${what}; not here: ${found.note}`;
    case 'no effect':
      return `${what}; it would have no effect: ${found.note}`;
    default:
      return `${what}; put it on the command line: ${found.note}`;
  }
}

/** Errors: InvalidArgument naming an unsupported flag and what to use instead. */
export function takePeerFlags(given: readonly GivenPeerFlag[], folder: string): TakenPeerFlags {
  const ignored: string[] = [];
  const mapped: (GivenPeerFlag & { readonly text: string })[] = [];
  for (const one of given) {
    const { flag, where } = one;
    const text = one.text ?? (flag.value === 'BOOL' ? 'true' : '');
    if (isHarmless(flag, text)) continue;
    switch (flag.state) {
      case 'no effect':
        ignored.push(`${where}: ${flag.note}`);
        break;
      case 'not here':
        throw configError(where, refusal(flag, text));
      default:
        if (text === '') throw configError(where, `expected ${flag.value} after it`);
        mapped.push({ ...one, text });
    }
  }
  const { settings, ignored: more } = mappedSettings(mapped, folder);
  return { settings, ignored: [...ignored, ...more] };
}

function refusal({ harmless, note }: PeerFlag, text: string): string {
  if (harmless.length === 0) return `not here: ${note}`;
  return `expected ${harmless.join(' or ')}, got ${echo(text)}; not here: ${note}`;
}
