// What serval.node asks of the process that loads it, and what it shows. Everything else is linked
// into it with hidden names: Node exports an nghttp2, an OpenSSL and a zlib of its own. Test time
// only; needs binutils.
import { execFileSync } from 'node:child_process';
import { check } from './served.mjs';

// Parts of glibc.
const LIBRARIES = /^(?:lib(?:c|m|dl|pthread|rt)|ld-linux-x86-64)\.so\.\d$/;
const ASKED = /^(?:(?:napi|uv)_\w+|\w+@GLIBC_[\d.]+)$/; // of Node, of glibc
const SHOWN = /^n(?:ode_api_module_get_api_version|api_register_module)_v\d+$/;

const linesOf = (command, ...args) =>
  execFileSync(command, args, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line !== '');

// Last words of lines of nm. Weak names and those of templates (u) are of the standard library.
const symbols = (addon, which) =>
  linesOf('nm', '--dynamic', which, addon)
    .filter((line) => !/ [uvwVW] /.test(line))
    .map((line) => line.split(' ').at(-1) ?? '');

/** Throws where the addon needs a library or a name that is not there everywhere, or shows one. */
export function checkNativeLinks(addon) {
  const needed = linesOf('readelf', '--dynamic', '--wide', addon)
    .map((line) => /\(NEEDED\).*\[(.*)\]/.exec(line)?.[1])
    .filter((name) => name !== undefined);
  check(needed.length > 0, `readelf names no libraries of ${addon}`);
  const foreign = needed.filter((name) => !LIBRARIES.test(name));
  check(foreign.length === 0, `serval.node needs ${foreign.join(', ')}`);
  const asked = symbols(addon, '--undefined-only').filter((name) => !ASKED.test(name));
  check(asked.length === 0, `serval.node asks for ${asked.join(', ')}`);
  const all = symbols(addon, '--defined-only');
  check(all.length > 0, `nm names no symbol of ${addon}`);
  const shown = all.filter((name) => !SHOWN.test(name));
  check(shown.length === 0, `serval.node shows ${shown.join(', ')}`);
}
