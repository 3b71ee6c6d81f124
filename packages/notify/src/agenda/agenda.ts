/** Options of an {@link Agenda}. */
export interface AgendaOptions {
  /** From one look at a bucket of which nothing is known to the next, in milliseconds. */
  readonly sweepMs: number
  /** A clock that nobody sets, in milliseconds. Default `performance.now`. */
  readonly elapsed?: () => number
  /** From 0 to 1, for the jitter of backoffs. Default `Math.random`. */
  readonly random?: () => number
}

interface Entry {
  readonly bucket: number
  /** When something in it is due, Unix milliseconds; infinite where nothing is known. */
  dueAt: number
  /** The same, of the hints since it was last named. */
  hintedAt: number
  /** When it was last named, Unix milliseconds: a visit does what was due by then. */
  namedAt: number
  /** When it is swept, on the elapsed clock. */
  sweepAt: number
  /** Its place in the order in which buckets were last visited. */
  turn: number
  failures: number
  /** Until when it is left alone after a failure, on the elapsed clock. */
  pausedUntil: number
}

const minBackoffMs = 1_000
const maxBackoffMs = 60_000

/**
 * Which buckets of one kind of work are to be visited now: those that were hinted, those whose known due time has come, and
 * in turn all others. A bucket whose work fails backs off by itself, so that it stops no other. Nothing is promised by a
 * hint, and nothing is lost with one: the sweep comes by.
 */
export class Agenda {
  readonly #sweepMs: number
  readonly #elapsed: () => number
  readonly #random: () => number
  readonly #entries = new Map<number, Entry>()
  /** Buckets in which something was due and done since they were last asked for. */
  readonly #served = new Set<number>()
  #turn = 0

  constructor({ sweepMs, elapsed = () => performance.now(), random = Math.random }: AgendaOptions) {
    this.#sweepMs = sweepMs
    this.#elapsed = elapsed
    this.#random = random
  }

  /** The buckets it is about, in the order of their numbers. */
  get buckets(): readonly number[] {
    return [...this.#entries.keys()].sort((a, b) => a - b)
  }

  /** How many of its buckets have failed and back off. */
  get failing(): number {
    return [...this.#entries.values()].filter(({ failures }) => failures > 0).length
  }

  /**
   * Makes it about these buckets alone. Those that are new are swept within the time of a sweep, spread evenly. Answers
   * the new ones.
   */
  own(buckets: readonly number[]): readonly number[] {
    const kept = new Set(buckets)
    for (const bucket of this.#entries.keys()) if (!kept.has(bucket)) this.#entries.delete(bucket)
    const added = [...kept].filter((bucket) => !this.#entries.has(bucket))
    const now = this.#elapsed()
    for (const [place, bucket] of added.entries())
      this.#entries.set(bucket, {
        bucket,
        dueAt: Number.POSITIVE_INFINITY,
        hintedAt: Number.POSITIVE_INFINITY,
        namedAt: Number.NEGATIVE_INFINITY,
        sweepAt: now + (this.#sweepMs * place) / added.length,
        turn: 0,
        failures: 0,
        pausedUntil: 0,
      })
    return added
  }

  /** Something in these buckets is, or may be, due: now, or at `dueAt` (Unix milliseconds). Others' buckets are ignored. */
  hint(buckets: Iterable<number>, dueAt: number = Number.NEGATIVE_INFINITY): void {
    for (const bucket of buckets) {
      const entry = this.#entries.get(bucket)
      if (!entry) continue
      entry.dueAt = Math.min(entry.dueAt, dueAt)
      entry.hintedAt = Math.min(entry.hintedAt, dueAt)
    }
  }

  /** These buckets were looked at: whatever is due in them was hinted, so that they need not be swept for now. */
  surveyed(buckets: Iterable<number>): void {
    const sweepAt = this.#elapsed() + this.#sweepMs
    for (const bucket of buckets) {
      const entry = this.#entries.get(bucket)
      if (entry) entry.sweepAt = sweepAt
    }
  }

  /**
   * The buckets to be visited at a time (Unix milliseconds), the longest not visited first; at last at most one that has
   * failed, for one that fails may take its time. A bucket that is then neither visited nor failed is named again.
   */
  take(now: number): readonly number[] {
    const elapsed = this.#elapsed()
    const due = [...this.#entries.values()].filter(
      ({ dueAt, sweepAt, pausedUntil }) => pausedUntil <= elapsed && (dueAt <= now || sweepAt <= elapsed),
    )
    const sound = due.filter(({ failures }) => failures === 0).sort((a, b) => a.turn - b.turn || a.bucket - b.bucket)
    const [failing] = due.filter(({ failures }) => failures > 0).sort((a, b) => a.pausedUntil - b.pausedUntil)
    const named = failing ? [...sound, failing] : sound
    for (const entry of named) {
      entry.hintedAt = Number.POSITIVE_INFINITY
      entry.namedAt = now
    }
    return named.map(({ bucket }) => bucket)
  }

  /** Whether a bucket failed when it was last visited. */
  isFailing(bucket: number): boolean {
    return (this.#entries.get(bucket)?.failures ?? 0) > 0
  }

  /**
   * These were visited, and nothing more is due in them before `nextDueAt` (Unix milliseconds) but what was hinted since, or
   * for later.
   */
  visited(buckets: Iterable<number>, nextDueAt: number = Number.POSITIVE_INFINITY): void {
    const sweepAt = this.#elapsed() + this.#sweepMs
    const turn = ++this.#turn
    for (const bucket of buckets) {
      const entry = this.#entries.get(bucket)
      if (!entry) continue
      const isServed = entry.dueAt <= entry.namedAt
      if (isServed) this.#served.add(bucket)
      entry.dueAt = Math.min(isServed ? Number.POSITIVE_INFINITY : entry.dueAt, entry.hintedAt, nextDueAt)
      entry.sweepAt = sweepAt
      entry.turn = turn
      entry.failures = 0
    }
  }

  /**
   * Its buckets in which what was due has been done since this was last called. It knew the first due time of each, and of
   * none behind it: who has no frequent survey looks at these again.
   */
  takeServed(): readonly number[] {
    const served = [...this.#served].filter((bucket) => this.#entries.has(bucket))
    this.#served.clear()
    return served
  }

  /** The work in this bucket failed: it is left alone for a second, then for twice as long each time, up to a minute. */
  failed(bucket: number): void {
    const entry = this.#entries.get(bucket)
    if (!entry) return
    const backoffMs = Math.min(maxBackoffMs, minBackoffMs * 2 ** entry.failures)
    entry.failures++
    entry.pausedUntil = this.#elapsed() + backoffMs * (0.5 + this.#random() / 2)
    entry.dueAt = Number.NEGATIVE_INFINITY
  }

  /** What failed in these buckets may be gone: those that back off are due now. */
  returned(buckets: Iterable<number>): void {
    for (const bucket of buckets) {
      const entry = this.#entries.get(bucket)
      if (!entry || entry.failures === 0) continue
      entry.failures = 0
      entry.pausedUntil = 0
    }
  }

  /** For how long nothing is due, in milliseconds, as known at a time (Unix milliseconds). */
  pauseAt(now: number): number {
    const elapsed = this.#elapsed()
    let pause = Number.POSITIVE_INFINITY
    for (const { dueAt, sweepAt, pausedUntil } of this.#entries.values())
      pause = Math.min(pause, Math.max(0, pausedUntil - elapsed, Math.min(dueAt - now, sweepAt - elapsed)))
    return pause
  }
}
