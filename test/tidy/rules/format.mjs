// Checks that sources are formatted as `make format` does it. Test time only.
import { format } from '../../../scripts/format.mjs';

// "path:line:col: error: ..." of clang-format, "path format ━━━" of Biome.
const PLACE = /^(?:(\S+?):(\d+):\d+: error|(\S+) format ━)/gm;

/** Returns {skipped: why} if a formatter is missing. */
export function formatted() {
  const { formatted: good, text, missing } = format(true);
  if (missing.length > 0) return { skipped: `${missing.join(' and ')} not there` };
  if (good) return [];
  const places = [...text.matchAll(PLACE)].map((match) => match[1] ?? match[3]);
  const paths = places.length === 0 ? ['.'] : [...new Set(places)];
  return paths.map((path) => ({ path, line: 1, message: 'not formatted: make format' }));
}
