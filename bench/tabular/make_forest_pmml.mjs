// Makes a PMML document of a generated forest: full trees of one depth, with random thresholds and
// leaves, the same in every run. It serves to measure the time and memory of a load, and to compare
// scores with other evaluators: rows of `makeFloats` go both ways at every node.
//
//   node bench/tabular/make_forest_pmml.mjs FILE [--megabytes 100 | --trees 100] [--depth 8]
//     [--features 20] [--kind regression|classification]
//
// Control plane.
import { closeSync, openSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { drawTree } from './forest.mjs';

const LABELS = ['high', 'low', 'middle'];

/** The document's field names: "x1" and so on. */
export function fieldNames(features) {
  return Array.from({ length: features }, (_, index) => `x${index + 1}`);
}

function head({ features, kind }) {
  const fields = fieldNames(features);
  const labels = LABELS.map((label) => `<Value value="${label}"/>`).join('');
  const target =
    kind === 'classification'
      ? `<DataField name="y" optype="categorical" dataType="string">${labels}</DataField>`
      : '<DataField name="y" optype="continuous" dataType="double"/>';
  const method = kind === 'classification' ? 'average' : 'sum';
  return `<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
	<Header/>
	<DataDictionary>
		${target}
${fields.map((name) => `\t\t<DataField name="${name}" optype="continuous" dataType="double"/>\n`).join('')}\
	</DataDictionary>
	<MiningModel functionName="${kind}">
		<MiningSchema>
			<MiningField name="y" usageType="target"/>
${fields.map((name) => `\t\t\t<MiningField name="${name}"/>\n`).join('')}\
		</MiningSchema>
		<Segmentation multipleModelMethod="${method}">
`;
}

const TAIL = `\t\t</Segmentation>
	</MiningModel>
</PMML>
`;

function leafText(kind, value, id, predicate, indent) {
  if (kind === 'regression') {
    const open = `<Node id="${id}" score="${value}">`;
    return `${indent}${open}\n${indent}\t${predicate}\n${indent}</Node>\n`;
  }
  const counts = LABELS.map((_, at) => 1 + (Math.floor(value * 1000 * (at + 1)) % 97));
  const score = LABELS[counts.indexOf(Math.max(...counts))];
  const total = counts.reduce((sum, count) => sum + count, 0);
  const shares = LABELS.map(
    (label, at) => `${indent}\t<ScoreDistribution value="${label}" recordCount="${counts[at]}"/>\n`,
  );
  return (
    `${indent}<Node id="${id}" score="${score}" recordCount="${total}">\n` +
    `${indent}\t${predicate}\n${shares.join('')}${indent}</Node>\n`
  );
}

/** The text of tree `index`, as a Segment. Nodes are numbered as in a heap: the root is 1. */
function treeText(index, { depth, features, kind }) {
  const tree = drawTree(index, { depth, features });
  const names = fieldNames(features);
  const parts = [];
  const visit = (node, predicate, indent) => {
    if (node >= tree.leaves) {
      parts.push(leafText(kind, tree.leafOf(node), node, predicate, indent));
      return;
    }
    const field = names[tree.featureOf(node)];
    const value = tree.thresholdOf(node);
    parts.push(`${indent}<Node id="${node}">\n${indent}\t${predicate}\n`);
    for (const [side, operator] of ['lessOrEqual', 'greaterThan'].entries()) {
      const test = `<SimplePredicate field="${field}" operator="${operator}" value="${value}"/>`;
      visit(2 * node + side, test, `${indent}\t`);
    }
    parts.push(`${indent}</Node>\n`);
  };
  visit(1, '<True/>', '\t\t\t\t\t');
  const fields = names.map((name) => `<MiningField name="${name}"/>`);
  return `\t\t\t<Segment id="${index + 1}">
				<True/>
				<TreeModel functionName="${kind}" splitCharacteristic="binarySplit">
					<MiningSchema>${fields.join('')}</MiningSchema>
${parts.join('')}\
				</TreeModel>
			</Segment>
`;
}

/**
 * Writes the document with a given number of trees, or with enough trees for a size in megabytes
 * (of 2^20). Returns its contents: {trees, nodes, bytes}.
 */
export function writeForestPmml(file, options) {
  const { trees, megabytes, depth = 8, features = 20, kind = 'regression' } = options;
  if (kind !== 'regression' && kind !== 'classification') {
    throw new RangeError(`--kind: expected regression or classification, got ${kind}`);
  }
  const shape = { depth, features, kind };
  const bytesWanted = trees === undefined ? (megabytes ?? 100) * 2 ** 20 : 0;
  const out = openSync(file, 'w');
  try {
    let bytes = writeSync(out, head(shape));
    let made = 0;
    while (trees === undefined ? bytes + TAIL.length < bytesWanted : made < trees) {
      bytes += writeSync(out, treeText(made, shape));
      made += 1;
    }
    bytes += writeSync(out, TAIL);
    return { trees: made, nodes: made * (2 ** (depth + 1) - 1), bytes };
  } finally {
    closeSync(out);
  }
}

function wholeNumber(name, text) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new RangeError(`--${name}: expected a whole number above zero, got ${text}`);
}

function main(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      megabytes: { type: 'string' },
      trees: { type: 'string' },
      depth: { type: 'string' },
      features: { type: 'string' },
      kind: { type: 'string' },
    },
  });
  const { kind, ...counts } = values;
  if (positionals.length !== 1) throw new RangeError('expected one file to write');
  const given = Object.entries(counts).map(([name, text]) => [name, wholeNumber(name, text)]);
  const made = writeForestPmml(positionals[0], {
    ...Object.fromEntries(given),
    ...(kind === undefined ? {} : { kind }),
  });
  process.stdout.write(`${JSON.stringify(made)}\n`);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  main(process.argv.slice(2));
}
