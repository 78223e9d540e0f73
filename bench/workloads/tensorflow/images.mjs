// SavedModels of Keras's image families, batch 1 and 8, raw tensor_content over gRPC Predict,
// against TensorFlow's own call of the signature in Python.
import { bytesOf, makeFloats } from '../../bodies.mjs';
import { predictOutput, predictRequest } from '../../tensorflow/messages.mjs';
import { openServal, openTensorFlow } from './sides.mjs';

const METHOD = '/tensorflow.serving.PredictionService/Predict';
const ALIAS = 'image';
const IMAGE = [224, 224, 3];
const ELEMENTS = 150_528;
// Probabilities of 1,000 classes.
const TOLERANCE = 1e-4;
const FAMILIES = [
  { model: 'resnet50', title: 'ResNet50', limit: 1.1 },
  { model: 'mobilenet_v2', title: 'MobileNetV2', limit: 2 },
  { model: 'efficientnet_b0', title: 'EfficientNetB0', limit: 1.1 },
];

function row({ model, title, limit }, batch) {
  const shape = [batch, ...IMAGE];
  const values = () => makeFloats(batch * ELEMENTS);
  return {
    id: `tf-${model.replaceAll('_', '-')}-${batch}`,
    group: batch === 1 ? 'grpc-images' : '',
    title: `${title} SavedModel, gRPC Predict, batch ${batch}`,
    reference: 'TensorFlow in Python',
    metric: 'rate',
    target: { relation: '>=', limit },
    openServal: (context, root) =>
      openServal(
        context,
        root,
        model,
        { path: METHOD, message: predictRequest(model, ALIAS, shape, values()) },
        predictOutput,
      ),
    openReference: (context, serval) =>
      openTensorFlow(
        context,
        serval,
        model,
        { alias: ALIAS, shape, values: bytesOf(values()) },
        TOLERANCE,
      ),
  };
}

export const images = FAMILIES.flatMap((family) => [row(family, 1), row(family, 8)]);
