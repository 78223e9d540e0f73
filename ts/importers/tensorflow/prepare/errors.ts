// Errors of graph preparation about the model. Importer's worker thread.

const QUOTED_CHARS_MAX = 200;

/** A name from the file, in quotes; long ones are cut. */
export function quoted(name: string): string {
  const shown = name.length > QUOTED_CHARS_MAX ? `${name.slice(0, QUOTED_CHARS_MAX)}...` : name;
  return JSON.stringify(shown);
}
