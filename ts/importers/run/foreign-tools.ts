// Recognises models of tabular tools and of Apple's and MLflow's formats by content, and names the
// way to a model that Serval loads. Control plane; pure. Source: XGBoost's doc/model.schema and
// Universal Binary JSON; LightGBM's gbdt_model_text.cpp;
// H2O's hex.genmodel MojoReaderBackend; coremltools' Model.proto; MLflow's "MLmodel" format;
// PyTorch's torch/export/pt2_archive.
import { type BoosterKind, boosterKind } from '../boosters/detect.js';

/** Entries in archives of torch.export, before and since PyTorch 2.7. */
const EXPORTED_PROGRAM = /(^|\/)(serialized_exported_program\.json|archive_format)$/;

/** The tool of a file, by its name and its front; undefined: none. */
export function toolKind(name: string, head: Buffer, text: string): string | undefined {
  const stem = name.replace(/\.[^.]*$/, '');
  const booster = boosterKind(head);
  if (booster !== undefined) return boosterText(name, booster);
  if (/^\s*\{\s*"name"\s*:\s*"tree"\s*,/.test(text)) {
    return (
      "is LightGBM's dump_model(), which LightGBM itself cannot load; serve the file of " +
      `booster.save_model('${stem}.txt')`
    );
  }
  if (isMlflow(text)) return mlflowKind(text);
  return isCoreMl(head, text) ? coreMl() : undefined;
}

/** The tool of an archive, by its entry names; undefined: none. */
export function toolArchive(name: string, names: readonly string[]): string | undefined {
  const stem = name.replace(/\.[^.]*$/, '');
  const isMojo = names.some((one) => /^(domains|trees|experimental)\//.test(one));
  if (isMojo && names.includes('model.ini')) {
    return (
      "is an H2O MOJO, which only H2O's own runtime reads; convert it in Python: " +
      `onnxmltools.convert_h2o('${name}') (GBM), saved as ${stem}.onnx; for other algorithms ` +
      'retrain the model with a library that exports ONNX or PMML'
    );
  }
  if (names.some((one) => EXPORTED_PROGRAM.test(one))) {
    return (
      'is a program saved by torch.export, which only PyTorch runs; in Python: ' +
      `torch.onnx.export(torch.export.load('${name}'), dynamo=True).save('${stem}.onnx'); if ` +
      'torch.export.export had no dynamic_shapes, the model accepts only as many rows as its example'
    );
  }
  return undefined;
}

const BOOSTERS: Readonly<Record<BoosterKind, readonly [string, string]>> = {
  xgboost: ['an XGBoost', 'model.ubj'],
  lightgbm: ['a LightGBM', 'model.txt'],
  catboost: ['a CatBoost', 'model.cbm'],
};

/** Under a name that does not say so; a folder's file is found by its name. */
function boosterText(name: string, kind: BoosterKind): string {
  const [title, file] = BOOSTERS[kind];
  const wanted = name.endsWith('.json') ? 'model.json' : file;
  return `is ${title} model under another name: rename it to ${wanted}, or name it as a PATH`;
}

/** YAML that lists the flavors of the folder. */
function isMlflow(text: string): boolean {
  return /^flavors:\s*$/m.test(text) && /^\s+(python_function|loader_module|[a-z_]+):/m.test(text);
}

const MLFLOW_WAYS: Readonly<Record<string, string>> = {
  onnx: 'serve the .onnx file in it',
  tensorflow: 'serve the SavedModel in it (data/model or tfmodel)',
  keras: 'export the Keras model in it: model.export(FOLDER)',
  spark: 'serve its folder sparkml',
  mleap: 'serve the MLeap bundle in it (mleap/model)',
  sklearn:
    'convert it: skl2onnx.to_onnx(mlflow.sklearn.load_model(FOLDER), X[:1]), with float32 numbers in X',
  xgboost: 'convert it: onnxmltools.convert_xgboost(mlflow.xgboost.load_model(FOLDER), ...)',
  lightgbm: 'convert it: onnxmltools.convert_lightgbm(mlflow.lightgbm.load_model(FOLDER), ...)',
  catboost: 'serve the .cb file in it as model.cbm',
  pytorch:
    "torch.onnx.export(mlflow.pytorch.load_model(FOLDER), (example,), 'model.onnx', " +
    'dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))',
};

function mlflowKind(text: string): string {
  const flavors = [...text.matchAll(/^ {2}([a-z_]+):/gm)].map((match) => match[1] ?? '');
  const found = Object.keys(MLFLOW_WAYS).find((flavor) => flavors.includes(flavor));
  const way =
    found === undefined
      ? 'log the model again with mlflow.onnx.log_model, and serve the .onnx file in it'
      : MLFLOW_WAYS[found];
  const named = found === undefined ? '' : ` with the flavor ${found}`;
  return `describes an MLflow model${named}, which MLflow serves from Python; ${way}`;
}

/**
 * A package's manifest, or a protocol buffer: its version, then a description that begins with an
 * input. (ONNX has its version followed by a text there.)
 */
function isCoreMl(head: Buffer, text: string): boolean {
  if (/^\s*\{/.test(text)) return /"itemInfoEntries"/.test(text) && /com\.apple\.CoreML/.test(text);
  if (head[0] !== 0x08 || head[2] !== 0x12) return false;
  let at = 3;
  while ((head[at] ?? 0) >= 0x80 && at < 8) at += 1;
  return head[at + 1] === 0x0a;
}

function coreMl(): string {
  return (
    "is a Core ML model, which only Apple's systems run; export the model that it was made from: " +
    'torch.onnx.export for PyTorch, tf2onnx or model.export() for Keras, skl2onnx for scikit-learn'
  );
}
