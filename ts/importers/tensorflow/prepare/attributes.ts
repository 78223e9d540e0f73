// Attributes of nodes: typed reading, adding defaults, replacing a function's placeholders by a
// caller's values, and a key for finding equal ones. Importer's worker thread.
import { modelInvalid } from '../../../base/errors.js';
import type {
  Attribute,
  AttributeList,
  Attributes,
  Dtype,
  FunctionRef,
  Shape,
  Tensor,
} from '../types.js';
import { quoted } from './errors.js';

type Kind = Attribute['kind'];
type ValueOf<K extends Kind> = Extract<Attribute, { kind: K }>['value'];

/** The attribute's value if it exists and has this kind. */
export function attributeOf<K extends Kind>(
  attributes: Attributes,
  name: string,
  kind: K,
): ValueOf<K> | undefined {
  const attribute = attributes.get(name);
  return attribute?.kind === kind ? (attribute.value as ValueOf<K> | undefined) : undefined;
}

/** A text attribute as latin-1, which keeps every byte. */
export function textAttribute(attributes: Attributes, name: string): string {
  const bytes = attributeOf(attributes, name, 'bytes');
  return bytes === undefined ? '' : Buffer.from(bytes).toString('latin1');
}

export function typeAttribute(attributes: Attributes, name: string): Dtype | undefined {
  return attributeOf(attributes, name, 'type');
}

export function functionAttribute(attributes: Attributes, name: string): FunctionRef | undefined {
  return attributeOf(attributes, name, 'function');
}

/** The attributes plus missing ones that have a default. */
export function withDefaults(attributes: Attributes, defaults: Attributes): Attributes {
  let all: Map<string, Attribute> | undefined;
  for (const [name, value] of defaults) {
    if (attributes.has(name)) continue;
    all ??= new Map(attributes);
    all.set(name, value);
  }
  return all ?? attributes;
}

/** Whether functionsIn() finds anything here. */
export function namesFunctions(attribute: Attribute): boolean {
  return (
    attribute.kind === 'function' ||
    (attribute.kind === 'list' && attribute.value.functions.length > 0)
  );
}

/** Every function that the attributes name, also inside a function's own attributes. */
export function* functionsIn(attributes: Attributes): Generator<FunctionRef> {
  for (const attribute of attributes.values()) {
    if (attribute.kind === 'function') yield* withInner(attribute.value);
    if (attribute.kind === 'list') {
      for (const ref of attribute.value.functions) yield* withInner(ref);
    }
  }
}

function* withInner(ref: FunctionRef): Generator<FunctionRef> {
  yield ref;
  yield* functionsIn(ref.attributes);
}

export function hasPlaceholders(attributes: Attributes): boolean {
  for (const attribute of attributes.values()) {
    if (attribute.kind === 'placeholder') return true;
    if (attribute.kind === 'function' && hasPlaceholders(attribute.value.attributes)) return true;
    if (
      attribute.kind === 'list' &&
      attribute.value.functions.some((ref) => hasPlaceholders(ref.attributes))
    )
      return true;
  }
  return false;
}

/**
 * The attributes with placeholders replaced by the caller's values. Errors: ModelInvalid naming
 * `where` if the caller has no such attribute.
 */
export function substituted(attributes: Attributes, caller: Attributes, where: string): Attributes {
  if (!hasPlaceholders(attributes)) return attributes;
  const result = new Map<string, Attribute>();
  for (const [name, attribute] of attributes) {
    result.set(name, substitutedOne(attribute, caller, `attribute ${quoted(name)} of ${where}`));
  }
  return result;
}

function substitutedOne(attribute: Attribute, caller: Attributes, where: string): Attribute {
  const inRef = (ref: FunctionRef): FunctionRef => ({
    name: ref.name,
    attributes: substituted(ref.attributes, caller, where),
  });
  switch (attribute.kind) {
    case 'placeholder': {
      const value = caller.get(attribute.value);
      if (value === undefined || value.kind === 'placeholder') {
        throw modelInvalid(
          `${where} refers to the caller's attribute ${quoted(attribute.value)}, ` +
            'which the call does not set',
        );
      }
      return value;
    }
    case 'function':
      return { kind: 'function', value: inRef(attribute.value) };
    case 'list': {
      const { functions } = attribute.value;
      if (functions.length === 0) return attribute;
      return { kind: 'list', value: { ...attribute.value, functions: functions.map(inRef) } };
    }
    default:
      return attribute;
  }
}

/** Equal exactly for equal attributes. */
export function attributesKey(attributes: Attributes): string {
  const names = [...attributes.keys()].sort();
  return JSON.stringify(names.map((name) => [name, plain(attributes.get(name) as Attribute)]));
}

function plain(attribute: Attribute): unknown {
  switch (attribute.kind) {
    case 'bytes':
      return ['bytes', latin1(attribute.value)];
    case 'int':
      return ['int', attribute.value.toString()];
    case 'float':
      return ['float', plainFloat(attribute.value)];
    case 'shape':
      return ['shape', plainShape(attribute.value)];
    case 'tensor':
      return ['tensor', plainTensor(attribute.value)];
    case 'function':
      return ['function', plainFunction(attribute.value)];
    case 'list':
      return ['list', plainList(attribute.value)];
    case 'bool':
    case 'type':
    case 'unserved type':
    case 'placeholder':
      return [attribute.kind, attribute.value];
  }
}

// JSON has no NaN, infinities and negative zero.
function plainFloat(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

function plainShape(shape: Shape): unknown {
  return shape === undefined ? 'any' : shape.map((dim) => dim ?? -1);
}

function plainFunction(ref: FunctionRef): unknown {
  return [ref.name, attributesKey(ref.attributes)];
}

function plainTensor({ dtype, shape, data }: Tensor): unknown {
  switch (data.kind) {
    case 'bytes':
      return [dtype, shape, 'bytes', latin1(data.bytes)];
    case 'fill':
      return [dtype, shape, 'fill', latin1(data.element)];
    case 'strings':
      return [dtype, shape, 'strings', data.values.map(latin1)];
    case 'file':
      return [dtype, shape, 'file', data.path, data.offset, data.byteLength];
  }
}

function plainList(list: AttributeList): unknown {
  return [
    list.bytes.map(latin1),
    list.ints.map(String),
    list.floats.map(plainFloat),
    list.bools,
    list.types,
    list.shapes.map(plainShape),
    list.tensors.map(plainTensor),
    list.functions.map(plainFunction),
  ];
}
