// Converts flags of TensorFlow Serving and Triton whose setting has another name or form in Serval.
// Control plane, start-up only; pure. Source: server/src/command_line_parser.cc; README of Triton's
// ONNX Runtime backend.
import { echo } from '../../base/text.js';
import { configError, switchOf, type Written } from '../values/values.js';
import { metricsConfig } from './metrics-config.js';
import type { GivenPeerFlag, TakenPeerFlags } from './peers.js';

type Given = GivenPeerFlag & { readonly text: string };

/** Triton's backends that Serval has; "" = all. */
const BACKENDS = ['', 'onnxruntime', 'tensorflow'];
/** Backend settings (canonical names) and the equivalent flags. */
const BACKEND_SETTINGS: Readonly<Record<string, string>> = {
  'default-max-batch-size': 'default-max-batch-size',
  'intra-op-thread-count': 'intra-op-threads',
  'inter-op-thread-count': 'inter-op-threads',
};
/** Serval always shares one pool among all models. */
const GLOBAL_POOL = 'enable-global-threadpool';

/** Errors: InvalidArgument naming the flag. */
export function mappedSettings(given: readonly Given[], folder: string): TakenPeerFlags {
  const settings = new Map<string, Written>();
  const ignored: string[] = [];
  const set = (name: string, where: string, text: string): void => {
    settings.set(name, { where, texts: [text], folder });
  };
  for (const one of given) {
    switch (one.flag.name) {
      case 'tensorflow-session-parallelism':
        set('intra-op-threads', one.where, one.text);
        break;
      case 'backend-config':
        ignored.push(...backendConfig(one, set));
        break;
      case 'cache-config':
        set('response-cache-byte-size', one.where, cacheSize(one));
        break;
      default: // the flags of metrics and of the log are handled below
    }
  }
  const ofMetrics = given.filter((one) => one.flag.name === 'metrics-config');
  ignored.push(...metricsConfig(ofMetrics, set));
  const level = logLevel(given);
  if (level !== undefined) set('log-level', level.where, level.text);
  return { settings, ignored };
}

/** Returns Triton's four log switches as a level; undefined: none was given. */
function logLevel(given: readonly Given[]): { where: string; text: string } | undefined {
  const last = (name: string): Given | undefined => given.findLast((one) => one.flag.name === name);
  const flags = [
    { flag: last('log-verbose'), level: 'debug', standard: false },
    { flag: last('log-info'), level: 'info', standard: true },
    { flag: last('log-warning'), level: 'warn', standard: true },
    { flag: last('log-error'), level: 'error', standard: true },
  ];
  const where = flags.find(({ flag }) => flag !== undefined)?.flag?.where;
  if (where === undefined) return undefined;
  const on = flags.map(({ flag, standard }) => (flag === undefined ? standard : isOn(flag)));
  const first = on.indexOf(true);
  const gap = first < 0 ? -1 : on.indexOf(false, first);
  if (gap >= 0) {
    const [off, above] = [flags[gap], flags[first]];
    const expected = `expected true, because "${above?.level}" is on and levels include those above`;
    throw configError(off?.flag?.where ?? where, `${expected}; POST v2/logging sets each alone`);
  }
  return { where, text: flags[first]?.level ?? 'off' };
}

/** Reads a switch, or a number of which 1 and above mean on. */
function isOn({ text, where, flag }: Given): boolean {
  const value = switchOf(text) ?? (/^\d{1,9}$/.test(text) ? Number(text) > 0 : undefined);
  if (value !== undefined) return value;
  const expected = flag.value === 'N' ? 'a whole number of 0 or more' : 'true or false';
  throw configError(where, `expected ${expected}, got ${echo(text)}`);
}

/** Returns the size of Triton's local cache; its others are in other processes. */
function cacheSize({ text, where }: Given): string {
  const size = /^local,size=(\d+)$/.exec(text)?.[1];
  if (size !== undefined) return size;
  throw configError(where, `expected local,size=BYTES, got ${echo(text)}`);
}

/** Parses `backend,setting=value` or `setting=value`. Returns the parts that have no effect. */
function backendConfig(
  { text, where }: Given,
  set: (name: string, where: string, text: string) => void,
): readonly string[] {
  const [, backend = '', setting = '', value = ''] =
    /^(?:([^,=]+),)?([^=,]+)=(.+)$/s.exec(text) ?? [];
  if (setting === '') {
    throw configError(where, `expected BACKEND,SETTING=VALUE or SETTING=VALUE, got ${echo(text)}`);
  }
  const at = `${where} ${backend === '' ? setting : `${backend},${setting}`}`;
  if (!BACKENDS.includes(backend)) return [`${at}: that backend is not here`];
  const name = setting.replaceAll('_', '-');
  const ours = Object.hasOwn(BACKEND_SETTINGS, name) ? BACKEND_SETTINGS[name] : undefined;
  if (ours === undefined) {
    const isSo = name === GLOBAL_POOL && switchOf(value) === true;
    return isSo ? [] : [`${at}: there is no such setting here`];
  }
  set(ours, at, value);
  return [];
}
