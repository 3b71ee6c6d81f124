/** A kind of traffic, with what it needs to be told. */
export type Traffic =
  | { readonly kind: 'steady'; readonly perMinute: number; readonly minutes: number }
  | { readonly kind: 'burst'; readonly size: number; readonly everySeconds: number; readonly minutes: number }
  | { readonly kind: 'ramp'; readonly from: number; readonly to: number; readonly minutes: number }
  | { readonly kind: 'office'; readonly peakPerMinute: number }
  | { readonly kind: 'pasted'; readonly text: string }
  | { readonly kind: 'recorded'; readonly minutes: readonly RecordedMinute[] }

/** Traffic that every caller sends alike. */
export type Pattern = Exclude<Traffic, { kind: 'pasted' }>

/** The requests of a caller in one minute. */
export interface RecordedMinute {
  /** When it began, of RFC 3339. */
  readonly at: string
  readonly count: number
}

/** A request: when, and of which caller. */
export interface Arrival {
  readonly at: number
  readonly caller: string
  /** What was called, where the traffic says it. */
  readonly route?: string
}

/** The maximum number of requests of a simulation. */
export const maxArrivals = 200_000

/** Where a simulation begins: a full minute, and the start of a day, so that windows begin with it. */
const startOfTraffic = Date.UTC(2026, 0, 5)

const minuteMs = 60_000

/** Share of the peak in each hour of a day at an office. */
const officeHours = [
  0.02, 0.02, 0.02, 0.02, 0.03, 0.06, 0.15, 0.4, 0.75, 1, 1, 0.9, 0.65, 0.85, 0.95, 0.9, 0.75, 0.5, 0.3, 0.2, 0.12,
  0.08, 0.05, 0.03,
]

/**
 * The requests of every caller together, in the order of time, at most {@link maxArrivals}. The same traffic gives the
 * same requests. Callers are at different moments of the same pattern.
 */
export function arrivalsOf(traffic: Pattern, callers: number): Arrival[] {
  const found: Arrival[] = []
  for (let nth = 0; nth < callers; nth++) {
    const random = randomBy(nth + 1)
    for (const at of timesOf(traffic, random)) {
      if (found.length >= maxArrivals) break
      found.push({ at: startOfTraffic + at, caller: `caller ${nth + 1}` })
    }
  }
  return found.sort((one, other) => one.at - other.at)
}

function* timesOf(traffic: Pattern, random: () => number): Generator<number> {
  if (traffic.kind === 'burst') {
    const { size, everySeconds, minutes } = traffic
    const offset = (random() * Math.min(everySeconds * 1_000, minutes * minuteMs)) / 2
    for (let at = offset; at < minutes * minuteMs; at += everySeconds * 1_000)
      for (let nth = 0; nth < size; nth++) yield Math.floor(at + nth * 5)
    return
  }
  if (traffic.kind === 'recorded') {
    yield* timesOfMinutes(traffic.minutes, random)
    return
  }
  const { end, rateAt, maxRate } = rateOf(traffic)
  if (maxRate <= 0) return
  // Thinning: arrivals at the highest rate, each kept with the share that the rate has at its time.
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random()) * minuteMs) / maxRate
    if (at >= end) return
    if (random() * maxRate < rateAt(at)) yield Math.floor(at)
  }
}

/** A history has counts of minutes: when in its minute a request was is not known. */
function* timesOfMinutes(minutes: readonly RecordedMinute[], random: () => number): Generator<number> {
  const start = Date.parse(minutes[0]?.at ?? '')
  for (const { at, count } of minutes) {
    const begin = Date.parse(at) - start
    const times = Array.from({ length: count }, () => begin + Math.floor(random() * minuteMs))
    yield* times.sort((one, other) => one - other)
  }
}

/** Requests a minute at a time since the start. */
function rateOf(traffic: Exclude<Traffic, { kind: 'pasted' | 'burst' | 'recorded' }>) {
  if (traffic.kind === 'steady')
    return { end: traffic.minutes * minuteMs, rateAt: () => traffic.perMinute, maxRate: traffic.perMinute }
  if (traffic.kind === 'office') {
    const rateAt = (at: number) => traffic.peakPerMinute * (officeHours[Math.floor(at / (60 * minuteMs))] ?? 0)
    return { end: 24 * 60 * minuteMs, rateAt, maxRate: traffic.peakPerMinute }
  }
  const { from, to, minutes } = traffic
  const end = minutes * minuteMs
  return { end, rateAt: (at: number) => from + ((to - from) * at) / end, maxRate: Math.max(from, to) }
}

/** Random numbers from 0 to below 1, the same for the same seed (mulberry32). */
function randomBy(seed: number): () => number {
  let state = Math.imul(seed, 0x9e3779b9)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
