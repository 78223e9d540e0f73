// Limits of a model's graph during preparation. Each is checked once, with an error that names it.
// Importer's worker thread.

/** Nodes of the main graph and of all used functions, with calls inlined. */
export const FLAT_NODES_MAX = 300_000;
/** Their inputs, including control inputs. */
export const FLAT_EDGES_MAX = 16_000_000;
/** Characters of their names: an inlined node's name starts with those of its calls. */
export const FLAT_NAME_CHARS_MAX = 268_435_456;
/** Nesting of calls. */
export const CALL_DEPTH_MAX = 256;
/** Elements of one tensor that the interpreter computes. */
export const COMPUTED_ELEMENTS_MAX = 16_777_216;
/** Elements of all tensors that the interpreter computes for one model. */
export const COMPUTED_ELEMENTS_SUM_MAX = 134_217_728;
/** Size of an asset, which is read whole. */
export const ASSET_BYTES_MAX = 1_073_741_824;
/** Entries of one hash table. */
export const TABLE_ENTRIES_MAX = 16_777_216;
/** Nodes that the interpreter runs. */
export const RUN_STEPS_MAX = 4_000_000;
/** Nesting of functions that the interpreter runs. */
export const RUN_DEPTH_MAX = 64;
/** Warnings that are kept; further ones are counted. */
export const WARNINGS_MAX = 32;
