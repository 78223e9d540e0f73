// Expected results in a model's own file: rows and their outputs, which the loader compares. Plain
// data: it is posted from the importer's worker thread and kept in the model cache.

export interface Verification {
  /** Outputs that are compared. */
  readonly outputs: readonly VerifiedOutput[];
  readonly records: readonly VerifiedRecord[];
}

/** PMML's words: numbers are equal within this share of the expected one, and where neither is
 * larger than the threshold. */
export interface VerifiedOutput {
  readonly name: string;
  readonly precision: number;
  readonly zeroThreshold: number;
}

/** Texts by name. What is not there is missing; an output that is not there is not compared. */
export interface VerifiedRecord {
  readonly inputs: ReadonlyMap<string, string>;
  readonly expected: ReadonlyMap<string, string>;
}
