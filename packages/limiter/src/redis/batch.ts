import type { Identifier, KeyTag } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { Waiter } from '../store.ts'
import type { RedisClient } from './client.ts'
import { ScriptRequest } from './request.ts'
import { runScript, type Script } from './script.ts'
import type { ServerClock } from './server-clock.ts'

/** One call of a store's method, waiting for its answer. */
interface Call {
  readonly policy: Policy
  /** Its id encoded. */
  readonly identifier: Identifier
  readonly now: number
  readonly rest: readonly string[]
  readonly waiter: Waiter
}

interface BatchOptions {
  readonly client: RedisClient
  readonly script: Script
  /** The script reads the identifier's note too. */
  readonly noted?: boolean
  /** Calls of one moment may be made in any order: like ones are put in a row, which takes fewer words. */
  readonly commutes?: boolean
  readonly tag: KeyTag
  readonly clock: ServerClock | undefined
  readonly onForgotten: () => void
  /** Told of the first call of a batch; `flush` is due at the end of the turn. */
  readonly onFirst: () => void
}

const mostCallsTogether = 128
const mostCallsUnanswered = 16_384

/**
 * Calls that arrive in one turn of the event loop travel together, in one script call for each 128 of them; with key tags
 * (Redis Cluster) in one for each identifier. Nothing is sent twice, and nothing waits while the server is away.
 */
export class Batch {
  readonly #options: BatchOptions
  #calls: Call[] = []
  #unanswered = 0

  constructor(options: BatchOptions) {
    this.#options = options
  }

  /** Fails at once when too many calls are unanswered already. */
  call(call: Call): void {
    if (this.#unanswered >= mostCallsUnanswered) {
      call.waiter.failed(new Error(`${mostCallsUnanswered} calls wait for the counter store`))
      return
    }
    this.#unanswered++
    if (this.#calls.length === 0) this.#options.onFirst()
    this.#calls.push(call)
  }

  flush(): void {
    const calls = this.#calls
    if (calls.length === 0) return
    this.#calls = []
    if (this.#options.tag === 'braces') {
      const groups = Map.groupBy(calls, ({ identifier }) => identifier.id)
      for (const group of groups.values()) void this.#send(group)
    } else {
      for (let i = 0; i < calls.length; i += mostCallsTogether) void this.#send(calls.slice(i, i + mostCallsTogether))
    }
  }

  async #send(calls: Call[]): Promise<void> {
    const { client, script, noted = false, commutes = false, tag, clock, onForgotten } = this.#options
    if (commutes) calls.sort(byMomentAndRest)
    try {
      const request = new ScriptRequest(tag)
      for (const call of calls) request.push(call.policy, call.identifier, call.now, call.rest, noted)
      const sentAt = performance.now()
      const answer = await runScript(client, script, request.keys, request.args, onForgotten)
      if (!Array.isArray(answer)) throw new TypeError('the counter store answered a script with no array')
      clock?.learn(Number(answer[0]) * 1000 + Number(answer[1]) / 1000, sentAt, performance.now())
      settle(calls, answer)
    } catch (error) {
      for (const { waiter } of calls) waiter.failed(error)
    } finally {
      this.#unanswered -= calls.length
    }
  }
}

/** Like calls in a row; what belongs to an earlier window stays before what reads it as the one before. */
function byMomentAndRest(call: Call, other: Call): number {
  if (call.now !== other.now) return call.now - other.now
  const [a, b] = [call.rest, other.rest]
  if (a.length !== b.length) return a.length - b.length
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return (a[i] ?? '') < (b[i] ?? '') ? -1 : 1
  return 0
}

function settle(calls: readonly Call[], answer: readonly unknown[]): void {
  let at = 2
  for (const { policy, now, waiter } of calls) {
    const { rules } = policy
    const violated = Number(answer[at++])
    const counters = rules.length === 2 ? [0, 0, 0, 0] : new Array<number>(2 * rules.length).fill(0)
    for (let i = 0; i < counters.length; i++) counters[i] = Number(answer[at++])
    const allowed = violated === 0 || rules.every((rule, i) => rule.shadow || (violated & (1 << i)) === 0)
    waiter.answered({ allowed, violated, counters, now })
  }
}
