// `serval inspect` of a TensorFlow model: what saved_model_cli prints, plus its operators and
// whether they are supported. Control plane, main thread. Imports the model, serves nothing.
import { importInThread } from '../../importers/run/import-thread.js';
import type { ImportedModel } from '../../importers/tensorflow/imported.js';
import { savedModelTags } from '../../importers/tensorflow/load/saved-model.js';
import type { SignatureDef, TensorInfoDef } from '../../importers/tensorflow/types.js';
import { blockedText, importedSpec } from '../../importers/run/imported-spec.js';
import type { RowsFinding } from '../../model/engine-api.js';
import { rowsText } from '../../model/rows-text.js';
import { rm } from 'node:fs/promises';
import type { ScannedModel, ScannedVersion } from '../../models/registry/sources/repository.js';
import { dtypeName } from '../../protocols/tfserving/documents.js';
import { servalVersion } from '../../base/version.js';

interface TensorReport {
  readonly alias: string;
  /** The tensor in the graph; "" for sparse and composite ones. */
  readonly tensor: string;
  readonly dtype: string;
  /** "[-1,3]", "unknown rank" or "none". */
  readonly shape: string;
}

interface SignatureReport {
  readonly name: string;
  readonly method: string;
  readonly inputs: readonly TensorReport[];
  readonly outputs: readonly TensorReport[];
  readonly served: boolean;
  /** Why not; "" if it is. */
  readonly reason: string;
}

/** Output of `--json`. */
export interface TensorFlowReport {
  readonly name: string;
  readonly version: string;
  readonly versions: readonly string[];
  readonly path: string;
  readonly format: ImportedModel['format'];
  readonly tensorflowVersion: string;
  readonly tags: readonly string[];
  /** All tag sets of the SavedModel. */
  readonly tagSets: readonly (readonly string[])[];
  readonly signatures: readonly SignatureReport[];
  readonly operators: ImportedModel['operators'];
  readonly states: readonly string[];
  readonly weightBytes: number;
  readonly warnings: readonly string[];
  /** By served signature: whether requests of different callers may be batched. */
  readonly rows: readonly RowsFinding[];
}

export interface TensorFlowSettings {
  /** Empty = serve. */
  readonly tags: readonly string[];
  readonly allowRandom: boolean;
  /** --onnxruntime-library. */
  readonly library?: string | undefined;
}

/** Errors: those of the import. */
export async function tensorFlowReport(
  model: ScannedModel,
  version: ScannedVersion,
  { tags, allowRandom, library }: TensorFlowSettings,
): Promise<TensorFlowReport> {
  const { path } = version;
  const answer = await importInThread(
    {
      format: 'tensorflow',
      path,
      tags,
      allowRandom,
      inputs: [],
      outputs: [],
      signatures: [],
      first: '',
      cacheFolder: '',
    },
    { programVersion: servalVersion() },
  );
  const { model: imported, temporaryFolder } = answer;
  let rows: readonly RowsFinding[] = [];
  try {
    if (imported.graphs.length > 0) rows = await rowsOf(model.name, version, imported, library);
  } finally {
    if (temporaryFolder !== '') await rm(temporaryFolder, { recursive: true, force: true });
  }
  return {
    name: model.name,
    version: version.version,
    versions: model.versions.map((one) => one.version),
    path,
    format: imported.format,
    tensorflowVersion: imported.tensorflowVersion,
    tags: imported.tags,
    tagSets: imported.format === 'saved-model' ? savedModelTags(path) : [],
    signatures: imported.signatureDefs.map(([name, def]) => signatureReport(name, def, imported)),
    operators: imported.operators,
    states: imported.states.map((one) => one.name),
    weightBytes: imported.weights.reduce((sum, one) => sum + one.byteLength, 0),
    warnings: imported.warnings,
    rows,
  };
}

