// Names of tabular plans: proto/stages declares them, and both languages use what is generated.
// Test time only.
import { join } from 'node:path';
import { attributesOf, readStages } from '../../../proto/stages.mjs';
import { lineAt } from '../lexer.mjs';

const FOLDER = 'native/tabular/';
// A getter of StageSpec, or an entry of a table of kinds or functions, with a name in quotes.
const SPELT =
  /\bspec(?:\.|->)(?:has|real|integer|flag|choices?|reals|integers|texts?|text_ids|values|expressions?|blocks?)\(\s*"|"(?:pmml|sql)\.[\w.-]+"/g;

/** No name is spelt as a string beside the generated code, and no declared one is unused. */
export function planNames({ root, files }) {
  const own = files.filter(
    ({ path }) =>
      path.startsWith(FOLDER) && !path.includes('/generated/') && /\.(cc|h)$/.test(path),
  );
  const spelt = own.flatMap(({ path, text }) =>
    [...text.matchAll(SPELT)].map((found) => ({
      path,
      line: lineAt(text, found.index),
      message: `${found[0].trim()} spells a name that native/tabular/generated has`,
    })),
  );
  const all = own.map(({ text }) => text).join('\n');
  const { kinds, groups } = readStages(join(root, 'proto'));
  const used = new Set([...all.matchAll(/\bstages::(\w+::\w+)/g)].map(([, name]) => name));
  const space = (name) => name.replaceAll('.', '_');
  const declared = [...kinds, ...groups].flatMap((each) =>
    attributesOf({ attributes: each.attributes }).map(({ name }) => [each.name, name]),
  );
  const unused = [...declared, ...kinds.map(({ name }) => [name, 'kind'])]
    .filter(([kind, name]) => !used.has(`${space(kind)}::${name}`))
    .map(([kind, name]) => ({
      path: 'proto/stages',
      line: 1,
      message: `native/tabular never reads '${name}' of ${kind}`,
    }));
  return [...spelt, ...unused];
}
