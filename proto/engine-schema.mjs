// Reads engine.fbs: the part of flatc's language that it uses. Build time only.

const BLOCK = /((?:^\/\/.*\n)*)^(enum|table) (\w+)(?: : \w+)?(?: \((\w+)\))? \{([^}]*)\}/gm;
const MEMBER =
  /((?:^ *\/\/.*\n)*) *(\w+): (\[?)(\w+)\]?(?: = (-?\w+))?(?: \((\w+)\))?;(?: *\/\/ (.*))?/gm;
const VALUE = /(\w+) = (\d+),?(?: *\/\/ (.*))?/g;

// "// one\n// two\n" and "three" -> "one two three"
function commentOf(before, behind = '') {
  const lines = before.split('\n').map((line) => line.replace(/^ *\/\/ ?/, ''));
  return [...lines, behind].filter((line) => line !== '').join(' ');
}

function member([, before, name, list, type, fallback, attribute, behind]) {
  return {
    name,
    type,
    many: list !== '',
    fallback,
    attribute,
    comment: commentOf(before, behind),
  };
}

/** Returns {enums, tables} of the schema, in its order. */
export function readSchema(text) {
  const enums = [];
  const tables = [];
  for (const [, before, kind, name, attribute, body] of text.matchAll(BLOCK)) {
    const comment = commentOf(before);
    if (kind === 'enum') {
      const values = [...body.matchAll(VALUE)].map(([, value, number, behind]) => ({
        name: value,
        number: Number(number),
        comment: behind,
      }));
      enums.push({ name, comment, values });
    } else {
      const members = [...body.matchAll(MEMBER)].map(member);
      tables.push({ name, comment, attribute, members });
    }
  }
  return { enums, tables };
}
