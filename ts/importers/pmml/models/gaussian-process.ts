// Lowers GaussianProcessModel to the stage pmml.gaussian_process. Importer's worker thread.
// Source: tabular.md 3.2
import type { GaussianKernel } from '../../plan/generated/stages.js';
import type { Column } from '../../plan/builder.js';
import { arrayNumbers, toNumber } from '../arrays.js';
import type { LowerModel, ModelContext, ModelResult } from '../context.js';
import { type XmlElement, child, children } from '../xml/reader.js';
import { readInstances } from './instances.js';
import { InputList, attempt, neededChild, real } from './reading.js';

const KERNELS: Readonly<Record<string, GaussianKernel>> = {
  RadialBasisKernel: 'squaredExponential',
  ARDSquaredExponentialKernel: 'squaredExponential',
  AbsoluteExponentialKernel: 'absoluteExponential',
  GeneralizedExponentialKernel: 'generalizedExponential',
};

function lambdasOf(kernel: XmlElement, context: ModelContext, fields: number): Float64Array {
  if (kernel.name === 'RadialBasisKernel') {
    return new Float64Array(fields).fill(real(context, kernel, 'lambda', 1));
  }
  const holder = neededChild(context, kernel, 'Lambda');
  const array = holder === undefined ? undefined : neededChild(context, holder, 'Array');
  if (array === undefined) return new Float64Array(fields).fill(1);
  const lambdas = attempt(context, array, new Float64Array(), () => arrayNumbers(array));
  if (lambdas.length === fields) return lambdas;
  const reason = `${lambdas.length} numbers, and ${fields} fields`;
  context.problems.add(context.place(array), reason);
  return new Float64Array(fields).fill(1);
}

function asksForError(model: XmlElement): boolean {
  const list = child(model, 'Output');
  const fields = list === undefined ? [] : children(list, 'OutputField');
  return fields.some((each) => each.attributes['feature'] === 'standardError');
}

export const lowerGaussianProcess: LowerModel = (model, context): ModelResult => {
  if (context.functionName !== 'regression') {
    const reason = `functionName="${context.functionName}" is not supported here`;
    context.problems.add(context.place(model), reason);
  }
  const kernel = model.children.find((each) => Object.hasOwn(KERNELS, each.name));
  const instances = readInstances(model, context);
  const target = context.target?.name ?? '';
  if (kernel === undefined || instances === undefined || !instances.has(target)) {
    const missing = kernel === undefined ? 'kernel' : 'target among the InstanceFields';
    context.problems.add(context.place(model), `has no ${missing}`);
    return {};
  }
  const fields = instances.fields.filter((each) => each !== target);
  const numbers = (name: string): Float64Array =>
    attempt(context, instances.element, new Float64Array(instances.count), () =>
      Float64Array.from(instances.texts(name), (text) => toNumber(text, name)),
    );
  const columns = fields.map((name) => {
    const inputs = new InputList(context);
    inputs.number(name, instances.element);
    return inputs.columns[0] as Column;
  });
  const all = new Float64Array(fields.length * instances.count);
  fields.forEach((name, f) => {
    numbers(name).forEach((value, row) => {
      all[row * fields.length + f] = value;
    });
  });
  const { plan } = context;
  const predicted = plan.column('predicted', 'double');
  const error = asksForError(model) ? [plan.column('standard error', 'double')] : [];
  const attributes = {
    kernel: KERNELS[kernel.name] as GaussianKernel,
    gamma: { real: real(context, kernel, 'gamma', 1) },
    noise_variance: { real: real(context, kernel, 'noiseVariance', 1) },
    degree: { real: real(context, kernel, 'degree', 1) },
    lambdas: lambdasOf(kernel, context, fields.length),
    instances: all,
    targets: numbers(target),
  };
  const place = context.place(model);
  plan.stage('pmml.gaussian_process', columns, [predicted, ...error], attributes, place);
  return { predicted, ...(error[0] === undefined ? {} : { standardError: error[0] }) };
};
