// Names of TensorFlow's signatures and of their methods. Any plane, any thread; the console's page
// too. Source: tfserving.md 2; tensorflow-import.md 1.5.

/** The signature of a request that names none, and of a model whose format has no signatures. */
export const DEFAULT_SIGNATURE = 'serving_default';
/** The signature of a SavedModel that initializes it at load and is never called. */
export const INIT_SIGNATURE = '__saved_model_init_op';

export const PREDICT_METHOD = 'tensorflow/serving/predict';
export const CLASSIFY_METHOD = 'tensorflow/serving/classify';
export const REGRESS_METHOD = 'tensorflow/serving/regress';
