// Becomes dist/bundle/load.cjs: runs one of the files that a server's threads run, from V8's code
// of it where the build left code for this very Node, else from its text. Compiling those texts
// takes 24 of the 180 ms of a start; reading the code takes 3. Any thread, once each.
'use strict';
const { existsSync, readFileSync } = require('node:fs');
const { Script } = require('node:vm');

/** The path of the code beside `file`. */
function codeOf(file) {
  return `${file}.v8`;
}

/** The script of a CommonJS file. V8 rejects code of another version of itself, or for other flags;
 * the build makes sure that it is the code of this text. The text is ASCII: as latin1 it is read in
 * half of the time that UTF-8 takes (1.3 instead of 2.7 ms for 1 MB). */
function scriptOf(file, code) {
  const head = '(function (exports, require, module, __filename, __dirname) { ';
  return new Script(`${head}${readFileSync(file, 'latin1')}\n})`, {
    filename: file,
    cachedData: code,
  });
}

/** Runs `file`, which lies in `folder`, as the module `target`. */
function load(file, folder, target) {
  const code = codeOf(file);
  if (!existsSync(code)) {
    target.exports = target.require(file);
    return;
  }
  const run = scriptOf(file, readFileSync(code)).runInThisContext();
  run(target.exports, target.require.bind(target), target, file, folder);
}

/** import() for them: in a script that is run like this it is an experiment of Node's, or an error. */
function importBeside(name) {
  return import(`./${name}`);
}

module.exports = { codeOf, importBeside, load, scriptOf };
