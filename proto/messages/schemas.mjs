// Writes the schemas of ts/protobuf/generated: messages of proto/wire as ts/protobuf/schema.ts
// describes them, with all messages they contain. Build time only.
import protobuf from 'protobufjs';
import { isOpaque, parseInto } from './parse.mjs';

export const SCHEMAS_FOLDER = 'ts/protobuf/generated';

// Maps file -> the messages and enums that TypeScript names. `simpleNames`: errors name a nested
// message without its parents.
const ROOTS = {
  'model_config.proto': { names: ['ModelConfig'] },
  'inference.proto': {
    names: [
      'LogSettingsResponse',
      'TraceSettingResponse',
      'ModelMetadataResponse',
      'ModelReadyResponse',
      'ModelStatisticsResponse',
      'RepositoryIndexResponse',
      'ServerLiveResponse',
      'ServerMetadataResponse',
      'ServerReadyResponse',
      'SystemSharedMemoryStatusResponse',
      'CudaSharedMemoryStatusResponse',
    ],
  },
  'tensorflow_serving.proto': { names: ['ModelServerConfig'], simpleNames: true },
  'platform_config.proto': {
    names: ['PlatformConfigMap', 'SavedModelBundleSourceAdapterConfig'],
  },
  'serving_config.proto': { names: ['BatchingParameters', 'MonitoringConfig', 'SSLConfig'] },
  'tensorflow_graph.proto': {
    names: ['GraphDef', 'MetaGraphDef', 'SavedModel', 'AssetFileDef'],
  },
  'session_bundle.proto': { names: ['Signatures', 'AssetFile'] },
  'tensorflow.proto': { names: ['DataType'] },
  'any.proto': { names: [] },
  'wrappers.proto': { names: [] },
};
// Errors use its full name: it is written with its type in brackets.
const ANY = '.google.protobuf.Any';

const moduleOf = (source) => source.replace('.proto', '').replaceAll('_', '-');

// Returns the name without the package: "ModelVersionPolicy.Latest".
function relativeName(type, { scope }) {
  return type.fullName.slice(scope.fullName.length + 1);
}

function constantName(type, file) {
  return relativeName(type, file)
    .replaceAll('.', '_')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase();
}

// Returns everything that is reached from the roots, by file: {file, scope, types: Set}.
function reached(files) {
  const owner = new Map();
  for (const file of files) {
    const own = (scope) => {
      for (const one of scope.nestedArray ?? []) {
        owner.set(one, file);
        own(one);
      }
    };
    for (const one of file.declared) {
      owner.set(one, file);
      own(one);
    }
  }
  const visit = (type) => {
    const file = owner.get(type);
    if (file.types.has(type)) return;
    file.types.add(type);
    if (!(type instanceof protobuf.Type)) return;
    for (const { resolvedType } of type.fieldsArray) {
      if (resolvedType !== null && !isOpaque(resolvedType)) visit(resolvedType);
    }
  };
  for (const file of files) {
    for (const name of file.names) {
      const type = file.scope.lookup(name);
      file.exported.add(type);
      visit(type);
    }
  }
  return owner;
}

class ModuleText {
  constructor(file, owner) {
    this.file = file;
    this.owner = owner;
    this.builders = new Set();
    this.imports = new Map();
  }

  use(builder) {
    this.builders.add(builder);
    return builder;
  }

  // Returns the name of a constant of this module or of another one, which then exports it.
  reference(type) {
    const other = this.owner.get(type);
    const name = constantName(type, other);
    if (other !== this.file) {
      other.exported.add(type);
      const module = moduleOf(other.source);
      this.imports.set(module, (this.imports.get(module) ?? new Set()).add(name));
    }
    return name;
  }

  field(field) {
    const type = field.resolvedType;
    const shown =
      type === null
        ? `'${field.type}'`
        : isOpaque(type)
          ? this.use('OPAQUE')
          : this.reference(type);
    const arguments_ = `${field.id}, ${shown}`;
    if (field.map) return `${this.use('map')}(${field.id}, '${field.keyType}', ${shown})`;
    if (field.repeated) return `${this.use('many')}(${arguments_})`;
    if (field.partOf) return `${this.use('oneOf')}('${field.partOf.name}', ${arguments_})`;
    return `${this.use('one')}(${arguments_})`;
  }

  body(type) {
    if (type instanceof protobuf.Enum) {
      const values = Object.entries(type.values).map(([name, number]) => `  ${name}: ${number},\n`);
      return `${this.use('choice')}({\n${values.join('')}})`;
    }
    const fields = type.fieldsArray.map((field) => `  ${field.name}: ${this.field(field)},\n`);
    const name = this.file.simpleNames ? type.name : relativeName(type, this.file);
    const shown = type.fullName === ANY ? type.fullName.slice(1) : name;
    return `${this.use('message')}('${shown}', () => ({\n${fields.join('')}}))`;
  }

  // In the order of declaration; constants are used only when a schema's fields are read.
  text() {
    const { source, types, exported } = this.file;
    const constants = [...types].map((type) => {
      const name = constantName(type, this.file);
      const annotation = type instanceof protobuf.Type ? ': MessageSchema' : '';
      return [type, `const ${name}${annotation} = ${this.body(type)};\n`];
    });
    return () => {
      const lines = [
        `// Generated from proto/wire/${source} by proto/generate-wire.mjs; do not edit.`,
      ];
      lines.push(`import { ${[...this.builders].sort().join(', ')} } from '../schema.js';`);
      if (this.builders.has('message')) {
        lines.push("import type { MessageSchema } from '../schema.js';");
      }
      for (const [module, names] of [...this.imports].sort()) {
        lines.push(`import { ${[...names].sort().join(', ')} } from './${module}.js';`);
      }
      const all = constants.map(([type, text]) => `${exported.has(type) ? 'export ' : ''}${text}`);
      return `${lines.join('\n')}\n\n${all.join('\n')}`;
    };
  }
}

/** Maps path -> text. */
export function schemaFiles() {
  const root = new protobuf.Root();
  const parsed = new Set();
  const files = Object.entries(ROOTS).map(([source, roots]) => ({
    simpleNames: false,
    ...roots,
    source,
    ...parseInto(root, source, parsed),
    types: new Set(),
    exported: new Set(),
  }));
  root.resolveAll();
  for (const file of files) {
    file.scope = root.lookup(file.package);
    file.declared = file.own.map((name) => file.scope.get(name));
  }
  const owner = reached(files);
  const texts = files
    .filter((file) => file.types.size > 0)
    .map((file) => [file, new ModuleText(file, owner).text()]);
  // The imports of other files are known only now.
  return texts.map(([{ source }, text]) => [`${SCHEMAS_FOLDER}/${moduleOf(source)}.ts`, text()]);
}
