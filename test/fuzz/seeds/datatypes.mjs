// V2's datatypes in the order in which the targets' first byte numbers them. Test time only.
import { readFileSync } from 'node:fs';
import { readSchema } from '../../../proto/engine-schema.mjs';

const schema = new URL('../../../proto/engine.fbs', import.meta.url);
const { values } = readSchema(readFileSync(schema, 'utf8')).enums.find(
  ({ name }) => name === 'DType',
);
// The types after this one are for tabular models only.
const LAST = 'Bf16';
const last = values.findIndex(({ name }) => name === LAST);

/** Without Invalid, which is 0. */
export const DATATYPES = values.slice(1, last + 1).map(({ name }) => name.toUpperCase());
