import {
  createMemoryLimiter,
  type Decision,
  decisionHeaders,
  declaredPolicy,
  declaredTier,
  type Policy,
} from '@gatehouse/limiter/memory'
import type { Declaration, LimitKind } from '../declaration.ts'
import type { Arrival } from './traffic.ts'

/** A limit to simulate. */
export interface SimulatedLimit {
  readonly kind: LimitKind
  readonly name: string
  readonly declaration: Declaration
}

/** Whether the counter store answers: while it is away, each gateway decides by the failure mode of the limit. */
export type StoreState = 'there' | 'away'

/** What is simulated. */
export interface Simulation {
  readonly limit: SimulatedLimit
  readonly arrivals: readonly Arrival[]
  readonly store: StoreState
  /** How many gateways requests are spread over. */
  readonly gateways: number
}

/** What a limit did to the traffic. */
export interface Outcome {
  readonly admitted: number
  readonly rejected: number
  /** Requests that limits in shadow would have rejected. */
  readonly shadowRejected: number
  /** The longest wait that a rejection announced, in seconds. */
  readonly maxWaitSeconds: number
  /** Callers of whom at least one request was rejected. */
  readonly limitedCallers: number
  /** For each arrival 1 when it was admitted. */
  readonly decisions: Uint8Array
}

/** What was simulated and what came out. */
export interface Simulated {
  readonly label: string
  readonly simulation: Simulation
  readonly outcome: Outcome
}

/** A slice of work is shorter than a frame: the page answers meanwhile. */
const sliceMs = 6
const checksPerLook = 64

/**
 * Sends the traffic past the limit, with the real limiter and a clock that moves from request to request. It works in
 * slices of a few milliseconds; `signal` ends it with an AbortError.
 * @throws RangeError for a limit that the limiter refuses
 */
export async function simulate(simulation: Simulation, signal: AbortSignal): Promise<Outcome> {
  const run = new Run(simulation)
  await runUntil(run, simulation.arrivals.length, signal)
  return run.outcome()
}

async function runUntil(run: Run, count: number, signal: AbortSignal): Promise<void> {
  for (let next = 0; next < count; ) {
    const end = performance.now() + sliceMs
    do {
      const until = Math.min(count, next + checksPerLook)
      for (; next < until; next++) run.step(next)
    } while (next < count && performance.now() < end)
    await nextTask()
    signal.throwIfAborted()
  }
}

/**
 * The headers that the response to an arrival has, computed by sending all requests up to it once more.
 * @throws RangeError for a limit that the limiter refuses
 */
export async function headersAt(
  simulation: Simulation,
  index: number,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const run = new Run(simulation)
  await runUntil(run, index, signal)
  const decision = run.step(index)
  return decision === undefined ? {} : decisionHeaders(decision)
}

class Run {
  readonly #simulation: Simulation
  readonly #policy: Policy
  readonly #limiters
  readonly #decisions: Uint8Array
  readonly #limited = new Set<string>()
  #now = 0
  #shadowRejected = 0
  #maxWait = 0

  constructor(simulation: Simulation) {
    const { limit, arrivals, gateways, store } = simulation
    this.#simulation = simulation
    this.#policy = policyOf(limit)
    const clock = { now: () => this.#now }
    const separate = store === 'away' ? gateways : 1
    this.#limiters = Array.from({ length: separate }, () => createMemoryLimiter(clock))
    this.#decisions = new Uint8Array(arrivals.length)
  }

  /** Decides on one arrival; undefined where no counter decides. */
  step(index: number): Decision | undefined {
    const { arrivals, store } = this.#simulation
    const arrival = arrivals[index]
    if (arrival === undefined) return undefined
    this.#now = arrival.at
    if (store === 'away' && this.#policy.failureMode !== 'local') {
      if (this.#policy.failureMode === 'open') this.#decisions[index] = 1
      else this.#limited.add(arrival.caller)
      return undefined
    }
    const limiter = this.#limiters[index % this.#limiters.length]
    const decision = limiter?.check(this.#policy, { kind: 'user', id: arrival.caller })
    if (decision === undefined) return undefined
    this.#decisions[index] = decision.allowed ? 1 : 0
    if (this.#policy.rules.some(({ shadow }) => shadow))
      if (decision.rules.some(({ shadow, allowed }) => shadow && !allowed)) this.#shadowRejected++
    if (!decision.allowed) {
      this.#limited.add(arrival.caller)
      this.#maxWait = Math.max(this.#maxWait, decision.retryAfterSeconds)
    }
    return decision
  }

  outcome(): Outcome {
    const admitted = this.#decisions.reduce((sum, one) => sum + one, 0)
    return {
      admitted,
      rejected: this.#decisions.length - admitted,
      shadowRejected: this.#shadowRejected,
      maxWaitSeconds: this.#maxWait,
      limitedCallers: this.#limited.size,
      decisions: this.#decisions,
    }
  }
}

function policyOf({ kind, name, declaration }: SimulatedLimit): Policy {
  return kind === 'tiers' ? declaredTier(name, declaration) : declaredPolicy(name, declaration)
}

/** Ends the slice: what the page has to do comes first. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
}
