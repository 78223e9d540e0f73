// Output of `serval serve` on stdout once it listens: the table of models, lines to paste, and
// whether it is ready. Pure; control plane.
import { UNIX_PREFIX } from '../../listeners/unix-socket.js';
import { INFERENCE_SERVICE } from '../../base/services.js';
import type { Policy } from '../../access/policy.js';
import { modelProblem } from '../../models/registry/snapshot-build.js';
import type { ModelSnapshot, RegistrySnapshot, TensorInfo } from '../../model/snapshot.js';
import type { VersionSnapshot } from '../../model/snapshot.js';
import { visible, visibleInJson, visibleJson } from '../../base/text.js';
import { accessFacts, accessText } from './access-text.js';
import {
  REQUEST_FILE_ELEMENTS_MAX,
  TABLE_VERSIONS_MAX,
  TRY_MODELS_MAX,
} from '../../base/limits.js';
import { pictureShape, sampleRequest } from '../../protocols/sample-request.js';
import type { SampleRequest } from '../../protocols/sample-request.js';

interface HostPort {
  readonly host: string;
  readonly port: number;
}

export interface Listening {
  readonly host: string;
  /** undefined: disabled; the same for gRPC. */
  readonly httpPort: number | undefined;
  readonly grpcHost: string;
  readonly grpcPort: number | undefined;
  /** The transports that use TLS. */
  readonly tls?: { readonly http: boolean; readonly grpc: boolean; readonly admin: boolean };
  readonly policy?: Policy;
  readonly admin?: HostPort | undefined;
  /** The extra address of /metrics; undefined or absent: only HTTP's. */
  readonly metrics?: HostPort | undefined;
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
  const problems = unservedReasons(snapshot).map((reason) => `  ${reasonText(reason)}\n`);
  const http = listenerText('HTTP', at.host, at.httpPort, at.tls?.http);
  const grpc = listenerText('gRPC', at.grpcHost, at.grpcPort, at.tls?.grpc);
  const { metrics } = at;
  const scraped = metrics && `, metrics on ${boundAddress(metrics.host, metrics.port)}`;
  const where = `${http}, ${grpc}${scraped ?? ''}`;
  const access = at.policy === undefined ? '' : `${accessText(at.policy)}\n`;
  blocks.push(`${access}${how}: ${where}${adminText(at)}\n${problems.join('')}`);
  return blocks.join('\n');
}

function listenerText(name: string, host: string, port: number | undefined, isTls = false): string {
  return port === undefined
    ? `${name} off`
    : `${name} on ${boundAddress(host, port)}${tlsText(isTls)}`;
}

const tlsText = (isTls = false): string => (isTls ? ' (TLS)' : '');

function adminText({ admin, tls }: Listening): string {
  if (admin === undefined) return '';
  const isUnix = admin.host.startsWith(UNIX_PREFIX);
  const where = isUnix ? admin.host : boundAddress(admin.host, admin.port);
  return `, control and metrics on ${where}${tlsText(tls?.admin)} only`;
}

/** The same for machines: one JSON line, whose event is "ready" only if the server is. */
export function startedJson(snapshot: RegistrySnapshot, at: Listening, pid: number): string {
  const { host, httpPort, grpcHost, grpcPort, policy, admin, metrics } = at;
  const http = httpPort === undefined ? null : { host, port: httpPort };
  const grpc = grpcPort === undefined ? null : { host: grpcHost, port: grpcPort };
  const access = policy === undefined ? {} : { access: accessFacts(policy) };
  const where = { http, grpc, metrics, admin, ...access, pid };
  const line = snapshot.ready
    ? { event: 'ready', ...where }
    : { event: 'started', ready: false, problems: unservedReasons(snapshot), ...where };
  return `${visibleJson(line)}\n`;
}

/** Everything that is not served, with its reason; faults of the server first. */
function unservedReasons(snapshot: RegistrySnapshot): readonly string[] {
  const reasons = Object.values(snapshot.models).flatMap((model) => reasonsOf(model, snapshot));
  const left = reasons.length - REASONS_MAX;
  const more = left > 0 ? [`${left} more`] : [];
  return [...snapshot.faults, ...reasons.slice(0, REASONS_MAX), ...more];
}

function reasonsOf(model: ModelSnapshot, { ready }: RegistrySnapshot): readonly string[] {
  const { name, versions, problem, defaultVersion } = model;
  const failed = versions
    .filter((one) => one.errorMessage !== '')
    .map(({ version, errorMessage }) => `model '${name}', version ${version}: ${errorMessage}`);
  if (failed.length > 0) return failed;
  if (versions.length === 0) return [`model '${name}': ${problem || 'no version found'}`];
  return ready || defaultVersion !== undefined ? [] : [`model '${name}': ${modelProblem(model)}`];
}

interface Row {
  readonly cells: readonly string[];
  readonly isServed: boolean;
}

/**
 * One line per version. Among many, the failed ones and the first others are listed, and the rest
 * is counted.
 */
export function modelTable(snapshot: RegistrySnapshot): string {
  const all = Object.values(snapshot.models).flatMap(modelRows);
  if (all.length === 0) return 'no models\n';
  const kept = all.length <= TABLE_VERSIONS_MAX ? all : shortened(all);
  const shown = [HEADINGS, ...kept.map(({ cells }) => cells)].map((row) => row.map(visible));
  const widths = HEADINGS.map((_, column) =>
    Math.min(COLUMN_CHARS_MAX, Math.max(...shown.map((row) => row[column]?.length ?? 0))),
  );
  const lines = shown.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const left = all.length - kept.length;
  if (left > 0) lines.push(`... and ${left} more: POST /v2/repository/index lists all`);
  return `${lines.join('\n')}\n`;
}

function modelRows(model: ModelSnapshot): readonly Row[] {
  if (model.versions.length === 0) {
    return [{ cells: [model.name, '-', 'FAILED', '-', '-'], isServed: false }];
  }
  return model.versions.map((version) => {
    const signature = signatureText(version);
    return {
      cells: [model.name, version.version, stateText(version), version.format, signature],
      isServed: version.state === 'AVAILABLE',
    };
  });
}

/** Half of the table may be versions that are not served. */
function shortened(all: readonly Row[]): readonly Row[] {
  const failed = all.filter(({ isServed }) => !isServed);
  const served = all.length - failed.length;
  const most = Math.max(Math.floor(TABLE_VERSIONS_MAX / 2), TABLE_VERSIONS_MAX - served);
  const first = failed.slice(0, most);
  const others = all.filter(({ isServed }) => isServed);
  return [...first, ...others.slice(0, TABLE_VERSIONS_MAX - first.length)];
}

/** END says neither that a load failed nor that a version was unloaded. */
function stateText({ state, errorMessage }: VersionSnapshot): string {
  if (state !== 'END') return state;
  return errorMessage === '' ? 'UNLOADED' : 'FAILED';
}

function signatureText({ signatures }: VersionSnapshot): string {
  const [signature] = signatures;
  if (signature === undefined) return '-';
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
    if (version?.decoupled === true) continue; // /infer and ModelInfer refuse it
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
  const { grpcHost, grpcPort } = at;
  const overHttp = [...curlLines(one, at, 'v1'), ...v2Lines(one, at)];
  if (grpcPort === undefined) return overHttp;
  return [...overHttp, ...grpcLines(one, at, authority(grpcHost, grpcPort))];
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

/** host:port as bound. */
function boundAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host || '0.0.0.0'}:${port}`;
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
