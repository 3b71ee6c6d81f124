import { hotKeyStore } from '../hot-keys/store.ts'
import { hybridStore } from '../hybrid/store.ts'
import { type MemoryStore, memoryStore } from '../memory/store.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult, CounterStore } from '../store.ts'

export interface FleetOptions {
  readonly policy: Policy
  /** How it is counted: `hybrid` (default), or exactly, in portions once it is `hot`. */
  readonly counting?: 'hybrid' | 'hot'
  /** Processes that share the limit. */
  readonly instances: number
  /** Requests of the whole fleet, for one identifier. */
  readonly offeredPerSecond: number
  readonly seconds: number
  /**
   * Where the requests go: the weight of a process at so many milliseconds. A process without weight stands still, as one
   * that has not joined, has left or is frozen: it reconciles nothing. Default: all alike.
   */
  readonly weight?: (process: number, ms: number) => number
  /** How many processes each of them believes there are. Default: `instances`. */
  readonly assumedInstances?: number
  /** Each way to the store and back takes up to so long. Default 2. */
  readonly roundTripMs?: number
  /** Clocks differ by up to so much either way. Default 0. */
  readonly skewMs?: number
  /** Share of calls whose answer is lost; half of them are counted all the same. Default 0. */
  readonly lossRate?: number
  /** Seconds at which the store fails over to what it knew half a second before. */
  readonly failoverAtSeconds?: readonly number[]
  readonly seed?: number
}

export interface FleetOutcome {
  /** The most that was admitted in one window, as a multiple of the limit of the policy's first rule. */
  readonly worstWindow: number
  /** What was admitted in all, as a multiple of what the first rule's limit allows in that time. */
  readonly overall: number
  /** Share of requests that had to ask the store. */
  readonly remote: number
  /** Calls of the store for each request. */
  readonly calls: number
}

interface Member {
  readonly store: CounterStore
  readonly skewMs: number
  /** What it does every 100 ms. */
  reconcile(): void
}

/** When the last call on a connection arrived, and when its answer. */
interface Line {
  there: number
  back: number
}

const reconcileEveryMs = 100
const replicaLagMs = 500
const giveUpMs = 50

/** Plays a fleet of processes that count one identifier, in time of its own. */
export async function simulateFleet(options: FleetOptions): Promise<FleetOutcome> {
  const fleet = new Fleet(options)
  return fleet.play()
}

class Fleet {
  readonly #options: FleetOptions
  readonly #random: () => number
  readonly #due = new Map<number, (() => void)[]>()
  readonly #members: readonly Member[]
  readonly #start = Date.UTC(2026, 0, 1)
  #primary: MemoryStore = memoryStore()
  #replica: MemoryStore = memoryStore()
  #now = this.#start
  #offered = 0
  #remote = 0
  #calls = 0
  readonly #admitted: number[] = []

  constructor(options: FleetOptions) {
    this.#options = options
    this.#random = mulberry32(options.seed ?? 1)
    this.#members = Array.from({ length: options.instances }, () => this.#member())
  }

