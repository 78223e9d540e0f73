// `serval import PATH --out FILE [--signature NAME]`: writes a TensorFlow model as ONNX files that
// any ONNX runtime reads, unless they need Serval's own operators; a tabular model as its plan.
// Control plane, main thread.
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { parseFlags } from '../../config/command-line.js';
import { localPath } from '../../config/values/model-path.js';
import { textValue } from '../../config/values/values.js';
import { ErrorCode, ServalError } from '../../base/errors.js';
import type { ImportedGraph, ImportedModel } from '../../importers/tensorflow/imported.js';
import { importTensorFlow } from '../../importers/tensorflow/index.js';
import { blockedText } from '../../importers/run/imported-spec.js';
import { visible } from '../../base/text.js';
import { tabularFormat } from '../../importers/run/model-files.js';
import type { FoundModel, FoundVersion } from '../../models/registry/sources/repository.js';
import { allowsRandom, findOne, served, tagsOf } from '../inspect/inspect-command.js';
import { IMPORT_FLAGS } from '../model-flags.js';
import { asUsage, UsageError } from '../usage.js';

/**
 * Returns the exit code: 1 if a signature could not be written. Errors: UsageError; those of the
 * import.
 */
export async function importCommand(args: readonly string[]): Promise<number> {
  const cwd = process.cwd();
  const flags = await asUsage(() => parseFlags(args, cwd, IMPORT_FLAGS));
  const value = async (name: string): Promise<string | undefined> => {
    const written = flags.settings.get(name);
    return written && (await asUsage(() => textValue(written)));
  };
  const [path, ...others] = flags.positional;
  const out = await value('out');
  if (path === undefined || others.length > 0 || out === undefined) {
    const got = `${flags.positional.length} and ${out === undefined ? 'no' : 'a'} --out`;
    throw new UsageError(
      ErrorCode.InvalidArgument,
      `import: expected one PATH and --out FILE, got ${got}`,
    );
  }
  const tags = await asUsage(() => tagsOf(flags.settings.get('saved-model-tags')));
  const at = resolve(cwd, out);
  const full = await asUsage(() => localPath(cwd, path, 'PATH'));
  const found = await findOne(full);
  const version = served(found, full);
  if (tabularFormat(version.format) !== undefined) return writePlan(found, version, at);
  if (version.format !== 'tensorflow') {
    throw new ServalError(
      ErrorCode.InvalidArgument,
      `${version.path}: is ${version.format} already`,
    );
  }
  const allowRandom = await asUsage(() => allowsRandom(flags.settings.get('allow-random')));
  const choice = { tags, allowRandom, signature: await value('signature') };
  return writeModel(version.path, at, choice);
}

/** Errors: InvalidArgument. */
function checkFolderOf(out: string): void {
  if (existsSync(dirname(out))) return;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `${out}: expected a file in an existing folder, got ${dirname(out)}`,
  );
}

/** Writes a tabular model as the plan that the engine runs. */
async function writePlan(model: FoundModel, version: FoundVersion, out: string): Promise<number> {
  checkFolderOf(out);
  const { withImported } = await import('../inspect/tabular-report.js');
  const table = await withImported(model, version, (imported) => {
    copyFileSync(imported.plan, out);
    return imported;
  });
  const { fields, outputs, stages } = table;
  const counts = [
    counted(fields, 'field'),
    counted(outputs, 'output'),
    counted(stages, 'stage kind'),
  ].join(', ');
  process.stdout.write(`${visible(out)}  plan of a ${table.format} model: ${counts}\n`);
  for (const warning of table.warnings) process.stdout.write(`warning: ${visible(warning)}\n`);
  return 0;
}

const counted = ({ length }: readonly unknown[], what: string): string =>
  `${length} ${what}${length === 1 ? '' : 's'}`;

interface ImportChoice {
  readonly tags: readonly string[];
  readonly allowRandom: boolean;
  readonly signature: string | undefined;
}

function writeModel(path: string, out: string, choice: ImportChoice): number {
  const { tags, allowRandom, signature } = choice;
  checkFolderOf(out);
  const model = importTensorFlow(path, {
    workFolder: dirname(out),
    dataFile: `${basename(out)}.data`,
    allowRandom,
    tags,
    ...(signature === undefined ? {} : { signatures: [signature] }),
  });
  checkSignature(model, path, signature);
  const written = new Set<string>();
  for (const graph of model.graphs) {
    const file = fileOf(out, graph, model.graphs.length > 1, written);
    written.add(file);
    writeFileSync(file, graph.onnx);
    const line = `${file}  signature ${graph.signature}${statesText(graph)}`;
    process.stdout.write(`${visible(line)}\n`);
  }
  for (const one of model.blocked) process.stderr.write(`serval: ${visible(blockedText(one))}\n`);
  return model.blocked.length === 0 ? 0 : 1;
}

function checkSignature(model: ImportedModel, path: string, signature: string | undefined): void {
  const known = model.signatureDefs.map(([name]) => name);
  if (signature === undefined || known.includes(signature)) return;
  throw new ServalError(
    ErrorCode.InvalidArgument,
    `${path}: expected one of the signatures ${known.join(', ')}, got ${signature}`,
  );
}

/**
 * "model.onnx", or "model.serving_default.onnx" if there are several; avoids the names in `taken`.
 */
function fileOf(
  out: string,
  { signature }: ImportedGraph,
  several: boolean,
  taken: ReadonlySet<string>,
): string {
  if (!several) return out;
  const extension = extname(out);
  const plain = `${basename(out, extension)}.${signature.replace(/[^\w.-]/g, '_')}`;
  let file = join(dirname(out), `${plain}${extension}`);
  for (let i = 2; taken.has(file); i++) file = join(dirname(out), `${plain}-${i}${extension}`);
  return file;
}

function statesText({ states }: ImportedGraph): string {
  if (states.length === 0) return '';
  const names = states.map(({ inputName, outputName }) =>
    outputName === '' ? inputName : `${inputName} -> ${outputName}`,
  );
  return `; state as inputs and outputs: ${names.join(', ')}`;
}
