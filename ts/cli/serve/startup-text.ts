// Output of `serval serve` on stdout once it listens: the table of models, lines to paste, and
// whether it is ready. Pure; control plane.
import { UNIX_PREFIX } from '../../listeners/unix-socket.js';
import { INFERENCE_SERVICE } from '../../base/services.js';
import { GRPC_TYPE } from '../../base/media-types.js';
import type { Policy } from '../../access/policy.js';
import { modelProblem } from '../../models/registry/snapshot-build.js';
import type { ModelSnapshot, RegistrySnapshot, TensorInfo } from '../../model/snapshot.js';
import type { VersionSnapshot } from '../../model/snapshot.js';
import { visible, visibleInJson, visibleJson } from '../../base/text.js';
import { accessFacts, accessText } from './access-text.js';
import { REQUEST_FILE_ELEMENTS_MAX, TRY_MODELS_MAX } from '../../base/limits.js';
import { pictureShape, sampleRequest } from '../../protocols/sample-request.js';
import type { SampleRequest } from '../../protocols/sample-request.js';

export interface Listening {
  readonly host: string;
  /** undefined: disabled; the same for gRPC. */
  readonly httpPort: number | undefined;
  readonly grpcHost: string;
  readonly grpcPort: number | undefined;
  /** The transports that use TLS. */
  readonly tls?: { readonly http: boolean; readonly grpc: boolean; readonly admin: boolean };
  readonly policy?: Policy;
  readonly admin?: { readonly host: string; readonly port: number } | undefined;
  /**
   * The path of a file with a request that is too long to print, by its name; undefined: there is
   * none. Absent: no such files are written.
   */
  readonly requestFile?: (name: string, text: () => string) => string | undefined;
}

const HEADINGS = ['MODEL', 'VERSION', 'STATE', 'FORMAT', 'INPUTS -> OUTPUTS'];
const COLUMN_CHARS_MAX = 60;
/** The log has the full reason of a failed load. */
const REASON_CHARS_MAX = 160;
const REASONS_MAX = 10;
/** Maximum models considered for sample requests. */
const SAMPLED_MODELS_MAX = 1000;
const ANY_ADDRESS = new Set(['0.0.0.0', '::', '']);

/**
 * The complete text for people: table, lines to paste, ready line or problems; with a final
 * newline.
 */
export function startedText(snapshot: RegistrySnapshot, at: Listening): string {
  const samples = pasteLines(snapshot, at);
  const blocks = [modelTable(snapshot)];
  if (samples.length > 0) blocks.push(`try:\n${samples.map((line) => `  ${line}\n`).join('')}`);
  const how = snapshot.ready ? 'serval is ready' : 'serval is serving, but not ready';
  const problems = unreadyReasons(snapshot).map((reason) => `  ${reasonText(reason)}\n`);
  const http = listenerText('HTTP', at.host, at.httpPort, at.tls?.http);
  const grpc = listenerText('gRPC', at.grpcHost, at.grpcPort, at.tls?.grpc);
  const where = `${http}, ${grpc}`;
  const access = at.policy === undefined ? '' : `${accessText(at.policy)}\n`;
  blocks.push(`${access}${how}: ${where}${adminText(at)}\n${problems.join('')}`);
  return blocks.join('\n');
}

function listenerText(name: string, host: string, port: number | undefined, isTls = false): string {
  return port === undefined
    ? `${name} off`
    : `${name} on ${authority(host, port)}${tlsText(isTls)}`;
}

const tlsText = (isTls = false): string => (isTls ? ' (TLS)' : '');

function adminText({ admin, tls }: Listening): string {
  if (admin === undefined) return '';
  const isUnix = admin.host.startsWith(UNIX_PREFIX);
  const where = isUnix ? admin.host : authority(admin.host, admin.port);
  return `, control and metrics on ${where}${tlsText(tls?.admin)} only`;
}

