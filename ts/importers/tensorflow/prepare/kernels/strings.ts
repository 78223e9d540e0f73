// Interpreter kernels for strings. Importer's worker thread. Source:
// tensorflow/core/kernels/{string_join_op,as_string_op}.
import { modelInvalid } from '../../../../base/errors.js';
import { elementCount } from '../../../../model/shape.js';
import { attributeOf, textAttribute } from '../attributes.js';
import type { Kernel, Kernels } from '../interpreter.js';
import { latin1, numbersOf, stringsOf, stringsTensor } from '../tensors.js';
import { tensorInput, tensorInputs } from './inputs.js';

const join: Kernel = (call) => {
  const tensors = tensorInputs(call, 0);
  const separator = textAttribute(call.node.attributes, 'separator');
  const shape = tensors.find((tensor) => tensor.shape.length > 0)?.shape ?? [];
  const count = elementCount(shape);
  const lists = tensors.map((tensor) => {
    const isScalar = tensor.shape.length === 0;
    if (!isScalar && tensor.shape.join() !== shape.join()) throw modelInvalid('shapes differ');
    return { isScalar, values: stringsOf(tensor).map(latin1) };
  });
  call.session.spend(count * lists.length);
  const joined = Array.from({ length: count }, (_, index) => {
    const parts = lists.map(({ isScalar, values }) => values[isScalar ? 0 : index] ?? '');
    call.session.spend(parts.reduce((sum, part) => sum + part.length, 0));
    return bytesOfLatin1(parts.join(separator));
  });
  return [stringsTensor(shape, joined)];
};

const asString: Kernel = (call) => {
  const input = tensorInput(call, 0);
  const { attributes } = call.node;
  const width = attributeOf(attributes, 'width', 'int') ?? -1n;
  if (width !== -1n || textAttribute(attributes, 'fill') !== '')
    throw modelInvalid('width and fill are not supported');
  if (!/^(u?int\d+|bool)$/.test(input.dtype)) throw modelInvalid(`of ${input.dtype}`);
  call.session.spend(elementCount(input.shape));
  const texts = numbersOf(input).map((value) =>
    input.dtype === 'bool' ? (value ? 'true' : 'false') : String(value),
  );
  return [stringsTensor(input.shape, texts.map(bytesOfLatin1))];
};

/** Patterns that are plain texts, with an optional end of the text. */
const PLAIN_PATTERN = /^([\w\-/ ]+)(\$?)$/;

const replace: Kernel = (call) => {
  const input = tensorInput(call, 0);
  const { attributes } = call.node;
  const pattern = textAttribute(attributes, 'pattern');
  const [, found, end] = PLAIN_PATTERN.exec(pattern) ?? [];
  const rewrite = textAttribute(attributes, 'rewrite');
  if (found === undefined || rewrite.includes('\\')) {
    throw modelInvalid(`the pattern ${JSON.stringify(pattern)} is not supported while loading`);
  }
  const isGlobal = attributeOf(attributes, 'replace_global', 'bool') ?? true;
  const expression = new RegExp(`${found}${end ?? ''}`, isGlobal ? 'g' : '');
  const texts = stringsOf(input).map((bytes) => {
    call.session.spend(bytes.length);
    return bytesOfLatin1(latin1(bytes).replace(expression, () => rewrite));
  });
  return [stringsTensor(input.shape, texts)];
};

function bytesOfLatin1(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'));
}

export const STRING_KERNELS: Kernels = {
  StringJoin: join,
  AsString: asString,
  StaticRegexReplace: replace,
};
