// Checks the house style: sizes, imports, words, headers, formatting, and that documents agree with
// the sources. Plain Node apart from the formatters. Prints each violation as path:line and, at the
// end, "N passed, N failed, N skipped" over the rules. limits.json holds the raised limits with
// their reasons. Test time only.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addFailure, exitWhenWritten, noCounts, printNames, summaryLine } from '../run/counts.mjs';
import * as documents from './rules/documents.mjs';
import * as format from './rules/format.mjs';
import * as language from './rules/language.mjs';
import * as imports from './rules/imports.mjs';
import * as ranks from './rules/ranks.mjs';
import * as links from './rules/links.mjs';
import * as plan from './rules/plan.mjs';
import * as size from './rules/size.mjs';
import { readTree } from './source-files.mjs';
import * as tables from './rules/tables.mjs';
import * as vendored from './rules/third-party.mjs';
import * as words from './rules/words.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));

// name -> (tree, limits) => violations, or {skipped: why}
const RULES = {
  'file-lines': size.fileLines,
  'function-lines': size.functionLines,
  'line-columns': size.lineColumns,
  'folder-files': size.folderFiles,
  'blob-bytes': size.blobBytes,
  'raised-limits': size.raisedLimits,
  'native-ranks': ranks.nativeRanks,
  'native-cycles': ranks.nativeCycles,
  'napi-header': ranks.napiHeader,
  'typescript-imports': imports.typescriptImports,
  'startup-imports': imports.startupImports,
  words: words.words,
  'plain-english': language.plainEnglish,
  'plain-texts': language.plainTexts,
  unfinished: words.unfinished,
  'commented-out-code': words.commentedOutCode,
  headers: words.headers,
  'file-names': words.fileNames,
  'required-files': documents.requiredFiles,
  'request-trace': documents.requestTrace,
  'error-pages': documents.errorPages,
  changelog: documents.changelog,
  'relative-links': links.relativeLinks,
  'native-calls': tables.nativeCalls,
  rooms: tables.rooms,
  'third-party': vendored.thirdParty,
  'runtime-calls': vendored.runtimeCalls,
  'page-sizes': tables.pageSizes,
  'named-paths': tables.namedPaths,
  'cited-sections': documents.citedSections,
  'generated-fresh': documents.generatedFresh,
  'peer-tables': documents.peerTables,
  'plan-names': plan.planNames,
  format: format.formatted,
};

function main() {
  const limits = JSON.parse(readFileSync(join(here, 'limits.json'), 'utf8'));
  const tree = { root, ...readTree(root) };
  const counts = noCounts();
  for (const [name, rule] of Object.entries(RULES)) {
    const result = rule(tree, limits);
    if (result.skipped !== undefined) {
      counts.skipped.push(`tidy ${name}: ${result.skipped}`);
      continue;
    }
    for (const { path, line, message } of result) {
      process.stdout.write(`${path}:${line}: ${name}: ${message}\n`);
    }
    if (result.length === 0) counts.passed += 1;
    else addFailure(counts, name);
  }
  printNames(counts);
  process.stdout.write(`${summaryLine(counts)}\n`);
  return counts.failed === 0 ? 0 : 1;
}

exitWhenWritten(main());
