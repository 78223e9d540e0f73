// Parses the files in proto/wire. Build time only.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'wire');

// Health, reflection and protobuf's own types have the file names that other programs know.
const KNOWN_AS = {
  'any.proto': 'google/protobuf/any.proto',
  'wrappers.proto': 'google/protobuf/wrappers.proto',
  'health.proto': 'grpc/health/v1/health.proto',
  'reflection.proto': 'grpc/reflection/v1/reflection.proto',
  'reflection_v1alpha.proto': 'grpc/reflection/v1alpha/reflection.proto',
};

/** Returns the name under which a file is imported and returned to clients. */
export const knownAs = (source) => KNOWN_AS[source] ?? source;

const FIELD_MAX = 536_870_911;

/**
 * Returns whether all field numbers of a message are reserved: its contents are opaque. Server
 * reflection leaves such fields out.
 */
export const isOpaque = (type) =>
  type?.reserved?.some((range) => range[0] === 1 && range[1] === FIELD_MAX) === true;

/**
 * Parses a file, and then its imports, into `root`, each once. Returns its package, its imports,
 * and the names it declares itself: the names of one package may come from several files.
 */
export function parseInto(root, source, parsed = new Set()) {
  const text = readFileSync(join(folder, source), 'utf8');
  const alone = protobuf.parse(text, new protobuf.Root(), { keepCase: true });
  const imports = alone.imports ?? [];
  if (!parsed.has(source)) {
    parsed.add(source);
    protobuf.parse(text, root, { keepCase: true });
    for (const imported of imports) {
      const file = Object.keys(KNOWN_AS).find((name) => KNOWN_AS[name] === imported) ?? imported;
      parseInto(root, file, parsed);
    }
  }
  const own = alone.root.lookup(alone.package).nestedArray.map((one) => one.name);
  return { package: alone.package, imports, own };
}