/** The engine's findings about the imported graphs. Errors: ModelInvalid, RuntimeUnavailable. */
async function rowsOf(
  name: string,
  { version, path }: ScannedVersion,
  imported: ImportedModel,
  library: string | undefined,
): Promise<readonly RowsFinding[]> {
  const { createEngine } = await import('../../engine/engine.js');
  const engine = await createEngine({ onnxruntimeLibrary: library });
  try {
    const spec = { name, version, backend: 'onnxruntime', path, graphOptimization: 0 } as const;
    const { rows = [] } = await engine.control.load(importedSpec(spec, imported));
    return rows;
  } finally {
    engine.close();
  }
}

function signatureReport(name: string, def: SignatureDef, model: ImportedModel): SignatureReport {
  const blocked = model.blocked.find((one) => one.signature === name);
  const served = model.graphs.some((one) => one.signature === name);
  const reason = blocked === undefined ? (served ? '' : 'not callable') : blockedText(blocked);
  const sorted = (infos: SignatureDef['inputs']): TensorReport[] =>
    [...infos]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([alias, info]) => tensorReport(alias, info));
  return {
    name,
    method: def.methodName,
    inputs: sorted(def.inputs),
    outputs: sorted(def.outputs),
    served,
    reason,
  };
}

function tensorReport(alias: string, info: TensorInfoDef): TensorReport {
  const { shape } = info;
  const dims = shape?.dims.map(({ size }) => size).join(',') ?? '';
  return {
    alias,
    tensor: info.name ?? '',
    dtype: dtypeName(info.dtypeCode) ?? `DT_${info.dtypeCode}`,
    shape: shape === undefined ? 'none' : shape.unknownRank ? 'unknown rank' : `[${dims}]`,
  };
}

const FORMATS: Readonly<Record<ImportedModel['format'], string>> = {
  'saved-model': 'SavedModel',
  'session-bundle': 'session bundle',
  'frozen-graph': 'frozen GraphDef',
  tflite: 'TensorFlow Lite',
};

/** The report for people; with a final newline. Pure. */
export function tensorFlowText(report: TensorFlowReport): string {
  const sets = report.tagSets.map((set) => set.join(',')).join('; ');
  const rows: [string, string][] = [
    ['model', report.name],
    ['version', `${report.version} of ${report.versions.join(', ')}`],
    ['path', report.path],
    ['format', FORMATS[report.format]],
    ['written by', report.tensorflowVersion && `TensorFlow ${report.tensorflowVersion}`],
    ['tags', report.tags.join(',')],
    ['tag sets', sets],
    ['constants', `${report.weightBytes} bytes in files`],
    ['state', report.states.join(', ')],
    ...report.warnings.map((warning): [string, string] => ['warning', warning]),
  ];
  const shown = rows.filter(([, value]) => value !== '');
  const width = Math.max(...shown.map(([key]) => key.length)) + 2;
  const head = shown.map(([key, value]) => `${key.padEnd(width)}${value}\n`).join('');
  const signatures = report.signatures.map((one) =>
    signatureText(
      one,
      report.rows.find(({ signature }) => signature === one.name),
    ),
  );
  return head + signatures.join('') + operatorsText(report.operators);
}

function signatureText(signature: SignatureReport, rows: RowsFinding | undefined): string {
  const side = (title: string, tensors: readonly TensorReport[]): string => {
    const rows = tensors.map((one) =>
      `    ${one.alias}  ${one.dtype}  ${one.shape}  ${one.tensor}`.trimEnd(),
    );
    return `  ${title}\n${rows.join('\n') || '    none'}\n`;
  };
  const { name, method, inputs, outputs, served, reason } = signature;
  const state = served ? '' : `  not served: ${reason}\n`;
  const what = method === '' ? '' : `  ${method}`;
  const together = rows === undefined ? '' : `  rows: ${rowsText(rows)}\n`;
  const head = `signature ${name}${what}\n${state}${together}`;
  return `${head}${side('inputs', inputs)}${side('outputs', outputs)}`;
}

function operatorsText(operators: TensorFlowReport['operators']): string {
  const rows = operators.map(
    ({ op, count, supported }) => `  ${op}  ${count}${supported ? '' : '  not supported'}\n`,
  );
  return `operators\n${rows.join('') || '  none\n'}`;
}
