// `serval inspect PATH [--json]`: one model's inputs and outputs, and its file's description; for a
// folder of several models, one line each. Control plane, main thread. Loads the model once through
// the engine, serves nothing.
import { resolve } from 'node:path';
import { parseFlags } from '../../config/command-line.js';
import { boolValue, textValue, wordsValue } from '../../config/values/values.js';
import type { Written } from '../../config/values/values.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import { tabularFormat } from '../../importers/run/model-files.js';
import { SAVED_MODEL_TAGS } from '../../model/platforms.js';
import { readOnnxHeader } from '../../importers/onnx/reader.js';
import type { OnnxHeader } from '../../importers/onnx/reader.js';
import type { LoadedModel, RowsFinding } from '../../model/engine-api.js';
import { rowsText } from '../../model/rows-text.js';
import { librarySettings } from '../../models/config/files/operator-libraries.js';
import { modelPath, placeOf, type ModelPath } from '../../config/values/model-path.js';
import { scanSources, type ScanResult } from '../../models/registry/sources/paths/scan-path.js';
import type {
  FoundModel,
  FoundVersion,
  ScannedModel,
  ScannedVersion,
} from '../../models/registry/sources/repository.js';
import type { SignatureInfo, TensorInfo } from '../../model/snapshot.js';
import { visibleJson, visibleTexts } from '../../base/text.js';
import { shapeText } from '../serve/startup-text.js';
import { INSPECT_FLAGS } from '../model-flags.js';
import { asUsage, UsageError } from '../usage.js';

const ONNX_DOMAIN = 'ai.onnx';

/** Output of `--json`. 64-bit numbers are decimal text. */
export interface ModelReport {
  readonly name: string;
  readonly version: string;
  /** All versions found, highest first; `version` is the described one. */
  readonly versions: readonly string[];
  readonly path: string;
  readonly format: string;
  readonly fileBytes: number;
  /** Size including its data in other files. */
  readonly bytes: number;
  readonly irVersion: string;
  readonly opsets: Readonly<Record<string, string>>;
  readonly producer: string;
  readonly producerVersion: string;
  readonly graphName: string;
  readonly domain: string;
  readonly modelVersion: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly signatures: readonly SignatureInfo[];
  /** Whether requests of different callers may be batched. */
  readonly rows: readonly RowsFinding[];
}

/**
 * Returns the exit code. Errors: UsageError; InvalidArgument if PATH contains no model;
 * ModelInvalid, RuntimeUnavailable.
 */
export async function inspectCommand(args: readonly string[]): Promise<number> {
  const cwd = process.cwd();
  const flags = await asUsage(() => parseFlags(args, cwd, INSPECT_FLAGS));
  const [path, ...others] = flags.positional;
  if (path === undefined || others.length > 0) {
    const message = `inspect: expected one PATH, got ${flags.positional.length}`;
    throw new UsageError(ErrorCode.InvalidArgument, message);
  }
  const written = flags.settings.get('json');
  const json = await asUsage(() => isGiven(written));
  const library = flags.settings.get('onnxruntime-library');
  const libraryPath = library && resolve(cwd, await asUsage(() => textValue(library)));
  const given = modelPath(cwd, path);
  const full = placeOf(given);
  const print = <Report>(report: Report, textOf: (report: Report) => string): number => {
    const text = json ? `${visibleJson(report, 2)}\n` : textOf(visibleTexts(report));
    process.stdout.write(text);
    return 0;
  };
  const scan = await scanSources({ paths: [given], modelRepositories: [] });
  if (scan.models.length > 1) {
    const { listedModels, listText } = await import('./model-list.js');
    const problems = visibleTexts(scan.problems);
    return print(await listedModels(scan), (models) => listText(models, problems));
  }
  const model = onlyModel(scan, full);
  const version = served(model, full);
  if (version.format === 'tensorflow') {
    const { tensorFlowReport, tensorFlowText } = await import('./tensorflow-report.js');
    const tags = await asUsage(() => tagsOf(flags.settings.get('saved-model-tags')));
    const allowRandom = await asUsage(() => allowsRandom(flags.settings.get('allow-random')));
    const settings = { tags, allowRandom, library: libraryPath };
    const report = await asItIs(version.path, () => tensorFlowReport(model, version, settings));
    return print(report, tensorFlowText);
  }
  if (tabularFormat(version.format) !== undefined) {
    const { tabularReport, tabularText } = await import('./tabular-report.js');
    return print(await tabularReport(model, version), tabularText);
  }
  if (version.format === 'plan') {
    const { tensorRtReport, tensorRtText } = await import('../gpu/tensorrt-report.js');
    return print(await tensorRtReport(model, version), (report) =>
      tensorRtText(report, signatureText),
    );
  }
  if (version.format === 'ensemble') {
    const { ensembleReport, ensembleText } = await import('./ensemble-report.js');
    return print(ensembleReport(model, version), (report) => ensembleText(report, signatureText));
  }
  const operators = flags.settings.get('operator-libraries');
  const folders = operators?.texts.map((folder) => resolve(cwd, folder)) ?? [];
  return print(await inspectModel(model, version, libraryPath, folders), reportText);
}

