// Finds and loads uWebSockets.js, which has a binary per Node ABI. Control plane; a listener's
// thread (load) and the main thread (find). Opens the file directly, bypassing the package's
// loader: a Serval package contains two of its binaries and no node_modules.
import { createRequire } from 'node:module';
import type * as Uws from 'uWebSockets.js';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';
import { shippedFile } from '../../base/package-files.js';

/** Removes the header "uWebSockets" from responses, which would help attackers. */
const NO_MARK = '999999990007';

interface Configurable {
  readonly _cfg?: (key: string) => void;
}

/** The binary for the running Node version; undefined if there is none for its ABI. */
export function uwsFile(): string | undefined {
  const { platform, arch, versions } = process;
  const name = `uws_${platform}_${arch}_${versions.modules}.node`;
  return shippedFile(name, `node_modules/uWebSockets.js/dist/bin/${name}`);
}

/** Throws ServalError(RuntimeUnavailable) if there is none, or it cannot be loaded. */
export function loadUws(): typeof Uws {
  const file = uwsFile();
  try {
    if (file === undefined) throw new Error(`none for ABI ${process.versions.modules}`);
    const uws = createRequire(import.meta.url)(file) as typeof Uws & Configurable;
    uws._cfg?.(NO_MARK);
    return uws;
  } catch (error) {
    const reason = reasonOf(error);
    throw new ServalError(
      ErrorCode.RuntimeUnavailable,
      `cannot load uWebSockets.js on Node ${process.version}: ${reason}`,
    );
  }
}
