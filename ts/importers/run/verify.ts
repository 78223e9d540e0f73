// Verifies a loaded tabular model, before it is served, against the records in its own file: each
// record is sent as a request and the response is compared. Control plane, main thread. Source: the
// PMML standard's "Model Verification"; JPMML's VerificationUtil.
import { ErrorCode, ServalError } from '../../base/errors.js';
import { WARMUP_END_MS } from '../../base/limits.js';
import type { EngineControl } from '../../model/engine-api.js';
import { V2_GRPC } from '../../model/request-kinds.js';
import type { Verification, VerifiedOutput, VerifiedRecord } from '../plan/verification.js';
import { readInferAnswer, type Value } from '../../model/infer/response.js';
import { encodeInferRequest } from '../../model/infer/request.js';
import { LENGTH_BYTES, rawStrings, type Tensor } from '../../model/infer/tensor.js';

/**
 * All values are texts: the model converts them to its fields' types. Missing values are omitted.
 */
function requestOf({ inputs, expected }: VerifiedRecord): Uint8Array {
  const tensors = [...inputs].map(([name, text]): Tensor => {
    const bytes = Buffer.from(text);
    const raw = rawStrings([bytes], LENGTH_BYTES + bytes.length);
    return { name, datatype: 'BYTES', shape: [1], raw };
  });
  return encodeInferRequest(tensors, [...expected.keys()]);
}

/** Converts the engine's text, "29/02/2024 23:15:00", to ISO 8601. */
function isoTimestamp(text: string): string {
  return text.replace(/^(\d\d)\/(\d\d)\/(\d{4}) /, '$3-$2-$1T');
}

function equalNumbers(
  expected: number,
  actual: number,
  { precision, zeroThreshold }: VerifiedOutput,
): boolean {
  if (Math.abs(expected) <= zeroThreshold && Math.abs(actual) <= zeroThreshold) return true;
  const bounds = [expected * (1 - precision), expected * (1 + precision)];
  return actual >= Math.min(...bounds) && actual <= Math.max(...bounds);
}

const TRUE = /^(true|1|1\.0)$/i;
const FALSE = /^(false|0|0\.0)$/i;

function isEqual(expected: string, actual: Value, output: VerifiedOutput): boolean {
  switch (typeof actual) {
    case 'undefined':
      return false;
    case 'string':
      return expected === actual || expected === isoTimestamp(actual);
    case 'boolean':
      return (actual ? TRUE : FALSE).test(expected.trim());
    default:
      // Blank text is not the number zero.
      return expected.trim() !== '' && equalNumbers(Number(expected), Number(actual), output);
  }
}

function shown(value: Value): string {
  if (value === undefined) return 'a missing value';
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function* faultsOf(
  { expected }: VerifiedRecord,
  answer: ReadonlyMap<string, Value>,
  outputs: readonly VerifiedOutput[],
): Generator<string> {
  for (const output of outputs) {
    const text = expected.get(output.name);
    const actual = answer.get(output.name);
    if (text === undefined || isEqual(text, actual, output)) continue;
    const isNumber = typeof actual === 'number' || typeof actual === 'bigint';
    const wanted = isNumber ? `${text} (precision ${output.precision})` : shown(text);
    yield `'${output.name}': expected ${wanted}, got ${shown(actual)}`;
  }
}

/** After this many faults, no further record is run. */
const FAULTS_MAX = 20;

/**
 * Differences from the records, counted from record 1: "record 3: 'y': expected 1.5 (precision
 * 1e-6), got 1.6". Errors: those of `warmUp` that are not the record's fault.
 */
async function findFaults(
  engine: Pick<EngineControl, 'warmUp'>,
  handle: number,
  { outputs, records }: Verification,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const [i, record] of records.entries()) {
    const place = `record ${i + 1}`;
    try {
      const answer = await engine.warmUp(handle, V2_GRPC, requestOf(record), signal);
      for (const fault of faultsOf(record, readInferAnswer(answer), outputs)) {
        faults.push(`${place}: ${fault}`);
      }
    } catch (error) {
      if (signal.aborted) throw tooLong(`${place} of ${records.length}`);
      if (!(error instanceof ServalError) || !isOfRecord(error)) throw error;
      faults.push(`${place}: refused: ${error.message}`);
    }
    if (faults.length >= FAULTS_MAX) break;
  }
  return faults;
}

const isOfRecord = ({ code }: ServalError): boolean => code === ErrorCode.InvalidArgument;

function tooLong(place: string): ServalError {
  const why = `${place}: the verification took too long`;
  return new ServalError(ErrorCode.DeadlineExceeded, why);
}

/**
 * Runs all records, up to a maximum number of faults. Errors: ModelInvalid that lists the faults;
 * DeadlineExceeded.
 */
export async function verify(
  engine: Pick<EngineControl, 'warmUp'>,
  handle: number,
  verification: Verification,
  msMax = WARMUP_END_MS,
): Promise<void> {
  const late = AbortSignal.timeout(msMax);
  const faults = await findFaults(engine, handle, verification, late);
  if (faults.length === 0) return;
  const rest = faults.length < FAULTS_MAX ? '' : '; later records were not run';
  throw new ServalError(
    ErrorCode.ModelInvalid,
    `the model's results differ from its own verification records: ${faults.join('; ')}${rest}`,
  );
}