/** The described version. Errors: ModelInvalid. */
export function served(model: FoundModel, path: string): FoundVersion {
  const [version] = model.versions;
  if (version !== undefined) return version;
  const why = model.problems.join('; ');
  throw new ServalError(ErrorCode.ModelInvalid, `${path}: no version can be served: ${why}`);
}

/** Value of a flag that defaults to off. */
export const isGiven = (written: Written | undefined): boolean =>
  written !== undefined && boolValue(written);

/** --saved-model-tags: default serve; "" is the set without tags. */
export function tagsOf(written: Written | undefined): readonly string[] {
  return written === undefined ? SAVED_MODEL_TAGS : wordsValue(written);
}

/** --allow-random. */
export const allowsRandom = (written: Written | undefined): boolean =>
  written === undefined || boolValue(written);

/** A model with libraries of custom operators is loaded in its own process, as by a server. */
async function inspectModel(
  model: FoundModel,
  version: FoundVersion,
  library: string | undefined,
  operatorFolders: readonly string[],
): Promise<ModelReport> {
  const header = await headerOf(version.path);
  const { createEngine } = await import('../../engine/engine.js');
  const options = { onnxruntimeLibrary: library, operatorLibraries: operatorFolders };
  const engine = await createEngine(options);
  const libraries = librarySettings(model.config.config, [version.folder, model.basePath]);
  try {
    const loaded = await engine.control.load({
      name: model.name,
      version: version.version,
      backend: 'onnxruntime',
      path: version.path,
      graphOptimization: 0,
      ...libraries,
      ...(libraries.operatorLibraries && { isolation: { mode: 'process', group: '' } }),
    });
    return modelReport(model, version, header, loaded);
  } finally {
    engine.close();
  }
}

/** Errors: ModelInvalid: not an ONNX file, and what it is instead. */
const headerOf = (path: string): Promise<OnnxHeader> => asItIs(path, () => readOnnxHeader(path));

/** Reads the file; an error says what it is by its content, if its name is misleading. */
async function asItIs<Read>(path: string, read: () => Promise<Read>): Promise<Read> {
  try {
    return await read();
  } catch (error) {
    const { foreignFile } = await import('../../importers/run/foreign-files.js');
    const what = await foreignFile(path);
    if (what === undefined) throw error;
    throw new ServalError(ErrorCode.ModelInvalid, `${path}: ${what}`);
  }
}

/** Errors: InvalidArgument if PATH does not contain exactly one model. */
export async function findOne(given: ModelPath): Promise<FoundModel> {
  return onlyModel(await scanSources({ paths: [given], modelRepositories: [] }), placeOf(given));
}

