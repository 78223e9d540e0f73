// TensorFlow's data types by the names that goldens use ("DT_FLOAT").
import type { Dtype } from '../../../../ts/importers/tensorflow/types.js';

const PREFIX = 'DT_';

/** "DT_FLOAT" -> "float". */
export function dtypeOfCode(code: string): Dtype {
  if (!code.startsWith(PREFIX)) throw new Error(`goldens: unknown data type ${code}`);
  return code.slice(PREFIX.length).toLowerCase() as Dtype;
}
