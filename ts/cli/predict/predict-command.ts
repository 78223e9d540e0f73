// `serval predict PATH|URL`: one call of a model, in this process without a server or at a URL.
// Control plane, main thread.
import { parseFlags, type ParsedFlags } from '../../config/command-line.js';
import type { FlagRow } from '../../config/values/flag-row.js';
import { boolValue, configError, intValue, textValue } from '../../config/values/values.js';
import type { Written } from '../../config/values/values.js';
import { ErrorCode } from '../../base/errors.js';
import { loadModelWith } from '../../library/load-model.js';
import { MODEL_SETTINGS } from '../../library/settings.js';
import type { InputInfo, Inputs } from '../../library/types.js';
import { headerOf } from '../header-flag.js';
import { asUsage, UsageError } from '../usage.js';
import { answerJson, answerText } from './answer-text.js';
import { BATCH, PREDICT_FLAGS, SEED } from './flags.js';
import { randomInputs, randomNumbers, readInputs, type Row } from './inputs.js';
import { openRemote, remoteTarget, type Callable } from './remote.js';

const isUrl = (text: string): boolean => /^(https?|grpcs?):\/\//i.test(text);

/** Returns the exit code. Errors: UsageError; those of loadModel() and infer(), or of the URL. */
export async function predictCommand(args: readonly string[]): Promise<number> {
  const cwd = process.cwd();
  const flags = await asUsage(() => parseFlags(args, cwd, PREDICT_FLAGS));
  const [target, ...others] = flags.positional;
  if (target === undefined || others.length > 0) {
    const message = `predict: expected one PATH or URL, got ${flags.positional.length}`;
    throw new UsageError(ErrorCode.InvalidArgument, message);
  }
  const given = await asUsage(() => settingsOf(flags));
  const model = await openTarget(target, given, flags.settings);
  try {
    const inputs = await asUsage(() => inputsOf(model, given, cwd));
    const began = performance.now();
    const outputs = await model.infer(inputs, {
      ...(given.outputs.length > 0 && { outputs: given.outputs }),
    });
    const ms = performance.now() - began;
    const { name, version } = model;
    const answered = { model: name, version, ms, outputs };
    process.stdout.write(given.json ? answerJson(answered) : answerText(answered));
    return 0;
  } finally {
    await model.close();
  }
}

interface PredictSettings {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly random: boolean;
  readonly json: boolean;
  readonly batch: number;
  readonly seed: number;
  readonly model: string | undefined;
  readonly version: string | undefined;
  readonly signature: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

function settingsOf({ settings }: ParsedFlags): PredictSettings {
  const list = (name: string): readonly string[] => settings.get(name)?.texts ?? [];
  const bool = (name: string): boolean => {
    const written = settings.get(name);
    return written !== undefined && boolValue(written);
  };
  const text = (name: string): string | undefined => {
    const written = settings.get(name);
    return written && textValue(written);
  };
  const int = (row: FlagRow): number =>
    intValue(row, settings.get(row.name) ?? { where: row.name, texts: [row.default], folder: '' });
  return {
    inputs: list('input'),
    outputs: list('output'),
    random: bool('random'),
    json: bool('json'),
    batch: int(BATCH),
    seed: int(SEED),
    model: text('model'),
    version: text('model-version'),
    signature: text('signature'),
    headers: Object.fromEntries(list('header').map(headerOf)),
  };
}

async function openTarget(
  target: string,
  { model, version, signature, headers }: PredictSettings,
  written: ReadonlyMap<string, Written>,
): Promise<Callable> {
  if (isUrl(target)) {
    const at = await asUsage(() => remoteTarget(target, model, version));
    return openRemote(at, headers, signature);
  }
  const quiet: [string, Written] = [
    'log-level',
    { where: 'log-level', texts: ['error'], folder: '' },
  ];
  const own = [...written].filter(([name]) => MODEL_SETTINGS.includes(name));
  return loadModelWith(target, { name: model, version, signature }, new Map([quiet, ...own]));
}

/** Errors: InvalidArgument: an input without a value, bad texts and files. */
function inputsOf(
  model: Callable,
  { inputs: texts, random, batch: rows, seed }: PredictSettings,
  folder: string,
): Inputs | readonly Row[] {
  const { inputs: infos, isTable } = model;
  const given = readInputs(texts, infos, folder);
  if (Array.isArray(given)) return given as readonly Row[];
  const missing = infos.filter((one) => !Object.hasOwn(given, one.name));
  if (random) {
    const drawn = randomInputs(missing, { rows, next: randomNumbers(seed), isTable });
    return { ...drawn, ...(given as Inputs) };
  }
  if (texts.length === 0 && infos.length > 0) {
    const wanted = missing.map(infoText).join(', ');
    throw configError('predict', `expected --input NAME=VALUE for ${wanted}; or --random`);
  }
  return given;
}

const infoText = ({ name, datatype, shape, unknownRank }: InputInfo): string =>
  `${name} ${datatype} [${unknownRank ? '...' : shape.map((dim) => (dim < 0 ? '?' : dim)).join(',')}]`;
