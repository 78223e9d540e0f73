// Generated from proto/wire/any.proto by proto/generate-wire.mjs; do not edit.
import { message, one } from '../schema.js';
import type { MessageSchema } from '../schema.js';

export const ANY: MessageSchema = message('google.protobuf.Any', () => ({
  type_url: one(1, 'string'),
  value: one(2, 'bytes'),
}));
