// Serialized tf.train.Examples with float features. Test time only.
// Source: tensorflow/core/example/example.proto.
import { ProtobufWriter } from '../../../../ts/protobuf/writer.js';

/** An Example of these features. */
export function floatExample(features: Readonly<Record<string, readonly number[]>>): Uint8Array {
  const out = new ProtobufWriter();
  out.message(1, (map) => {
    for (const [key, values] of Object.entries(features)) {
      map.message(1, (entry) =>
        entry.string(1, key).message(2, (feature) =>
          feature.message(2, (list) => {
            for (const value of values) list.float(1, value);
          }),
        ),
      );
    }
  });
  return out.concat();
}
