// The tabular models in examples/models: a pipeline as Spark saves it, a PMML document and an MLeap
// bundle, written by hand. Build time only; pure.
import { crc32 } from 'node:zlib';

const json = (value) => `${JSON.stringify(value)}\n`;

/** Returns the metadata that Spark saves with every stage. */
function sparkMetadata(kind, uid, params) {
  return json({
    class: `org.apache.spark.ml.${kind}`,
    timestamp: 1700000000000,
    sparkVersion: '3.5.5',
    uid,
    paramMap: params,
    defaultParamMap: {},
  });
}

/** A model of a loan's amount as a share of the income, and of its risk class from 0 to 2. */
function loanRisk() {
  const statement =
    'SELECT *, amount / income AS share, upper(trim(purpose)) AS reason FROM __THIS__';
  const bucketizer = {
    inputCol: 'share',
    outputCol: 'risk',
    splits: ['-Infinity', 0.5, 2.0, 'Infinity'],
    handleInvalid: 'keep',
  };
  const input = (name, datatype) => ({ name, datatype, shape: [-1] });
  return {
    'schema.json': json({
      inputs: [input('amount', 'FP64'), input('income', 'FP64'), input('purpose', 'STRING')],
    }),
    'metadata/part-00000': sparkMetadata('PipelineModel', 'loan_risk', {
      stageUids: ['share', 'risk'],
    }),
    'stages/0_share/metadata/part-00000': sparkMetadata('feature.SQLTransformer', 'share', {
      statement,
    }),
    'stages/1_risk/metadata/part-00000': sparkMetadata('feature.Bucketizer', 'risk', bucketizer),
  };
}

const SPECIES = ['setosa', 'versicolor', 'virginica'];

function pmmlNode(id, score, predicate, counts, children = '') {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const distribution = SPECIES.map(
    (value, i) => `<ScoreDistribution value="${value}" recordCount="${counts[i]}"/>`,
  ).join('');
  return `<Node id="${id}" score="${score}" recordCount="${total}">${predicate}${distribution}${children}</Node>\n`;
}

/** The classification tree of R's rpart over the iris data. */
function irisTree() {
  const fields = ['sepal_length', 'sepal_width', 'petal_length', 'petal_width'];
  const less = (field, value) =>
    `<SimplePredicate field="${field}" operator="lessThan" value="${value}"/>`;
  const more = (field, value) =>
    `<SimplePredicate field="${field}" operator="greaterOrEqual" value="${value}"/>`;
  const tree = pmmlNode(
    1,
    'setosa',
    '<True/>',
    [50, 50, 50],
    pmmlNode(2, 'setosa', less('petal_length', 2.45), [50, 0, 0]) +
      pmmlNode(
        3,
        'versicolor',
        more('petal_length', 2.45),
        [0, 50, 50],
        pmmlNode(6, 'versicolor', less('petal_width', 1.75), [0, 49, 5]) +
          pmmlNode(7, 'virginica', more('petal_width', 1.75), [0, 1, 45]),
      ),
  );
  const probabilities = SPECIES.map(
    (value) =>
      `<OutputField name="probability_${value}" optype="continuous" dataType="double" feature="probability" value="${value}"/>`,
  ).join('\n');
  return `<?xml version="1.0" encoding="UTF-8"?>
<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4">
<Header description="The classification tree of R's rpart over the iris data"/>
<DataDictionary>
${fields.map((name) => `<DataField name="${name}" optype="continuous" dataType="double"/>`).join('\n')}
<DataField name="species" optype="categorical" dataType="string">
${SPECIES.map((value) => `<Value value="${value}"/>`).join('')}
</DataField>
</DataDictionary>
<TreeModel functionName="classification" splitCharacteristic="binarySplit" missingValueStrategy="none">
<MiningSchema>
${fields.map((name) => `<MiningField name="${name}"/>`).join('\n')}
<MiningField name="species" usageType="target"/>
</MiningSchema>
<Output>
<OutputField name="predicted_species" optype="categorical" dataType="string" feature="predictedValue"/>
${probabilities}
</Output>
${tree}</TreeModel>
</PMML>
`;
}

/** Attributes of an MLeap model in the form of its JSON. */
const double = (value) => ({ double: value });
const tensor = (values) => ({
  double: values,
  shape: { dimensions: [{ size: values.length, name: '' }] },
  type: 'tensor',
});

/** A model of a house's price from a town, a number of rooms and square metres. */
function housePrice() {
  const node = (name, inputs, outputs) =>
    json({
      name,
      shape: {
        inputs: inputs.map((input, i) => ({
          name: input,
          port: inputs.length > 1 ? `input${i}` : name === 'price' ? 'features' : 'input',
        })),
        outputs: outputs.map((output) => ({
          name: output,
          port: name === 'price' ? 'prediction' : 'output',
        })),
      },
    });
  const model = (op, attributes) => json({ op, attributes });
  const scalarShape = { base: 'scalar', isNullable: false };
  const files = {
    'bundle.json': json({
      uid: '7b4cbd2d-6d2a-4d0f-9b67-0e5d1d5a4c11',
      name: 'house_price',
      format: 'json',
      version: '0.23.0',
      timestamp: '2024-01-01T00:00:00',
    }),
    'root/model.json': model('pipeline', {
      nodes: { type: 'list', string: ['town_index', 'features', 'price'] },
    }),
    'root/node.json': node('house_price', [], []),
  };
  const stage = (name, inputs, outputs, text) => {
    files[`root/${name}.node/model.json`] = text;
    files[`root/${name}.node/node.json`] = node(name, inputs, outputs);
  };
  stage(
    'town_index',
    ['town'],
    ['town_index'],
    model('string_indexer', {
      labels: { type: 'list', string: ['Springfield', 'Shelbyville', 'Ogdenville'] },
      handle_invalid: { string: 'keep' },
      nullable_input: { boolean: false },
    }),
  );
  stage(
    'features',
    ['rooms', 'square_metres', 'town_index'],
    ['features'],
    model('vector_assembler', {
      input_shapes: { type: 'list', data_shape: [scalarShape, scalarShape, scalarShape] },
    }),
  );
  stage(
    'price',
    ['features'],
    ['price'],
    model('linear_regression', {
      coefficients: tensor([12000, 1500, -8000]),
      intercept: double(20000),
    }),
  );
  return files;
}

/** Returns a zip of uncompressed files; the same bytes for the same files. */
export function storedZip(files) {
  const parts = [];
  const directory = [];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text);
    const path = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x21, 8); // 1980-01-01
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(path.length, 22);
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), common, path, content]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0'), common, rest, path]));
    parts.push(file);
    at += file.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, listed, end]);
}

/** Returns [path below examples/models, content]. */
export function tabularExamples() {
  const spark = Object.entries(loanRisk()).map(([path, text]) => [`loan_risk/1/${path}`, text]);
  return [
    ...spark,
    ['iris_tree/1/model.pmml', irisTree()],
    ['house_price/1/model.zip', storedZip(housePrice())],
  ];
}
