// How the tables of plan.fbs lie in bytes. Data only; any thread. Generated from proto/plan.fbs by proto/generate.mjs.
import type { FlatTable } from '../../../model/flat-table.js';
import type * as plan from './plan.js';

const TYPE: readonly string[] = ['any', 'bool', 'int8', 'int16', 'int32', 'int64', 'float', 'double', 'decimal', 'string', 'binary', 'date', 'time', 'timestamp', 'vector', 'list'];

export const VALUE: FlatTable<plan.Value> = { name: 'Value', members: [
  { name: 'type', kind: TYPE },
  { name: 'missing', kind: 'bool', optional: true },
  { name: 'real', kind: 'double', optional: true },
  { name: 'integer', kind: 'bigint', optional: true },
  { name: 'high', kind: 'bigint', optional: true },
  { name: 'precision', kind: 'ubyte', optional: true },
  { name: 'scale', kind: 'ubyte', optional: true },
  { name: 'text', kind: 'string', optional: true },
] };

export const NODE: FlatTable<plan.Node> = { name: 'Node', members: [
  { name: 'call', kind: 'string', optional: true },
  { name: 'arguments', kind: 'uint', many: true, optional: true },
  { name: 'column', kind: 'int', fallback: -1, optional: true },
  { name: 'value', kind: VALUE, optional: true },
] };

export const EXPRESSION: FlatTable<plan.Expression> = { name: 'Expression', members: [
  { name: 'nodes', kind: NODE, many: true },
] };

export const BLOCK: FlatTable<plan.Block> = { name: 'Block', members: [
  { name: 'stages', get kind(): FlatTable { return STAGE; }, many: true },
] };

export const ATTRIBUTE: FlatTable<plan.Attribute> = { name: 'Attribute', members: [
  { name: 'name', kind: 'string' },
  { name: 'reals', kind: 'double', typed: true, many: true, optional: true },
  { name: 'integers', kind: 'int', typed: true, many: true, optional: true },
  { name: 'texts', kind: 'string', many: true, optional: true },
  { name: 'values', kind: VALUE, many: true, optional: true },
  { name: 'expressions', kind: EXPRESSION, many: true, optional: true },
  { name: 'blocks', kind: BLOCK, many: true, optional: true },
] };

export const STAGE: FlatTable<plan.Stage> = { name: 'Stage', members: [
  { name: 'kind', kind: 'string' },
  { name: 'place', kind: 'string' },
  { name: 'inputs', kind: 'uint', many: true },
  { name: 'outputs', kind: 'uint', many: true },
  { name: 'attributes', kind: ATTRIBUTE, many: true },
] };

export const COLUMN: FlatTable<plan.Column> = { name: 'Column', members: [
  { name: 'name', kind: 'string' },
  { name: 'type', kind: TYPE },
  { name: 'element', kind: TYPE, optional: true },
] };

export const FIELD: FlatTable<plan.Field> = { name: 'Field', members: [
  { name: 'name', kind: 'string' },
  { name: 'column', kind: 'uint' },
  { name: 'type', kind: TYPE },
  { name: 'element', kind: TYPE, optional: true },
  { name: 'size', kind: 'int', fallback: -1, optional: true },
  { name: 'any', kind: 'bool', optional: true },
  { name: 'optional', kind: 'bool', optional: true },
  { name: 'precision', kind: 'ubyte', optional: true },
  { name: 'scale', kind: 'ubyte', optional: true },
  { name: 'parseText', kind: 'bool', optional: true },
  { name: 'about', kind: 'string', optional: true },
] };

export const OUTPUT: FlatTable<plan.Output> = { name: 'Output', members: [
  { name: 'name', kind: 'string' },
  { name: 'column', kind: 'uint' },
  { name: 'type', kind: TYPE },
  { name: 'element', kind: TYPE, optional: true },
  { name: 'size', kind: 'int', fallback: -1, optional: true },
  { name: 'extra', kind: 'bool', optional: true },
] };

export const ZONE: FlatTable<plan.Zone> = { name: 'Zone', members: [
  { name: 'name', kind: 'string' },
  { name: 'transitions', kind: 'double', typed: true, many: true },
  { name: 'offsets', kind: 'int', typed: true, many: true },
] };

export const BACKGROUND_FIELD: FlatTable<plan.BackgroundField> = { name: 'BackgroundField', members: [
  { name: 'column', kind: 'uint' },
  { name: 'rows', kind: 'uint' },
  { name: 'reals', kind: 'double', typed: true, many: true },
  { name: 'texts', kind: 'string', many: true, optional: true },
] };

export const PLAN: FlatTable<plan.Plan> = { name: 'Plan', members: [
  { name: 'format', kind: 'string' },
  { name: 'producer', kind: 'string' },
  { name: 'fields', kind: FIELD, many: true },
  { name: 'outputs', kind: OUTPUT, many: true },
  { name: 'columns', kind: COLUMN, many: true },
  { name: 'block', kind: BLOCK },
  { name: 'nanIsMissing', kind: 'bool' },
  { name: 'timezone', kind: 'string' },
  { name: 'lazy', kind: 'bool', optional: true },
  { name: 'zones', kind: ZONE, many: true },
  { name: 'version', kind: 'uint' },
  { name: 'matrix', kind: 'bool', optional: true },
  { name: 'background', kind: BACKGROUND_FIELD, many: true, optional: true },
] };
