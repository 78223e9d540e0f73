// Row frames over REST: MLeap's LeapFrame (POST /models/NAME/transform) and CSV (POST
// /v2/models/NAME/csv), for tabular models; CSV also for tensor models with an input per column. A
// thin layer: each becomes a V2 request, and its response a frame. The listener's thread.
import { parseCsv } from '../../base/csv.js';
import { CSV_TYPE, JSON_TYPE } from '../../base/media-types.js';
import { INFERENCE } from '../../access/groups.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type {
  ListenerSnapshots,
  RegistrySnapshot,
  SignatureInfo,
  VersionSnapshot,
} from '../../model/snapshot.js';
import { ofCall, type Route } from '../../listeners/http/listener.js';
import type { Answer } from '../rest/body-route.js';
import {
  askEngine,
  rewrittenRoute,
  type Question,
  type RewriteContext,
} from '../v2/rest-rewritten.js';
import { seenVersion } from '../needs-load.js';
import { lookUp } from '../v2/lookup.js';
import { decodedName, wrongMethod } from '../v2/rest-replies.js';
import { csvColumns, csvTensors, csvText } from './csv.js';
import { answerFrame, frameColumns, parseFrame } from './leap-frame.js';
import { answerColumns, requestText, type AnswerColumn, type RequestColumn } from './tensors.js';

const CSV_UTF8_TYPE = `${CSV_TYPE}; charset=utf-8`;
const FRAME_URL = /^\/models\/([^/]+)\/transform$/;
const CSV_URL = /^\/v2\/models\/([^/]+)(?:\/versions\/([^/]+))?\/csv$/;

type Make = (body: string, question: Question) => Promise<Answer>;

/** undefined: the URL is not this route's. */
export function framesRoute(
  context: RewriteContext,
  { snapshot }: ListenerSnapshots,
  method: string,
  path: string,
): Route | undefined {
  const frame = FRAME_URL.exec(path);
  const match = frame ?? CSV_URL.exec(path);
  if (match === null) return undefined;
  const name = decodedName(match[1] ?? '');
  const version = match[2] === undefined ? undefined : decodedName(match[2]);
  const make: Make = frame === null ? csvAnswer(context) : frameAnswer(context);
  const found = (now: RegistrySnapshot): VersionSnapshot =>
    tableVersion(now, name, version, frame === null);
  const post = (): Route => rewrittenRoute(context, snapshot, found, make);
  return ofCall(INFERENCE, method === 'POST' ? post() : wrongMethod({ POST: post }, method));
}

/**
 * Errors: those of lookUp(); ModelNotReady; NeedsLoad; InvalidArgument: the model is not tabular,
 * and the request is not CSV.
 */
function tableVersion(
  snapshot: RegistrySnapshot,
  name: string,
  versionText: string | undefined,
  isCsv: boolean,
): VersionSnapshot {
  const { version, reason } = lookUp(snapshot, name, versionText);
  if (version === undefined) throw new ServalError(ErrorCode.ModelNotReady, reason);
  if (seenVersion(name, version).table !== undefined || isCsv) return version;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `model '${name.slice(0, 256)}' does not accept frames: only Spark, MLeap and PMML models do`,
  );
}

/** "outputs=a,b": the outputs to return instead of the model's own. */
function outputsOf(query: string): readonly string[] {
  const listed = new URLSearchParams(query).get('outputs') ?? '';
  return listed === '' ? [] : listed.split(',').map((name) => name.trim());
}

/** Errors: those of askEngine() and answerColumns(). */
async function infer(
  { link }: RewriteContext,
  question: Question,
  columns: readonly RequestColumn[],
  rows?: number,
): Promise<readonly AnswerColumn[]> {
  const request = requestText(columns, outputsOf(question.query));
  return answerColumns(await askEngine(link, question, request), rows);
}

const frameAnswer =
  (context: RewriteContext): Make =>
  async (body, question) => {
    const frame = parseFrame(body);
    const columns = await infer(context, question, frameColumns(frame));
    return { contentType: JSON_TYPE, body: answerFrame(frame, columns) };
  };

const NO_SIGNATURE: SignatureInfo = { name: '', inputs: [], outputs: [] };

function noColumns({ inputs }: SignatureInfo): ServalError {
  const shapes = inputs.map(({ name, shape }) => `${name} [${shape.join(', ')}]`);
  return new ServalError(
    ErrorCode.InvalidArgument,
    `CSV: expected a tabular model, or inputs of shape [-1] or [-1, 1]; the model has ` +
      (shapes.join(', ') || 'no inputs'),
  );
}

const csvAnswer =
  (context: RewriteContext): Make =>
  async (body, question) => {
    const { signatures, table } = question.version;
    const csv = parseCsv(body);
    const [signature = NO_SIGNATURE] = signatures;
    const columns =
      table === undefined ? csvTensors(csv, signature) : csvColumns(csv, signature.inputs, table);
    if (columns === undefined) throw noColumns(signature);
    const rows = table === undefined ? csv.rows.length : undefined;
    const answers = await infer(context, question, columns, rows);
    return { contentType: CSV_UTF8_TYPE, body: csvText(answers) };
  };
