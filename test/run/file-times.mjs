// A reporter for node's test runner: a line "milliseconds file" for each file, the sum of its
// outermost tests. Test time only.
export default async function* fileTimes(source) {
  const times = new Map();
  for await (const { type, data } of source) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.nesting !== 0) continue;
    const file = data.file ?? '';
    times.set(file, (times.get(file) ?? 0) + data.details.duration_ms);
  }
  for (const [file, ms] of times) yield `${Math.round(ms)} ${file}\n`;
}
