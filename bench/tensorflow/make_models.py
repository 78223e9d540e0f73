"""Makes the TensorFlow models of the benchmarks: make_models.py FOLDER. Seeded: the same each time.

Image models have 224 x 224 inputs and 1,000 classes. Test time only.
"""
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf

FEATURES = 20
CLASSES = 3
SEED = 20_240_131


def save_image_model(name, folder):
    """A model of a Keras family, with seeded weights and normalisation as after training."""
    keras.utils.set_random_seed(SEED)
    model = getattr(keras.applications, name)(weights=None, classifier_activation="softmax")
    rng = np.random.default_rng(SEED)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            gamma, beta, mean, variance = layer.get_weights()
            layer.set_weights([rng.uniform(0.8, 1.2, gamma.shape), rng.normal(0, 0.1, beta.shape),
                               rng.normal(0, 0.1, mean.shape),
                               rng.uniform(0.8, 1.2, variance.shape)])
    module = tf.Module()
    module.kept = [variable.value for variable in model.variables]

    @tf.function(input_signature=[tf.TensorSpec([None, 224, 224, 3], tf.float32, "image")])
    def serve(image):
        return {"probabilities": model(image, training=False)}
    tf.saved_model.save(module, str(folder), signatures=serve)


def save_classifier(folder):
    """A linear model of serialized Examples of FEATURES floats, with a classify signature."""
    rng = np.random.default_rng(SEED)
    module = tf.Module()
    module.weights = tf.Variable(rng.standard_normal((FEATURES, CLASSES)).astype(np.float32))
    names = [f"f{index:02}" for index in range(FEATURES)]
    columns = {name: tf.io.FixedLenFeature([1], tf.float32) for name in names}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "inputs")])
    def serve(inputs):
        parsed = tf.io.parse_example(inputs, columns)
        rows = tf.concat([parsed[name] for name in names], axis=1)
        return {"scores": tf.nn.softmax(rows @ module.weights)}
    tf.saved_model.save(module, str(folder), signatures=serve)
    set_method(folder, "tensorflow/serving/classify")


def set_method(folder, method):
    """Sets a signature's method in the file: TensorFlow 2 writes predict for every signature."""
    from tensorflow.core.protobuf import saved_model_pb2
    path = folder / "saved_model.pb"
    message = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    message.meta_graphs[0].signature_def["serving_default"].method_name = method
    path.write_bytes(message.SerializeToString())


def save_half_plus_two(folder):
    """x / 2 + 2 for any shape, like TensorFlow Serving's example."""
    module = tf.Module()
    module.a, module.b = tf.Variable(0.5), tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32, "x")])
    def serve(x):
        return {"y": x * module.a + module.b}
    tf.saved_model.save(module, str(folder), signatures=serve)


def main():
    """Makes all models, each as FOLDER/<name>/1."""
    folder = pathlib.Path(sys.argv[1])
    for name, family in (("resnet50", "ResNet50"), ("mobilenet_v2", "MobileNetV2"),
                         ("efficientnet_b0", "EfficientNetB0")):
        save_image_model(family, folder / name / "1")
    save_classifier(folder / "tf_classifier" / "1")
    save_half_plus_two(folder / "tf_half_plus_two" / "1")


main()
