// Reads the description in a session bundle's collections: tensorflow.serving.Signatures and
// AssetFile. Importer's worker thread; pure. Source:
// tensorflow/contrib/session_bundle/manifest.proto.
import {
  ASSET_FILE,
  CLASSIFICATION_SIGNATURE,
  GENERIC_SIGNATURE,
  REGRESSION_SIGNATURE,
  SIGNATURE,
  SIGNATURES,
  TENSOR_BINDING,
} from '../../../protobuf/generated/session-bundle-fields.js';
import type { WireReader } from '../../../protobuf/reader.js';
import { OBJECT_ITEMS, readMapEntry } from './read-context.js';
import type { ReadContext } from './read-context.js';
import type { AssetBinding } from './signature-def.js';

/** Tensor names; "" = unspecified. */
export type ManifestSignature =
  | { readonly kind: 'regression'; readonly input: string; readonly output: string }
  | {
      readonly kind: 'classification';
      readonly input: string;
      readonly classes: string;
      readonly scores: string;
    }
  | { readonly kind: 'generic'; readonly tensors: ReadonlyMap<string, string> }
  | { readonly kind: 'none' };

export interface ManifestSignatures {
  readonly defaultSignature: ManifestSignature | undefined;
  readonly named: ReadonlyMap<string, ManifestSignature>;
}

export function readSignatures(reader: WireReader, context: ReadContext): ManifestSignatures {
  const named = new Map<string, ManifestSignature>();
  let defaultSignature: ManifestSignature | undefined;
  while (reader.next()) {
    if (reader.field === SIGNATURES.defaultSignature) {
      defaultSignature = readSignature(reader.nested('Signature'), context);
    } else if (reader.field === SIGNATURES.namedSignatures) {
      context.count(OBJECT_ITEMS);
      named.set(
        ...readMapEntry<ManifestSignature>(
          reader.nested('NamedSignaturesEntry'),
          (value) => readSignature(value.nested('Signature'), context),
          () => ({ kind: 'none' }),
        ),
      );
    } else {
      reader.skip();
    }
  }
  return { defaultSignature, named };
}

function readSignature(reader: WireReader, context: ReadContext): ManifestSignature {
  let found: ManifestSignature = { kind: 'none' };
  while (reader.next()) {
    switch (reader.field) {
      case SIGNATURE.regressionSignature: {
        const names = readBindings(reader.nested('RegressionSignature'));
        const { input, output } = REGRESSION_SIGNATURE;
        found = { kind: 'regression', input: names[input] ?? '', output: names[output] ?? '' };
        break;
      }
      case SIGNATURE.classificationSignature: {
        const names = readBindings(reader.nested('ClassificationSignature'));
        const { input, classes, scores } = CLASSIFICATION_SIGNATURE;
        found = {
          kind: 'classification',
          input: names[input] ?? '',
          classes: names[classes] ?? '',
          scores: names[scores] ?? '',
        };
        break;
      }
      case SIGNATURE.genericSignature:
        found = { kind: 'generic', tensors: readGeneric(reader, context) };
        break;
      default:
        reader.skip();
    }
  }
  return found;
}

/** Tensor names by field number. */
function readBindings(reader: WireReader): readonly (string | undefined)[] {
  const names: (string | undefined)[] = [];
  while (reader.next()) {
    if (reader.field <= CLASSIFICATION_SIGNATURE.scores)
      names[reader.field] = readBinding(reader.nested('TensorBinding'));
    else reader.skip();
  }
  return names;
}

function readBinding(reader: WireReader): string {
  let name = '';
  while (reader.next()) {
    if (reader.field === TENSOR_BINDING.tensorName) name = reader.string();
    else reader.skip();
  }
  return name;
}

function readGeneric(outer: WireReader, context: ReadContext): ReadonlyMap<string, string> {
  const tensors = new Map<string, string>();
  const reader = outer.nested('GenericSignature');
  while (reader.next()) {
    if (reader.field === GENERIC_SIGNATURE.map) {
      context.count(OBJECT_ITEMS);
      tensors.set(
        ...readMapEntry(
          reader.nested('GenericSignature.MapEntry'),
          (value) => readBinding(value.nested('TensorBinding')),
          () => '',
        ),
      );
    } else {
      reader.skip();
    }
  }
  return tensors;
}

export function readAssetFile(reader: WireReader): AssetBinding {
  const binding = { tensorName: '', fileName: '' };
  while (reader.next()) {
    if (reader.field === ASSET_FILE.tensorBinding)
      binding.tensorName = readBinding(reader.nested('TensorBinding'));
    else if (reader.field === ASSET_FILE.filename) binding.fileName = reader.string();
    else reader.skip();
  }
  return binding;
}
