// Ragged batches of a Triton configuration as engine settings. Control plane; pure. Source:
// Triton's ragged_batching.md; v2-protocol.md 3.
import type { BatchInput, BatchInputKind, BatchOutput } from '../../../base/generated/engine.js';
import type { ModelSpec } from '../../../model/engine-api.js';
import { read } from '../../../protobuf/schema.js';
import type { MessageValue } from '../../../protobuf/schema.js';

const KINDS: Readonly<Record<string, BatchInputKind>> = {
  BATCH_ELEMENT_COUNT: 'elementcount',
  BATCH_ACCUMULATED_ELEMENT_COUNT: 'accumulatedelementcount',
  BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO: 'accumulatedelementcountwithzero',
  BATCH_MAX_ELEMENT_COUNT_AS_SHAPE: 'maxelementcountasshape',
  BATCH_ITEM_SHAPE: 'itemshape',
  BATCH_ITEM_SHAPE_FLATTEN: 'itemshapeflatten',
};

/** Whether the server joins requests of different shapes, or computes inputs for each batch. */
export function hasRagged(config: MessageValue | undefined): boolean {
  return (
    read.children(config, 'batch_input').length > 0 ||
    read.children(config, 'batch_output').length > 0 ||
    read.children(config, 'input').some((input) => read.bool(input, 'allow_ragged_batch'))
  );
}

/** `config` has been checked. */
export function raggedSettings(config: MessageValue): Partial<ModelSpec> {
  const batchInputs = read.children(config, 'batch_input').flatMap((one) =>
    read.texts(one, 'target_name').map(
      (input): BatchInput => ({
        input: String(input),
        kind: KINDS[read.text(one, 'kind')] ?? 'elementcount',
        datatype: read.text(one, 'data_type') === 'TYPE_FP32' ? 'FP32' : 'INT32',
        source: String(read.texts(one, 'source_input')[0]),
      }),
    ),
  );
  const batchOutputs = read.children(config, 'batch_output').flatMap((one) =>
    read.texts(one, 'target_name').map(
      (output): BatchOutput => ({
        output: String(output),
        source: String(read.texts(one, 'source_input')[0]),
      }),
    ),
  );
  return {
    ...(batchInputs.length > 0 && { batchInputs }),
    ...(batchOutputs.length > 0 && { batchOutputs }),
  };
}
