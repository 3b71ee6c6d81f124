/** A random number of events with this mean, by a Poisson distribution. */
export function poisson(mean: number, random: () => number): number {
  const limit = Math.exp(-mean)
  let product = random()
  let n = 0
  while (product > limit) {
    product *= random()
    n++
  }
  return n
}

/** A pseudo-random generator of numbers from 0 to below 1, the same sequence for the same seed. */
export function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