function onlyModel(scan: ScanResult, path: string): FoundModel {
  const [model, ...others] = scan.models;
  if (model !== undefined && others.length === 0) return model;
  const names = scan.models
    .slice(0, 10)
    .map((one) => one.basePath)
    .join(', ');
  const got = model === undefined ? scan.problems.join('; ') : `${scan.models.length}: ${names}`;
  throw new ServalError(ErrorCode.InvalidArgument, `${path}: expected one model, got ${got}`);
}

/** Combines the descriptions of the file and the engine. Pure. */
export function modelReport(
  model: ScannedModel,
  version: ScannedVersion,
  header: OnnxHeader,
  loaded: LoadedModel,
): ModelReport {
  return {
    name: model.name,
    version: version.version,
    versions: model.versions.map((one) => one.version),
    path: version.path,
    format: version.format,
    fileBytes: header.fileBytes,
    bytes: Math.max(header.fileBytes, loaded.fileBytes),
    irVersion: String(header.irVersion),
    opsets: Object.fromEntries(
      header.opsets.map((opset) => [opset.domain || ONNX_DOMAIN, String(opset.version)]),
    ),
    producer: header.producerName,
    producerVersion: header.producerVersion,
    graphName: loaded.graphName,
    domain: header.domain,
    modelVersion: String(header.modelVersion),
    description: header.docString,
    metadata: Object.fromEntries(header.metadata),
    signatures: loaded.signatures,
    rows: loaded.rows ?? [],
  };
}

const sizeText = ({ fileBytes, bytes }: ModelReport): string =>
  bytes === fileBytes
    ? `${bytes} bytes`
    : `${bytes} bytes, ${bytes - fileBytes} of them in other files`;

/** The report for people; with a final newline. Pure. */
export function reportText(report: ModelReport): string {
  const opsets = Object.entries(report.opsets).map(([domain, version]) => `${domain} ${version}`);
  const rows: [string, string][] = [
    ['model', report.name],
    ['version', `${report.version} of ${report.versions.join(', ')}`],
    ['file', report.path],
    ['size', sizeText(report)],
    ['format', `${report.format}, IR ${report.irVersion}, opset ${opsets.join(', ') || 'none'}`],
    ['producer', `${report.producer} ${report.producerVersion}`.trim()],
    ['graph', report.graphName],
    ['description', report.description],
    ...report.rows.map((one): [string, string] => ['rows', rowsText(one)]),
    ...Object.entries(report.metadata).map(([key, value]): [string, string] => [key, value]),
  ];
  const shown = rows.filter(([, value]) => value !== '');
  const width = Math.max(...shown.map(([key]) => key.length)) + 2;
  const head = shown.map(([key, value]) => `${key.padEnd(width)}${value}\n`).join('');
  return head + report.signatures.map(signatureText).join('');
}

const LABELS_SHOWN = 10;

function labelsText(labels: readonly string[]): string {
  const more = labels.length > LABELS_SHOWN ? `, ... ${labels.length} in all` : '';
  return `classes ${labels.slice(0, LABELS_SHOWN).join(', ')}${more}`;
}

function signatureText(signature: SignatureInfo): string {
  const side = (title: string, tensors: readonly TensorInfo[]): string => {
    const rows = tensors.map((one) => {
      const labels = one.labels === undefined ? '' : `  ${labelsText(one.labels)}`;
      return `    ${one.name}  ${one.datatype}  ${shapeText(one)}${labels}\n`;
    });
    return `  ${title}\n${rows.join('') || '    none\n'}`;
  };
  const { name, inputs, optionalInputs = [], outputs } = signature;
  const optional = optionalInputs.length === 0 ? '' : side('optional inputs', optionalInputs);
  return `signature ${name}\n${side('inputs', inputs)}${optional}${side('outputs', outputs)}`;
}
