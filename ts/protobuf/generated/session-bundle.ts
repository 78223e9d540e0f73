// Generated from proto/wire/session_bundle.proto by proto/generate-wire.mjs; do not edit.
import { map, message, one, oneOf } from '../schema.js';
import type { MessageSchema } from '../schema.js';

export const SIGNATURES: MessageSchema = message('Signatures', () => ({
  default_signature: one(1, SIGNATURE),
  named_signatures: map(2, 'string', SIGNATURE),
}));

const SIGNATURE: MessageSchema = message('Signature', () => ({
  regression_signature: oneOf('type', 1, REGRESSION_SIGNATURE),
  classification_signature: oneOf('type', 2, CLASSIFICATION_SIGNATURE),
  generic_signature: oneOf('type', 3, GENERIC_SIGNATURE),
}));

const REGRESSION_SIGNATURE: MessageSchema = message('RegressionSignature', () => ({
  input: one(1, TENSOR_BINDING),
  output: one(2, TENSOR_BINDING),
}));

const TENSOR_BINDING: MessageSchema = message('TensorBinding', () => ({
  tensor_name: one(1, 'string'),
}));

const CLASSIFICATION_SIGNATURE: MessageSchema = message('ClassificationSignature', () => ({
  input: one(1, TENSOR_BINDING),
  classes: one(2, TENSOR_BINDING),
  scores: one(3, TENSOR_BINDING),
}));

const GENERIC_SIGNATURE: MessageSchema = message('GenericSignature', () => ({
  map: map(1, 'string', TENSOR_BINDING),
}));

export const ASSET_FILE: MessageSchema = message('AssetFile', () => ({
  tensor_binding: one(1, TENSOR_BINDING),
  filename: one(2, 'string'),
}));
