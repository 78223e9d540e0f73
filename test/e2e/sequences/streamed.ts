// Responses of ModelStreamInfer in the tests of sequences.
import assert from 'node:assert/strict';
import { decode, messageTypes, type RawClient } from '../../unit/protocols/raw-client.js';

const types = messageTypes();

interface StreamedResponse {
  readonly id: string;
  readonly raw_output_contents: readonly Uint8Array[];
}

/** Waits for the response `index` of a stream and decodes it. Fails if it is an error. */
export async function streamed(
  stream: ReturnType<RawClient['stream']>,
  index: number,
): Promise<StreamedResponse> {
  const { infer_response: response, error_message: problem } = decode(
    types,
    'inference.ModelStreamInferResponse',
    await stream.reply(index),
  ) as { infer_response: StreamedResponse; error_message: string };
  assert.equal(problem, '');
  return response;
}
