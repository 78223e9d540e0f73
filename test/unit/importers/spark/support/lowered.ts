// Plans of models in memory, and the problems of those without a plan.
import assert from 'node:assert/strict';
import { ErrorCode, ServalError } from '../../../../../ts/base/errors.js';
import { lowerSpark } from '../../../../../ts/importers/spark/index.js';
import type { TabularSettings } from '../../../../../ts/importers/plan/imported.js';
import type { Plan, Stage } from '../../../../../ts/importers/plan/generated/plan.js';
import { EXPLANATIONS } from '../../../../../ts/model/explanation-names.js';
import { modelFiles, openFiles, type StageSketch } from './model.js';

export async function planOf(
  stage: StageSketch,
  settings: Partial<TabularSettings> = {},
): Promise<Plan> {
  const { plan } = await lowerSpark(openFiles(modelFiles(stage)), settings);
  return plan;
}

/** Expects that the stage is refused; the text of all problems matches each of `messages`. */
export async function refuses(stage: StageSketch, ...messages: readonly RegExp[]): Promise<void> {
  await assert.rejects(planOf(stage), (error: unknown) => {
    assert.ok(error instanceof ServalError, String((error as Error).stack));
    assert.equal(error.code, ErrorCode.ModelInvalid);
    for (const message of messages) assert.match(error.message, message);
    return true;
  });
}

export const stagesOf = ({ block }: Plan): readonly Stage[] => block.stages ?? [];
export const kindsOf = (plan: Plan): string[] => stagesOf(plan).map(({ kind }) => kind);
export const fieldsOf = ({ fields = [] }: Plan): string[] =>
  fields.map(({ name, type }) => `${name}: ${type}`);
const EXPLAINED: ReadonlySet<string> = new Set(EXPLANATIONS);
/**
 * "prediction: double"; in brackets if it is only returned on request. Without those that explain.
 */
export const outputsOf = ({ outputs = [] }: Plan): string[] =>
  outputs
    .filter(({ name }) => !EXPLAINED.has(name))
    .map(({ name, type, extra }) => (extra === true ? `(${name}: ${type})` : `${name}: ${type}`));
