// Runs many small jobs, a few at a time. Test time only.

/** Runs `job` for each of `items`, `count` at once. Rejects with the first failure. */
export async function mapAtOnce<T>(
  items: readonly T[],
  count: number,
  job: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) await job(item);
  };
  await Promise.all(Array.from({ length: count }, lane));
}
