// Makes a CUDA library compress well: in its section .nv_fatbin, zeros replace the device code that
// a GPU of the wanted compute capability does not run. Offsets, sizes and headers stay. If a fat
// binary has nothing for exactly that capability, the best code that runs on it stays: code of the
// same major version, else PTX of the highest capability that is not above it. Pure.
// Source: the layout of fat binaries as cuobjdump lists it; ELF-64.

const FATBIN_MAGIC = 0xba55ed50;
const [PTX, CODE] = [1, 2];
const KINDS = [1, 2, 4, 8, 16, 32, 64];
const SECTION = '.nv_fatbin';
const ENTRY_BYTES_MIN = 64;
const ENTRY_BYTES_MAX = 4096;

const wide = (data, at) => Number(data.readBigUInt64LE(at));

/** Returns {start, bytes} of the ELF section with this name; undefined if there is none. */
function sectionOf(data, wanted) {
  if (data.readUInt32BE(0) !== 0x7f454c46) throw new RangeError('expected an ELF library');
  const [table, each, count, names] = [
    wide(data, 40),
    data.readUInt16LE(58),
    data.readUInt16LE(60),
    data.readUInt16LE(62),
  ];
  const strings = wide(data, table + names * each + 24);
  for (let i = 0; i < count; i += 1) {
    const at = table + i * each;
    const name = strings + data.readUInt32LE(at);
    if (data.toString('latin1', name, data.indexOf(0, name)) !== wanted) continue;
    return { start: wide(data, at + 24), bytes: wide(data, at + 32) };
  }
  return undefined;
}

/** The entries of a fat binary's body: {kind, arch, start, bytes} of each. */
function entriesOf(data, start, bytes) {
  const entries = [];
  for (let at = start; at + ENTRY_BYTES_MIN <= start + bytes; ) {
    const [kind, header, payload] = [
      data.readUInt16LE(at),
      data.readUInt32LE(at + 4),
      wide(data, at + 8),
    ];
    if (!KINDS.includes(kind) || header < ENTRY_BYTES_MIN || header > ENTRY_BYTES_MAX) {
      throw new RangeError(`unknown entry of kind ${kind} with a head of ${header} bytes at ${at}`);
    }
    entries.push({ kind, arch: data.readUInt32LE(at + 28), start: at + header, bytes: payload });
    at += header + payload;
  }
  return entries;
}

/** The entries that a GPU of capability `arch` (90: 9.0) runs. Pure. */
export function keptEntries(entries, arch) {
  const best = (fits) => {
    const fitting = entries.filter(fits).map((entry) => entry.arch);
    return entries.filter((entry) => fits(entry) && entry.arch === Math.max(...fitting));
  };
  const major = Math.floor(arch / 10);
  for (const fits of [
    ({ kind, arch: own }) => kind === CODE && own === arch,
    ({ kind, arch: own }) => kind === CODE && Math.floor(own / 10) === major && own < arch,
    ({ kind, arch: own }) => kind === PTX && own <= arch,
  ]) {
    const kept = best(fits);
    if (kept.length > 0) return kept;
  }
  return [];
}

/**
 * Overwrites the code that `arch` does not run in `data`, a whole library. Returns {binaries, kept,
 * removed}: counts, the last two of bytes. Throws RangeError on a layout that is not known.
 */
export function slimFatbin(data, arch) {
  const section = sectionOf(data, SECTION);
  if (section === undefined) throw new RangeError(`expected a section ${SECTION}`);
  const sum = { binaries: 0, kept: 0, removed: 0 };
  const end = section.start + section.bytes;
  for (let at = section.start; at + 16 <= end; ) {
    if (data.readUInt32LE(at) !== FATBIN_MAGIC) {
      at += 8;
      continue;
    }
    const [header, bytes] = [data.readUInt16LE(at + 6), wide(data, at + 8)];
    const entries = entriesOf(data, at + header, bytes);
    const kept = keptEntries(entries, arch);
    for (const entry of entries) {
      const stays = kept.includes(entry);
      sum[stays ? 'kept' : 'removed'] += entry.bytes;
      if (!stays) data.fill(0, entry.start, entry.start + entry.bytes);
    }
    sum.binaries += 1;
    at += header + bytes;
  }
  return sum;
}