/** The same for machines: one JSON line, whose event is "ready" only if the server is. */
export function startedJson(snapshot: RegistrySnapshot, at: Listening, pid: number): string {
  const { host, httpPort, grpcHost, grpcPort, policy, admin } = at;
  const http = httpPort === undefined ? null : { host, port: httpPort };
  const grpc = grpcPort === undefined ? null : { host: grpcHost, port: grpcPort };
  const access = policy === undefined ? {} : { access: accessFacts(policy) };
  const where = { http, grpc, admin, ...access, pid };
  const line = snapshot.ready
    ? { event: 'ready', ...where }
    : { event: 'started', ready: false, problems: unreadyReasons(snapshot), ...where };
  return `${visibleJson(line)}\n`;
}

/** Why the server is not ready; empty if it is. */
function unreadyReasons(snapshot: RegistrySnapshot): readonly string[] {
  if (snapshot.ready) return [];
  const unready = Object.values(snapshot.models)
    .filter((model) => model.defaultVersion === undefined)
    .map((model) => `model '${model.name}': ${modelProblem(model)}`);
  const left = unready.length - REASONS_MAX;
  const more = left > 0 ? [`${left} more models`] : [];
  return [...snapshot.faults, ...unready.slice(0, REASONS_MAX), ...more];
}

