// ModelStreamInfer: the engine answers its requests in order. TypeScript words the replies to
// requests for models that do not exist. Errors of the hot path; the listener's thread. Source:
// Triton's ModelStreamInfer.
import { MAP_ENTRY } from '../../protobuf/generated/map-entry-fields.js';
import {
  MODEL_STREAM_INFER_RESPONSE,
  MODEL_INFER_RESPONSE,
  INFER_PARAMETER,
} from '../../protobuf/generated/inference-fields.js';
import { readError, type Missing } from '../../engine/missing.js';
import { V2_GRPC_STREAM } from '../../model/request-kinds.js';
import { PLAIN_WORDING, type EngineMethod, type EngineWording } from '../../listeners/grpc/call.js';
import { ProtobufWriter } from '../../protobuf/writer.js';
import { inferStatus } from '../grpc/infer.js';
import { MISSING_SENTENCES, missingText } from './lookup.js';

/**
 * A ModelStreamInferResponse {error_message = 1, infer_response = 2 {id = 3, parameters = 4}}. The
 * parameter marks it as the last reply to its request, as in the engine's replies.
 */
function errorReply(missing: Missing): Buffer {
  const { requestId } = missing;
  const bytes = new ProtobufWriter()
    .string(MODEL_STREAM_INFER_RESPONSE.errorMessage, missingText(missing))
    .message(MODEL_STREAM_INFER_RESPONSE.inferResponse, (response) => {
      if (requestId !== '') response.string(MODEL_INFER_RESPONSE.id, requestId);
      response.message(MODEL_INFER_RESPONSE.parameters, (entry) => {
        entry
          .string(MAP_ENTRY.key, 'triton_final_response')
          .message(MAP_ENTRY.value, (value) => value.varint(INFER_PARAMETER.boolParam, 1));
      });
    })
    .concat();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Error texts of both methods. */
export const V2_WORDING: EngineWording = { ...PLAIN_WORDING, missing: MISSING_SENTENCES };

export const STREAM_METHOD: EngineMethod = {
  streams: true,
  protocol: V2_GRPC_STREAM,
  wording: V2_WORDING,
  explain: (code, body, missingBytes) => {
    const error = readError(code, body, missingBytes);
    return error.missing === undefined ? inferStatus(error) : errorReply(error.missing);
  },
};
