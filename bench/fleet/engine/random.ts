/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** Uniform in [0, 1). */
  uniform(): number
  /** How many events of a Poisson process with this mean. */
  poisson(mean: number): number
  /** Log-normal with this median; `sigma` is the standard deviation of the logarithm. */
  logNormal(median: number, sigma: number): number
}

/** A generator (mulberry32). @param seed any integer */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
  return {
    uniform,
    poisson: (mean) => (mean > 50 ? Math.max(0, Math.round(mean + Math.sqrt(mean) * normal())) : small(mean, uniform)),
    logNormal: (median, sigma) => median * Math.exp(sigma * normal()),
  }
}

/** Knuth's algorithm, whose time grows with the mean. */
function small(mean: number, uniform: () => number): number {
  const limit = Math.exp(-mean)
  let count = 0
  for (let product = uniform(); product > limit; product *= uniform()) count++
  return count
}
