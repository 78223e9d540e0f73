// Checks which libraries and names serval.node needs from the process that loads it, and which
// names it exports. Everything else is linked into it with hidden names, because Node itself
// exports an nghttp2, an OpenSSL and a zlib. Test time only; needs binutils.
import { execFileSync } from 'node:child_process';
import { check } from './served.mjs';

// Libraries of glibc.
const LIBRARIES = /^(?:lib(?:c|m|dl|pthread|rt)|ld-linux-(?:x86-64|aarch64))\.so\.\d$/;
const ASKED = /^(?:(?:napi|uv)_\w+|\w+@GLIBC_[\d.]+)$/; // names of Node and of glibc
const SHOWN = /^n(?:ode_api_module_get_api_version|api_register_module)_v\d+$/;

const linesOf = (command, ...args) =>
  execFileSync(command, args, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '');

// Returns the last words of nm's lines, without weak names and names of templates (u), which belong
// to the standard library.
const symbols = (addon, which) =>
  linesOf('nm', '--dynamic', which, addon)
    .filter((line) => !/ [uvwVW] /.test(line))
    .map((line) => line.split(' ').at(-1) ?? '');

/** Throws if the addon needs a library or a name that some systems lack, or exports a name. */
export function checkNativeLinks(addon) {
  const needed = linesOf('readelf', '--dynamic', '--wide', addon)
    .map((line) => /\(NEEDED\).*\[(.*)\]/.exec(line)?.[1])
    .filter((name) => name !== undefined);
  check(needed.length > 0, `readelf names no libraries of ${addon}`);
  const foreign = needed.filter((name) => !LIBRARIES.test(name));
  check(foreign.length === 0, `serval.node needs ${foreign.join(', ')}`);
  const asked = symbols(addon, '--undefined-only').filter((name) => !ASKED.test(name));
  check(asked.length === 0, `serval.node imports ${asked.join(', ')}`);
  const all = symbols(addon, '--defined-only');
  check(all.length > 0, `nm names no symbol of ${addon}`);
  const shown = all.filter((name) => !SHOWN.test(name));
  check(shown.length === 0, `serval.node exports ${shown.join(', ')}`);
}
