import { type Log, startWorker, type Worker } from '@gatehouse/kit'
import { type LimitsDocument, parseLimitsDocument } from '../config/declared-limits.ts'
import type { ClientPolicy, LimitFeed, LimitOverride, LimitSource } from '../model/limit-feed.ts'

/** Options of {@link followLimits}. */
export interface FollowLimitsOptions {
  readonly source: LimitSource
  /** Applies a whole document, or throws a RangeError and changes nothing. */
  readonly apply: (document: LimitsDocument) => void
  readonly setOverrides: (overrides: readonly LimitOverride[]) => void
  readonly setClientPolicies: (clients: readonly ClientPolicy[]) => void
  readonly log: Log
}

/** Follows stored limits until it is stopped. */
export interface LimitFollower {
  /** Resolves with the first read, or after a second without one. */
  readonly started: Promise<void>
  /** Whether a stored version applies, and not the file. */
  readonly hasStored: boolean
  /** Reads now. */
  refresh(): Promise<void>
  stop(): Promise<void>
}

/** How long it takes until a change applies everywhere, in milliseconds. */
const pollMs = 5_000
const firstReadMs = 1_000
/** Every so many reads the version is reported again, as a sign of life. */
const readsPerReport = 6

/**
 * Reads the stored limits every 5 s and applies what changed. While identity cannot be reached, what was read last
 * stays; a version that this process cannot apply is reported with the reason, and the previous one stays.
 */
export function followLimits(options: FollowLimitsOptions): LimitFollower {
  const follower = new Follower(options)
  let worker: Worker | undefined
  let isStopped = false
  const first = follower.pass()
  void first.then(() => {
    if (isStopped) return
    const idleMs = () => pollMs * (0.9 + Math.random() / 10)
    let isFirst = true
    worker = startWorker({
      name: 'limits',
      log: options.log,
      idleMs,
      async pass() {
        if (!isFirst) await follower.pass()
        isFirst = false
        return false
      },
    })
  })
  return {
    started: within(firstReadMs, first),
    get hasStored() {
      return follower.hasStored
    },
    refresh: () => follower.pass(),
    async stop() {
      isStopped = true
      await worker?.stop()
    },
  }
}

class Follower {
  readonly #options: FollowLimitsOptions
  #etag: string | undefined
  #version = 0
  #refused: number | undefined
  #fault: string | undefined
  #readsUntilReport = 0
  #isAway = false
  #reading = Promise.resolve()

  constructor(options: FollowLimitsOptions) {
    this.#options = options
  }

  get hasStored(): boolean {
    return this.#version > 0
  }

  /** Reads once, after a read that is under way: an older version never follows a newer one. Never rejects. */
  pass(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read())
    return this.#reading
  }

  async #read(): Promise<void> {
    const { source, log } = this.#options
    try {
      const feed = await source.read(this.#etag)
      if (feed !== undefined) this.#apply(feed)
      if (this.#readsUntilReport-- <= 0) await this.#report()
      if (this.#isAway) log.info('limits are read from identity again')
      this.#isAway = false
    } catch (err) {
      if (!this.#isAway) log.warn({ err }, 'limits cannot be read from identity: what was read last stays')
      this.#isAway = true
    }
  }

  #apply({ version, etag, document, overrides, clients }: LimitFeed): void {
    const { apply, setOverrides, setClientPolicies, log } = this.#options
    setOverrides(overrides)
    setClientPolicies(clients)
    this.#etag = etag
    if (document === undefined || version === this.#version || version === this.#refused) return
    this.#readsUntilReport = 0
    try {
      apply(parseLimitsDocument(document))
      this.#version = version
      this.#fault = undefined
      this.#refused = undefined
      log.info({ version }, 'tiers and policies of a stored version apply')
    } catch (err) {
      if (!(err instanceof RangeError)) throw err
      this.#refused = version
      this.#fault = err.message
      log.error({ err, version }, 'a stored version of tiers and policies cannot apply here: the previous one stays')
    }
  }

  async #report(): Promise<void> {
    const { source } = this.#options
    await source.report({ version: this.#version, ...(this.#fault === undefined ? {} : { fault: this.#fault }) })
    this.#readsUntilReport = readsPerReport
  }
}

function within(milliseconds: number, promise: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    void promise.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
