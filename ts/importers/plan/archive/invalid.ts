// The error of an archive that is not taken. Control plane; pure.

const NAME_CHARS_SHOWN = 200;

/** A name out of an archive, fit for an error text. */
export function quoted(name: string): string {
  const cut = name.length > NAME_CHARS_SHOWN;
  return JSON.stringify(cut ? `${name.slice(0, NAME_CHARS_SHOWN)}...` : name);
}
