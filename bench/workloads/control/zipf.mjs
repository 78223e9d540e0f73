// Requests for models by Zipf's distribution, the same in each run, and the hits of an ideal LRU.
// Pure.

/** `count` numbers below `models`; number i has a probability proportional to 1 / (i + 1). */
export function zipfDraws(models, count) {
  const sums = [];
  let sum = 0;
  for (let i = 1; i <= models; i += 1) {
    sum += 1 / i;
    sums.push(sum);
  }
  let state = 1;
  return Array.from({ length: count }, () => {
    // A linear congruential generator of 32 bits.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const at = (state / 2 ** 32) * sum;
    let [low, high] = [0, models - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] < at) low = middle + 1;
      else high = middle;
    }
    return low;
  });
}

/** Draws that an LRU with room for `room` models holds. */
export function idealHits(draws, room) {
  const held = new Set();
  let hits = 0;
  for (const one of draws) {
    if (held.delete(one)) hits += 1;
    else if (held.size >= room) held.delete(held.values().next().value);
    held.add(one);
  }
  return hits;
}
