// The files of a release that are not packages: its notes, from CHANGELOG.md, and the checksums.
// Build time only.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { artefacts, OUT, root, version } from './names.mjs';

/**
 * The section of a version in CHANGELOG.md, without its heading. Relative links become their text,
 * because the notes are read elsewhere. Throws if there is none. Pure.
 */
export function notesOf(changelog, wanted) {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((one) => one.split(/\s/, 1)[0] === wanted);
  if (section === undefined) throw new Error(`package: CHANGELOG.md has no section ${wanted}`);
  const body = section.slice(section.indexOf('\n') + 1).trim();
  if (body === '') throw new Error(`package: the section ${wanted} of CHANGELOG.md is empty`);
  return body.replace(/\[([^\]]+)\]\((?![a-z]+:)[^)]*\)/g, '$1');
}

/** Writes the notes of this version; returns their name. */
export function writeNotes() {
  const { notes } = artefacts();
  const body = notesOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  const check = 'The checksums of all files are in SHA256SUMS: `sha256sum -c SHA256SUMS`.';
  writeFileSync(join(OUT, notes), `# Serval ${version}\n\n${body}\n\n${check}\n`);
  return notes;
}

/** Writes SHA256SUMS of all files below out/, in the format of sha256sum. */
export function writeSums() {
  const { sums } = artefacts();
  const names = readdirSync(OUT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== sums)
    .map((entry) => relative(OUT, join(entry.parentPath ?? entry.path, entry.name)));
  const lines = names.sort().map((name) => {
    const sum = createHash('sha256')
      .update(readFileSync(join(OUT, name)))
      .digest('hex');
    return `${sum}  ${name}\n`;
  });
  writeFileSync(join(OUT, sums), lines.join(''));
}
