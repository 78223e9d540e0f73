// Generated from proto/wire/wrappers.proto by proto/generate-wire.mjs; do not edit.
import { message, one } from '../schema.js';
import type { MessageSchema } from '../schema.js';

export const INT64_VALUE: MessageSchema = message('Int64Value', () => ({
  value: one(1, 'int64'),
}));

export const STRING_VALUE: MessageSchema = message('StringValue', () => ({
  value: one(1, 'string'),
}));

export const BOOL_VALUE: MessageSchema = message('BoolValue', () => ({
  value: one(1, 'bool'),
}));
