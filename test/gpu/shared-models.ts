// The places of TensorFlow Serving's own test models. Test time only.
import { join } from 'node:path';
import { packageRoot } from '../../ts/base/package-files.js';

/** They may be missing. */
export const sharedModels = (): string =>
  process.env['SERVAL_TFSERVING_MODELS'] ??
  join(packageRoot(), '..', 'shared', 'models', 'tfserving');
