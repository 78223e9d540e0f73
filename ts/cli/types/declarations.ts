// The TypeScript declarations of a server's models, for the clients of `serval/client`. Pure;
// control plane.
import type { ModelMetadata, TensorInfo } from '../../client/core/types.js';

/** A model as a server describes it. */
export interface DescribedModel {
  readonly metadata: ModelMetadata;
  /** Inputs that a request may omit. */
  readonly optional: ReadonlySet<string>;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** The text of a .d.ts file; `url` is only named in it. Models are sorted by name. */
export function declarationsOf(url: string, models: readonly DescribedModel[]): string {
  const sorted = [...models].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const lines = sorted.flatMap(modelLines);
  return `// Written by \`serval types ${commentText(url)}\`; run it again after the models have changed.
// With the package's client: new V2Client<Models>(url), new GrpcClient<Models>(target).

export interface Models {
${lines.map((line) => `  ${line}\n`).join('')}}
`;
}

function modelLines({ metadata, optional }: DescribedModel): readonly string[] {
  const { name, platform, inputs, outputs } = metadata;
  const tensors = (infos: readonly TensorInfo[]): readonly string[] =>
    infos.map((info) => `    ${keyOf(info.name)}${optionalMark(info)}: ${typeOf(info)};`);
  const optionalMark = (info: TensorInfo): string =>
    inputs.includes(info) && optional.has(info.name) ? '?' : '';
  return [
    ...(platform === '' ? [] : [`/** ${commentText(platform)} */`]),
    `${keyOf(name)}: {`,
    '  inputs: {',
    ...tensors(inputs),
    '  };',
    '  outputs: {',
    ...tensors(outputs),
    '  };',
    '};',
  ];
}

/** Free dimensions are `number`. */
function typeOf({ datatype, shape }: TensorInfo): string {
  const dims = shape.map((dim) => (dim < 0 ? 'number' : String(dim)));
  return `{ datatype: ${JSON.stringify(datatype)}; shape: [${dims.join(', ')}] }`;
}

const keyOf = (name: string): string => (IDENTIFIER.test(name) ? name : JSON.stringify(name));

/** Text that ends neither a comment nor its line. */
const commentText = (text: string): string =>
  text.replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, ' ').replaceAll('*/', '* /');
