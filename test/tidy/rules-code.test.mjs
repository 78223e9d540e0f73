// The tidy rules for sources, on small bad samples and on good ones that look alike. Test time
// only.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { functionsIn } from './functions.mjs';
import { splitSource } from './lexer.mjs';
import { importsOf, startupImports, typescriptImports } from './rules/imports.mjs';
import * as size from './rules/size.mjs';
import { commentedOutCode, fileNames, headers, unfinished, words } from './rules/words.mjs';
import { sourceFile } from './source-files.mjs';

const LIMITS = {
  fileLines: 5,
  functionLines: 4,
  lineColumns: 20,
  folderFiles: 2,
  blobBytes: 10,
  raised: {},
};
const tree = (...pairs) => ({
  files: pairs.map(([path, text]) => sourceFile(path, text)),
  sizes: [],
});
const messages = (violations) =>
  violations.map(({ path, line, message }) => `${path}:${line} ${message}`);

test('the lexer parts code from comments and strings', () => {
  const cpp = 'int a = 1\'000; // say "x"\nauto s = R"x(// no)x"; /* b */ char c = \'"\';';
  const split = splitSource(cpp, 'cpp');
  assert.match(split.code, /^int a = 1'000; +\nauto s = R +"; +char c = ' ';$/);
  assert.match(split.comments, /\/\/ say "x"\n +\/\* b \*\//);
  const script = 'const r = /\\/\\/"/; const t = `a${f("//")}b`; x = a / b; // end';
  const { code, comments } = splitSource(script, 'script');
  assert.equal(comments.trim(), '// end');
  assert.match(code, /f\("  "\)/);
  assert.match(code, /x = a \/ b;/);
});

test('a template inside a template ends where it should', () => {
  const text = 'const t = `a${`b${c}`}d`; call(); // e';
  const { code, comments } = splitSource(text, 'script');
  assert.match(code, /call\(\);/);
  assert.equal(comments.trim(), '// e');
});

test('functions are measured, and blocks that are no functions are not', () => {
  const cpp = [
    'namespace a {',
    'struct S {',
    '  S() : x_{1}, y_(2) {',
    '    f();',
    '  }',
    '};',
    'int g(int b) const noexcept {',
    '  for (int i = 0; i < b; ++i) {',
    '    h([&](int v) {',
    '      return v;',
    '    });',
    '  }',
    '  return 1;',
    '}',
    '}',
  ].join('\n');
  assert.deepEqual(
    functionsIn(cpp, 'cpp').map(({ line, lines }) => [line, lines]),
    [
      [3, 3],
      [7, 8],
      [9, 3],
    ],
  );
  const script = [
    'class A {',
    '  run(a: number): Promise<void> {',
    '    if (a) {',
    '      b();',
    '    }',
    '  }',
    '}',
    'const c = (x) => {',
    '  return { x };',
    '};',
    'describe("d", () => {',
    '  test("t", () => {',
    '    e();',
    '  });',
    '});',
  ].join('\n');
  assert.deepEqual(
    functionsIn(script, 'script').map(({ line, lines }) => [line, lines]),
    [
      [2, 5],
      [8, 3],
      [12, 3],
    ],
  );
});

test('sizes: file, line, function, folder, blob', () => {
  const long = '// x\n'.repeat(6);
  assert.deepEqual(messages(size.fileLines(tree(['ts/a.ts', long]), LIMITS)), [
    'ts/a.ts:6 6 lines, at most 5: split the file',
  ]);
  assert.deepEqual(size.fileLines(tree(['ts/a.ts', '// x\n'.repeat(5)]), LIMITS), []);
  const wide = tree(['ts/a.ts', `// ${'é'.repeat(17)}\n// ${'é'.repeat(18)}\n`]);
  assert.deepEqual(messages(size.lineColumns(wide, LIMITS)), ['ts/a.ts:2 21 columns, at most 20']);
  const body = 'function f() {\n  a();\n  b();\n  c();\n}\n';
  assert.deepEqual(messages(size.functionLines(tree(['ts/a.ts', body]), LIMITS)), [
    'ts/a.ts:1 function of 5 lines, at most 4',
  ]);
  const folder = tree(['n/a.h', ''], ['n/a.cc', ''], ['n/b.cc', ''], ['m/a.ts', '']);
  assert.deepEqual(size.folderFiles(folder, LIMITS), []);
  folder.files.push(sourceFile('n/c.cc', ''));
  assert.deepEqual(messages(size.folderFiles(folder, LIMITS)), ['n:1 3 files, at most 2']);
  const sizes = [
    { path: 'a.bin', bytes: 11 },
    { path: 'b.bin', bytes: 10 },
    { path: 'native/base/generated/x.h', bytes: 99 },
  ];
  assert.deepEqual(
    size.blobBytes({ sizes }, LIMITS).map(({ path }) => path),
    ['a.bin'],
  );
});

test('a raised limit holds, needs an argument, and must still be needed', () => {
  const files = tree(['n/a.cc', ''], ['n/b.cc', ''], ['n/c.cc', '']);
  const raised = { n: { folderFiles: 3, why: 'they share their private pieces' } };
  assert.deepEqual(size.folderFiles(files, { ...LIMITS, raised }), []);
  assert.deepEqual(size.raisedLimits(files, { ...LIMITS, raised }), []);
  const silent = { ...LIMITS, raised: { n: { folderFiles: 3 } } };
  assert.match(messages(size.raisedLimits(files, silent))[0], /no "why"/);
  const stale = { ...LIMITS, raised: { m: raised.n } };
  assert.match(messages(size.raisedLimits(files, stale))[0], /not needed/);
});

test('TypeScript imports: found in every form', () => {
  const text =
    "import { a } from './a.js';\nexport * from '../b.js';\nawait import('./c.js');\n" +
    "// import './no.js'\nimport type { D } from '../d/d.js';\nimport 'node:fs';";
  assert.deepEqual(
    importsOf('ts/x/y.ts', text).map(({ line, target }) => `${line} ${target}`),
    ['1 ts/x/a.ts', '2 ts/b.ts', '3 ts/x/c.ts', '5 ts/d/d.ts'],
  );
});

test('no importer is loaded when the server starts', () => {
  const start = 'ts/server/server.ts';
  const files = (line) => tree([start, "import './a.js';"], ['ts/server/a.ts', line]);
  for (const line of [
    "import { b } from '../importers/pmml/index.js';",
    "export { b } from '../importers/plan/builder.js';",
    "import '../importers/spark/index.js';",
    "import {\n  type A,\n  b,\n} from '../importers/mleap/index.js';",
  ]) {
    const [found, ...more] = startupImports(files(line));
    assert.deepEqual([found?.path, more.length], ['ts/server/a.ts', 0], line);
  }
  for (const line of [
    "import type { B } from '../importers/pmml/index.js';",
    "const { b } = await import('../importers/pmml/index.js');",
    "import { b } from '../importers/tensorflow/proto/tensor-proto-writer.js';",
  ]) {
    assert.deepEqual(startupImports(files(line)), [], line);
  }
});

test('TypeScript imports run down the ranked lists', () => {
  const from = (path, target) => typescriptImports(tree([path, `import { a } from '${target}';`]));
  const bad = [
    ['ts/base/a.ts', '../model/snapshot.js'],
    ['ts/base/a.ts', '../main.js'],
    ['ts/listeners/http/a.ts', '../../models/registry/registry.js'],
    ['ts/listeners/http/a.ts', '../../engine/link.js'],
    ['ts/listeners/http/a.ts', '../../protocols/tfserving/rest.js'],
    ['ts/listeners/tls/a.ts', '../http/listener.js'],
    ['ts/listeners/a.ts', './http/listener.js'],
    ['ts/importers/run/a.ts', '../../engine/engine.js'],
    ['ts/importers/tensorflow/load/a.ts', '../../../models/registry/registry.js'],
    ['ts/importers/onnx/a.ts', '../tensorflow/index.js'],
    ['ts/importers/spark/a.ts', '../pmml/index.js'],
    ['ts/model/a.ts', '../engine/link.js'],
    ['ts/model/a.ts', '../access/policy.js'],
    ['ts/protobuf/a.ts', '../config/values/values.js'],
    ['ts/config/values/a.ts', '../flags.js'],
    ['ts/protocols/tfserving/rest.ts', '../v2/rest.js'],
    ['ts/protocols/tfserving/rest.ts', '../v2/documents.js'],
    ['ts/protocols/v2/documents.ts', './rest.js'],
    ['ts/protocols/v2/rest.ts', './grpc.js'],
    ['ts/protocols/rest/infer.ts', '../v2/documents.js'],
    ['ts/protocols/rest/infer.ts', '../grpc/unary.js'],
    ['ts/protocols/a.ts', './v2/documents.js'],
    ['ts/protocols/a.ts', '../server/server.js'],
    ['ts/protocols/frames/a.ts', '../../importers/plan/schema.js'],
    ['ts/protocols/rest/a.ts', '../../listeners/http/uws-listener.js'],
    ['ts/models/registry/a.ts', '../../server/workers/pool.js'],
    ['ts/config/config.ts', '../main.js'],
    ['ts/cli/key/key-command.ts', '../../server/server.js'],
    ['ts/server/server.ts', '../listeners/http/uws-listener.js'],
    ['ts/server/server.ts', './workers/http-worker.js'],
    ['ts/server/workers/pool.ts', './http-worker.js'],
    ['ts/cli/serve/serve-command.ts', '../../server/workers/pool.js'],
    ['ts/library/a.ts', '../server/admin/public-text.js'],
    ['ts/unranked/a.ts', '../base/text.js'],
    ['ts/server/unranked/a.ts', '../admin/public-text.js'],
  ];
  for (const [path, target] of bad) assert.equal(from(path, target).length, 1, `${path} ${target}`);
  const good = [
    ['ts/model/a.ts', '../base/generated/engine.js'],
    ['ts/protobuf/generated/a.ts', '../schema.js'],
    ['ts/protocols/tfserving/rest.ts', './documents.js'],
    ['ts/protocols/tfserving/rest.ts', '../rest/infer.js'],
    ['ts/protocols/v2/grpc-stream.ts', './grpc.js'],
    ['ts/protocols/v2/rest.ts', './documents.js'],
    ['ts/protocols/v2/rest.ts', '../request-text.js'],
    ['ts/protocols/frames/route.ts', '../v2/rest.js'],
    ['ts/protocols/tfserving/rest.ts', '../../models/registry/registry.js'],
    ['ts/server/workers/http-worker.ts', '../../listeners/http/uws-listener.js'],
    ['ts/server/server.ts', './workers/pool.js'],
    ['ts/server/workers/pool.ts', './messages.js'],
    ['ts/engine/a.ts', '../model/snapshot.js'],
    ['ts/cli/serve/serve-command.ts', '../../server/server.js'],
    ['ts/main.ts', './cli/serve/serve-command.js'],
  ];
  for (const [path, target] of good) assert.deepEqual(from(path, target), [], `${path} ${target}`);
  const hot = "// Hot path: receive.\nimport { a } from '../config/config.js';";
  assert.equal(typescriptImports(tree(['ts/server/hot.ts', hot])).length, 1);
});

test('words that do not belong', () => {
  const bad = [
    ['ts/a.ts', 'console.log(1)'],
    ['bin/serval.mjs', 'console.error(1)'],
    ['native/base/a.cc', 'std::cout << 1;'],
    ['native/base/a.cc', 'printf("x");'],
    ['native/base/a.cc', 'std::fprintf(stderr, "x");'],
    ['native/base/a.cc', 'throw 1;'],
    ['native/codec/a.cc', 'auto p = new Thing();'],
    ['native/codec/a.cc', 'delete p;'],
    ['native/codec/a.cc', 'int http_status = 4;'],
    ['ts/a.ts', 'const a: any = b;'],
    ['ts/a.ts', 'const a = b as any;'],
    ['ts/a.ts', 'export default a;'],
    ['ts/a.ts', 'class ModelManager {}'],
    ['test/unit/a.test.mjs', 'test.only("x", f);'],
  ];
  for (const each of bad) assert.equal(words(tree(each)).length, 1, each[1]);
  const good = [
    ['ts/base/logger.ts', 'console.log(1)'],
    ['native/base/a.cc', 'snprintf(b, 3, "x"); // printf("x")'],
    ['native/base/a.h', 'A(const A&) = delete;'],
    ['native/base/memory/block_cache.cc', 'new (p) A; delete[] p;'],
    ['native/base/a.cc', 'const char* s = "throw new x";'],
    ['ts/a.ts', 'Promise.any(a); many(b);'],
    ['ts/a.ts', 'const s = "as any";'],
    ['native/codec/a.cc', 'Status status; json.puts(1);'],
    ['scripts/a.mjs', 'console.log(1)'],
    ['native/backend/a.h', 'struct OrtApiBase {};'],
  ];
  for (const each of good) assert.deepEqual(messages(words(tree(each))), [], each[1]);
});

test('unfinished work and commented-out code', () => {
  const mark = 'FIX' + 'ME';
  assert.equal(unfinished(tree(['ts/a.ts', `// ${mark}: later`])).length, 1);
  assert.equal(unfinished(tree(['docs/a.md', `${mark}`])).length, 0);
  const code = [
    '// const a = 1;',
    '// if (a) {',
    '// return a;',
    '// call(a, b);',
    '//   #include "a";',
    '// }',
  ];
  for (const line of code) assert.equal(commentedOutCode(tree(['ts/a.ts', line])).length, 1, line);
  const prose = [
    '// Returns 1 for a bad call (see below).',
    '// for each row: one byte; then the next',
    'call("// const a = 1;");',
    '// Source: seed 001, part 2;',
  ];
  for (const line of prose) assert.deepEqual(commentedOutCode(tree(['ts/a.ts', line])), [], line);
});

test('headers and file names', () => {
  const bare = tree(['native/base/a.cc', '#include "a.h"\n'], ['ts/a.ts', 'const a = 1;']);
  const missing = headers(bare);
  assert.equal(missing.length, 2);
  const noThread = headers(tree(['ts/a.ts', '// Counts the things that are there.\n']));
  assert.match(messages(noThread)[0], /neither plane nor thread/);
  const good = headers(
    tree(
      ['ts/a.ts', '// Counts the things that are there. Control plane.\n'],
      ['native/base/a.cc', '// Counts the things that are there.\n#include "a.h"'],
      ['scripts/a.sh', '#!/bin/sh\n# Counts the things that are there.\n'],
    ),
  );
  assert.deepEqual(good, []);
  const names = fileNames(tree(['native/base/a-b.cc', ''], ['ts/a_b.ts', ''], ['ts/a-b.ts', '']));
  assert.deepEqual(
    names.map(({ path }) => path),
    ['native/base/a-b.cc', 'ts/a_b.ts'],
  );
});
