// A fault in one stage of a Spark model. Thrown where a stage is read or lowered; the code that
// walks the stages collects it with the stage's place, so that one load reports all of them.
// Importer's worker thread.

/** The message says what is wrong; the place is added by who catches it. */
export class StageProblem extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StageProblem';
  }
}

/** The value, or a problem. */
export function need<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new StageProblem(message);
  return value;
}

/** For error texts: what a value is, shortly. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = typeof value === 'bigint' ? String(value) : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
