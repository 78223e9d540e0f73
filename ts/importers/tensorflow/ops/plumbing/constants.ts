// Constants and placeholders. Importer's worker thread.
import type { Lowering, Operators } from '../../lower/context.js';

const constant: Lowering = (cx) => {
  const attribute = cx.node.attributes.get('value');
  if (attribute?.kind !== 'tensor') return cx.fail('attribute value is missing');
  return cx.constant(attribute.value);
};

const placeholder: Lowering = (cx) =>
  cx.fail('the placeholder is required, but the signature does not feed it');

export const CONSTANTS: Operators = {
  Const: { lower: constant, dtypes: 'any except resource, variant' },
  Placeholder: { lower: placeholder, dtypes: 'any except complex, resource, variant' },
  PlaceholderV2: { lower: placeholder, dtypes: 'any except complex, resource, variant' },
};
