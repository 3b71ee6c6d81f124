import { hotKeyStore } from '../hot-keys/store.ts'
import { hybridStore } from '../hybrid/store.ts'
import { type MemoryStore, memoryStore } from '../memory/store.ts'
import type { Policy } from '../policy.ts'
import type { CounterResult, CounterStore } from '../store.ts'
import { mulberry32, poisson } from './random.ts'

/** Options of {@link simulateFleet}. */
export interface FleetOptions {
  /** The policy to count by. Results are about its first rule. */
  readonly policy: Policy
  /** How it is counted: `hybrid` (default), or exactly, with leases once the key is `hot`. */
  readonly counting?: 'hybrid' | 'hot'
  /** Processes that share the limit. */
  readonly instances: number
  /** Requests of the whole fleet per second, for one identifier. */
  readonly offeredPerSecond: number
  /** Simulated duration. */
  readonly seconds: number
  /**
   * How the requests are distributed: the weight of a process at a time in milliseconds. A process without weight does
   * nothing and reconciles nothing, as one that has not joined, has left or is frozen. Default: equal weights.
   */
  readonly weight?: (process: number, ms: number) => number
  /** Number of processes that each of them assumes. Default: `instances`. */
  readonly assumedInstances?: number
  /** Maximum of a round trip to the store, in milliseconds. Default 2. */
  readonly roundTripMs?: number
  /** Maximum deviation of a process's clock, in milliseconds either way. Default 0. */
  readonly skewMs?: number
  /** Share of calls whose response is lost; half of these are counted all the same. Default 0. */
  readonly lossRate?: number
  /** Seconds at which the store fails over to its state half a second before. */
  readonly failoverAtSeconds?: readonly number[]
  /** Seed of the random numbers. Default 1. */
  readonly seed?: number
}

/** Result of {@link simulateFleet}. */
export interface FleetOutcome {
  /** Maximum of what was admitted in one window, as a multiple of the limit of the first rule. */
  readonly worstWindow: number
  /** What was admitted in all, as a multiple of what the limit of the first rule allows in that time. */
  readonly overall: number
  /** Share of requests that waited for the store. */
  readonly remote: number
  /** Calls of the store for each request. */
  readonly calls: number
}

interface Member {
  readonly store: CounterStore
  readonly skewMs: number
  /** Called every 100 ms. */
  reconcile(): void
}

/** When the last call on a connection arrived at the store, and when its response arrived. */
interface Connection {
  requestAt: number
  responseAt: number
}

const reconcileEveryMs = 100
const replicaLagMs = 500
const callTimeoutMs = 50

/**
 * Simulates a fleet of processes that count one identifier, in simulated time.
 *
 * @throws RangeError for a policy without rules
 * @example
 * const route = definePolicy('route', [{ name: 'route', limit: 10_000, windowMs: 1_000 }], { advisory: true })
 * const { worstWindow } = await simulateFleet({ policy: route, instances: 20, offeredPerSecond: 40_000, seconds: 10 })
 */
export async function simulateFleet(options: FleetOptions): Promise<FleetOutcome> {
  const fleet = new Fleet(options)
  return fleet.run()
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
    this.#members = Array.from({ length: options.instances }, () => this.#createMember())
  }

  async run(): Promise<FleetOutcome> {
    const { policy, seconds, offeredPerSecond, weight = () => 1, failoverAtSeconds = [] } = this.#options
    for (const at of failoverAtSeconds) this.#at(this.#start + Math.round(at * 1000), () => this.#failOver())
    for (let ms = 0; ms < seconds * 1000; ms++) {
      this.#now = this.#start + ms
      for (const action of this.#due.get(this.#now) ?? []) action()
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
    if (rule === undefined) throw new RangeError('the policy has no rules')
    const windows = (seconds * 1000) / rule.windowMs
    const total = this.#admitted.reduce((sum, count) => sum + (count ?? 0), 0)
    return {
      worstWindow: Math.max(...this.#admitted.filter((count) => count !== undefined)) / rule.limit,
      overall: total / (rule.limit * windows),
      remote: this.#remote / this.#offered,
      calls: this.#calls / this.#offered,
    }
  }

  #createMember(): Member {
    const { counting = 'hybrid', instances: actual, assumedInstances: instances = actual } = this.#options
    const skewMs = Math.round((this.#random() * 2 - 1) * (this.#options.skewMs ?? 0))
    if (counting === 'hot') {
      const store = hotKeyStore(this.#connect(), { instances, intervalMs: 0 })
      return { store, skewMs, reconcile: () => store.maintain() }
    }
    const store = hybridStore(this.#connect(), { instances, intervalMs: 0 })
    return { store, skewMs, reconcile: () => void store.reconcile() }
  }

  #request(store: CounterStore, skewMs: number): void {
    const window = Math.floor((this.#now - this.#start) / (this.#options.policy.rules[0]?.windowMs ?? 1))
    const count = ({ allowed }: CounterResult): void => {
      if (allowed) this.#admitted[window] = (this.#admitted[window] ?? 0) + 1
    }
    this.#offered++
    const { policy } = this.#options
    const identifier = { kind: 'route', id: 'hot' }
    const result = store.acquire({ policy, identifier, cost: 1, now: this.#now + skewMs })
    if (result instanceof Promise) {
      this.#remote++
      result.then(count, () => {})
    } else count(result)
  }

  /** The connection of one process to the store, whose clock counts. Calls arrive in the order in which they were made. */
  #connect(): CounterStore {
    const connection: Connection = { requestAt: 0, responseAt: 0 }
    const call = <T>(act: (store: MemoryStore, now: number) => T): Promise<T> => this.#call(connection, act)
    return {
      acquire: (request) => call((store, now) => store.acquire({ ...request, now })),
      peek: (policy, who) => call((store, now) => store.peek(policy, who, now)),
      add: (request) =>
        call((store, now) => store.add({ ...request, now, countedAt: request.countedAt ?? request.now })),
      grant: (policy, who, amount) => call((store, now) => store.grant(policy, who, amount, now)),
      raise: (policy, who, counters) => call((store, now) => store.raise(policy, who, counters, now)),
      reset: (policy, who) => call((store, now) => store.reset(policy, who, now)),
      time: () => this.#now,
    }
  }

  #call<T>(connection: Connection, act: (store: MemoryStore, now: number) => T): Promise<T> {
    const { roundTripMs = 2, lossRate: lost = 0 } = this.#options
    const delayMs = (): number => 1 + Math.floor((this.#random() * roundTripMs) / 2)
    this.#calls++
    const requestAt = Math.max(connection.requestAt, this.#now + delayMs())
    const responseAt = Math.max(connection.responseAt, requestAt + delayMs())
    connection.requestAt = requestAt
    connection.responseAt = responseAt
    const isLost = this.#random() < lost
    const isCounted = !isLost || this.#random() < 0.5
    return new Promise((resolve, reject) => {
      this.#at(requestAt, () => {
        if (!isCounted) return
        const now = this.#now
        const result = act(this.#primary, now)
        this.#at(now + replicaLagMs, () => act(this.#replica, now))
        if (!isLost) this.#at(responseAt, () => resolve(result))
      })
      if (isLost) this.#at(requestAt + callTimeoutMs, () => reject(new Error('no response')))
    })
  }

  #at(time: number, action: () => void): void {
    const due = this.#due.get(time)
    if (due) due.push(action)
    else this.#due.set(time, [action])
  }

  /** The replica has not received the last half second; its own replica is empty. */
  #failOver(): void {
    this.#primary = this.#replica
    this.#replica = memoryStore()
  }
}
