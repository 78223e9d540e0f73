// The folder of --model-cache: its contents are loaded, so nobody else may be able to write it.
// Control plane, at start.
import { mkdirSync, statSync, type Stats } from 'node:fs';
import { OWN_FOLDER_MODE } from '../../base/own-file.js';
import { ErrorCode, ServalError, reasonOf } from '../../base/errors.js';

/**
 * Creates --model-cache if it is missing, for its owner alone. Errors: InvalidArgument: others can
 * write it; a group may if it is the process's own.
 */
export function checkCacheFolder(folder: string): void {
  if (folder === '') return;
  const refused = (text: string): ServalError =>
    new ServalError(ErrorCode.InvalidArgument, `--model-cache: ${folder}: ${text}`);
  let about: Stats;
  try {
    mkdirSync(folder, { recursive: true, mode: OWN_FOLDER_MODE });
    about = statSync(folder);
  } catch (error) {
    throw refused(reasonOf(error));
  }
  const { mode, uid, gid } = about;
  const byGroup = (mode & 0o020) !== 0 && gid !== process.getegid?.();
  const byOwner = uid !== 0 && uid !== process.geteuid?.();
  if ((mode & 0o002) === 0 && !byGroup && !byOwner) return;
  const got = `mode ${(mode & 0o7777).toString(8).padStart(4, '0')} of user ${uid}, group ${gid}`;
  throw refused(`expected a folder that no other user may write, got ${got}`);
}