  async play(): Promise<FleetOutcome> {
    const { policy, seconds, offeredPerSecond, weight = () => 1, failoverAtSeconds = [] } = this.#options
    for (const at of failoverAtSeconds) this.#at(this.#start + Math.round(at * 1000), () => this.#failOver())
    for (let ms = 0; ms < seconds * 1000; ms++) {
      this.#now = this.#start + ms
      for (const run of this.#due.get(this.#now) ?? []) run()
      this.#due.delete(this.#now)
      const weights = this.#members.map((_, i) => weight(i, ms))
      const sum = weights.reduce((total, one) => total + one, 0)
      this.#members.forEach(({ store, skewMs, reconcile }, i) => {
        const own = weights[i] ?? 0
        if (own === 0) return
        const perMs = (offeredPerSecond / 1000) * (own / sum)
        for (let n = poisson(perMs, this.#random); n > 0; n--) this.#request(store, skewMs)
        if ((ms + i * 7) % reconcileEveryMs === 0) reconcile()
      })
      await new Promise((resolve) => setImmediate(resolve))
    }
    const [rule] = policy.rules
    if (rule === undefined) throw new RangeError('a policy has a rule')
    const windows = (seconds * 1000) / rule.windowMs
    const total = this.#admitted.reduce((sum, count) => sum + (count ?? 0), 0)
    return {
      worstWindow: Math.max(...this.#admitted.filter((count) => count !== undefined)) / rule.limit,
      overall: total / (rule.limit * windows),
      remote: this.#remote / this.#offered,
      calls: this.#calls / this.#offered,
    }
  }

  #member(): Member {
    const {
      counting = 'hybrid',
      instances: actual,
      assumedInstances: instances = actual,
      skewMs: most = 0,
    } = this.#options
    const skewMs = Math.round((this.#random() * 2 - 1) * most)
    if (counting === 'hot') {
      const store = hotKeyStore(this.#wire(), { instances, intervalMs: 0 })
      return { store, skewMs, reconcile: () => store.maintain() }
    }
    const store = hybridStore(this.#wire(), { instances, intervalMs: 0 })
    return { store, skewMs, reconcile: () => void store.reconcile() }
  }

  #request(store: CounterStore, skewMs: number): void {
    const window = Math.floor((this.#now - this.#start) / (this.#options.policy.rules[0]?.windowMs ?? 1))
    const count = ({ allowed }: CounterResult): void => {
      if (allowed) this.#admitted[window] = (this.#admitted[window] ?? 0) + 1
    }
    this.#offered++
    const result = store.acquire(this.#options.policy, { kind: 'route', id: 'hot' }, 1, this.#now + skewMs)
    if (result instanceof Promise) {
      this.#remote++
      result.then(count, () => {})
    } else count(result)
  }

  /** One process's connection to the store, which keeps the time; what is sent first arrives first. */
  #wire(): CounterStore {
    const line: Line = { there: 0, back: 0 }
    return {
      acquire: (policy, who, cost) => this.#call(line, (store, now) => store.acquire(policy, who, cost, now)),
      peek: (policy, who) => this.#call(line, (store, now) => store.peek(policy, who, now)),
      add: (policy, who, amounts, at, then = at) =>
        this.#call(line, (store, now) => store.add(policy, who, amounts, now, then)),
      grant: (policy, who, amount) => this.#call(line, (store, now) => store.grant(policy, who, amount, now)),
      raise: (policy, who, counters) => this.#call(line, (store, now) => store.raise(policy, who, counters, now)),
      reset: (policy, who) => this.#call(line, (store, now) => store.reset(policy, who, now)),
      time: () => this.#now,
    }
  }

  #call<T>(line: Line, act: (store: MemoryStore, now: number) => T): Promise<T> {
    const { roundTripMs = 2, lossRate: lost = 0 } = this.#options
    const delayMs = (): number => 1 + Math.floor((this.#random() * roundTripMs) / 2)
    this.#calls++
    const there = Math.max(line.there, this.#now + delayMs())
    const back = Math.max(line.back, there + delayMs())
    line.there = there
    line.back = back
    const isLost = this.#random() < lost
    const isCounted = !isLost || this.#random() < 0.5
    return new Promise((resolve, reject) => {
      this.#at(there, () => {
        if (!isCounted) return
        const now = this.#now
        const answer = act(this.#primary, now)
        this.#at(now + replicaLagMs, () => act(this.#replica, now))
        if (!isLost) this.#at(back, () => resolve(answer))
      })
      if (isLost) this.#at(there + giveUpMs, () => reject(new Error('no answer')))
    })
  }

  #at(time: number, run: () => void): void {
    const due = this.#due.get(time)
    if (due) due.push(run)
    else this.#due.set(time, [run])
  }

  /** The replica knows nothing of the last half second, and gets an empty replica of its own. */
  #failOver(): void {
    this.#primary = this.#replica
    this.#replica = memoryStore()
  }
}

function poisson(mean: number, random: () => number): number {
  const limit = Math.exp(-mean)
  let product = random()
  let n = 0
  while (product > limit) {
    product *= random()
    n++
  }
  return n
}

function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
