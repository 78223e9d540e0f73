// Reads the counts of Triton's rate limiter. Control plane, start-up only; pure. Source:
// --rate-limit-resource of tritonserver.
import { echo } from '../../base/text.js';
import { configError } from './values.js';

const FLAG = '--rate-limit-resource';
/** Stands for every device, and for global resources. */
const EVERY_DEVICE = -1;
const COUNT_MAX = 2 ** 32 - 1;

/** Whether a value of --rate-limit turns the rate limiter on. */
export function isRateLimited(mode: 'off' | 'execution_count'): boolean {
  return mode === 'execution_count';
}

/**
 * Parses NAME:COUNT and NAME:COUNT:DEVICE. Returns the engine's form: lines of COUNT DEVICE NAME.
 * Errors: InvalidArgument: another form, or a count that is there twice.
 */
export function rateLimitResources(texts: readonly string[]): string {
  const seen = new Set<string>();
  return texts
    .map((text) => {
      const [, name = '', count = '', device] =
        /^([^:\n]+):(\d{1,10})(?::(\d{1,4}))?$/.exec(text) ?? [];
      if (name === '' || Number(count) > COUNT_MAX) {
        throw configError(FLAG, `expected NAME:COUNT or NAME:COUNT:DEVICE, got ${echo(text)}`);
      }
      const key = `${device ?? EVERY_DEVICE} ${name.toLowerCase()}`;
      if (seen.has(key)) throw configError(FLAG, `${echo(text)} sets a count for the second time`);
      seen.add(key);
      return `${count} ${device ?? EVERY_DEVICE} ${name}`;
    })
    .join('\n');
}