/** One line per version; the last column has the reason of a failed one. */
export function modelTable(snapshot: RegistrySnapshot): string {
  const rows = [HEADINGS];
  for (const model of Object.values(snapshot.models)) {
    for (const version of model.versions) {
      const failed = version.errorMessage !== '';
      const last = failed ? reasonText(version.errorMessage) : signatureText(version);
      rows.push([model.name, version.version, version.state, version.format, last]);
    }
    if (model.versions.length > 0) continue;
    rows.push([model.name, '-', '-', '-', reasonText(model.problem || 'no version found')]);
  }
  if (rows.length === 1) return 'no models\n';
  const shown = rows.map((row) => row.map(visible));
  const widths = HEADINGS.map((_, column) =>
    Math.min(COLUMN_CHARS_MAX, Math.max(...shown.map((row) => row[column]?.length ?? 0))),
  );
  const lines = shown.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

function signatureText(version: VersionSnapshot): string {
  const signature = version.signatures[0];
  if (signature === undefined) return '';
  const list = (tensors: readonly TensorInfo[]): string => tensors.map(tensorText).join(', ');
  return `${list(signature.inputs)} -> ${list(signature.outputs)}`.trim();
}

/** "x FP32 [batch,3]"; "?" for a dimension without a name, "[...]" for an unknown rank. */
export function tensorText(tensor: TensorInfo): string {
  return `${tensor.name} ${tensor.datatype} ${shapeText(tensor)}`;
}

export function shapeText(tensor: TensorInfo): string {
  if (tensor.unknownRank) return '[...]';
  const dims = tensor.shape.map((dim, i) => (dim >= 0 ? String(dim) : tensor.symbols[i] || '?'));
  return `[${dims.join(',')}]`;
}

interface Sampled {
  readonly model: ModelSnapshot;
  readonly sample: SampleRequest;
  /** Whether it is short enough for the line. */
  readonly printed: boolean;
}

/**
 * Commands for a limited number of models: each protocol for the model with the shortest request,
 * V2 for the others. Requests that are too long are in files, if those are written; a model whose
 * valid inputs are unknown has none.
 */
export function pasteLines(snapshot: RegistrySnapshot, at: Listening): readonly string[] {
  const sampled: Sampled[] = [];
  let left = at.requestFile === undefined ? 0 : TRY_MODELS_MAX;
  for (const model of Object.values(snapshot.models).slice(0, SAMPLED_MODELS_MAX)) {
    const version = model.versions.find((one) => one.version === model.defaultVersion);
    const signature = version?.signatures[0];
    if (signature === undefined || signature.inputs.length === 0) continue;
    const table = version?.table;
    const short = signature.inputs.some(hasFreePicture)
      ? undefined
      : sampleRequest(signature, table);
    if (short !== undefined) sampled.push({ model, sample: short, printed: true });
    if (short !== undefined || left === 0) continue;
    left -= 1;
    const long = sampleRequest(signature, table, REQUEST_FILE_ELEMENTS_MAX);
    if (long !== undefined) sampled.push({ model, sample: long, printed: false });
  }
  const [first] = [...sampled].sort((a, b) => a.sample.v2.length - b.sample.v2.length);
  if (first === undefined) return [];
  const others = sampled.filter((one) => one !== first).slice(0, TRY_MODELS_MAX - 1);
  const lines = [...modelLines(first, at), ...others.flatMap((one) => v2Lines(one, at))];
  return lines.map(visibleInJson);
}

/** An image of dynamic size: a one-pixel image would not be a realistic input. */
function hasFreePicture(input: TensorInfo): boolean {
  return pictureShape(input) !== undefined && input.shape.slice(1).some((dim) => dim < 0);
}

/** The argument of curl's -d: the body, or the file that contains it; undefined: neither. */
function bodyOf(
  { model, sample, printed }: Sampled,
  at: Listening,
  part: 'v1' | 'v2',
): string | undefined {
  if (printed) return shellQuote(sample[part]);
  const path = at.requestFile?.(`${model.name}.${part}.json`, () => sample[part]);
  return path && shellQuote(`@${path}`);
}

function modelLines(one: Sampled, at: Listening): readonly string[] {
  const { grpcPort, tls } = at;
  const overHttp = [...curlLines(one, at, 'v1'), ...v2Lines(one, at)];
  if (grpcPort === undefined) return overHttp;
  const address = authority(at.grpcHost, grpcPort);
  const lines = [...overHttp, grpcCurlLine(`${schemeOf(tls?.grpc)}://${address}`)];
  return [...lines, ...grpcLines(one, at, address)];
}

function grpcLines(
  { model, sample, printed }: Sampled,
  at: Listening,
  address: string,
): readonly string[] {
  if (sample.grpc === undefined) return [];
  const body = (): string => `{"model_name":${JSON.stringify(model.name)},${sample.grpc}}`;
  const plain = at.tls?.grpc === true ? '' : '-plaintext ';
  const call = `${shellQuote(address)} ${INFERENCE_SERVICE}/ModelInfer`;
  if (printed) return [`grpcurl ${plain}-d ${shellQuote(body())} ${call}`];
  const path = at.requestFile?.(`${model.name}.grpc.json`, body);
  return path === undefined ? [] : [`grpcurl ${plain}-d @ ${call} < ${shellQuote(path)}`];
}

const v2Lines = (one: Sampled, at: Listening): readonly string[] => curlLines(one, at, 'v2');

function curlLines(one: Sampled, at: Listening, part: 'v1' | 'v2'): readonly string[] {
  const { host, httpPort, tls } = at;
  const body = httpPort === undefined ? undefined : bodyOf(one, at, part);
  if (body === undefined || httpPort === undefined) return [];
  const name = encodeURIComponent(one.model.name);
  const path = part === 'v1' ? `/v1/models/${name}:predict` : `/v2/models/${name}/infer`;
  return [
    `curl -d ${body} ${shellQuote(`${schemeOf(tls?.http)}://${authority(host, httpPort)}${path}`)}`,
  ];
}

const schemeOf = (isTls = false): string => (isTls ? 'https' : 'http');

/**
 * gRPC with curl alone: sends an empty message (five zero bytes) to ServerReady. The response's
 * last two bytes, 08 01, mean that it is ready.
 */
function grpcCurlLine(url: string): string {
  const headers = `-H 'content-type: ${GRPC_TYPE}' -H 'te: trailers'`;
  const target = shellQuote(`${url}/${INFERENCE_SERVICE}/ServerReady`);
  return (
    `printf '\\0\\0\\0\\0\\0' | curl -s --http2-prior-knowledge ${headers} ` +
    `--data-binary @- ${target} | od -An -tx1`
  );
}

/** host:port as a client on this machine writes it. */
function authority(host: string, port: number): string {
  const name = ANY_ADDRESS.has(host) ? 'localhost' : host;
  return name.includes(':') ? `[${name}]:${port}` : `${name}:${port}`;
}

/** Adds single quotes if the shell would interpret it otherwise. */
export function shellQuote(text: string): string {
  if (/^[A-Za-z0-9_./:@%+,-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function reasonText(message: string): string {
  const line = visible(message.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim());
  return line.length > REASON_CHARS_MAX ? `${line.slice(0, REASON_CHARS_MAX)}...` : line;
}
