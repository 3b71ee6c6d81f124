import type { Identifier } from '../key.ts'
import type { Policy } from '../policy.ts'
import type { Completion } from '../store.ts'
import type { RedisClient } from './client.ts'
import { ScriptRequest } from './request.ts'
import { runScript, type Script } from './script.ts'
import type { ServerClock } from './server-clock.ts'

/** One call of a store's method, waiting for its answer. */
export interface Call {
  readonly policy: Policy
  /** Its id encoded. */
  readonly identifier: Identifier
  /** The hash tag of its keys, in its braces; '' for none. */
  readonly tag: string
  readonly now: number
  readonly rest: readonly string[]
  readonly completion: Completion
  /** Until when its caller waits, by `performance.now()`, where nothing may be counted after that. */
  readonly until?: number | undefined
}

interface BatchOptions {
  readonly client: RedisClient
  readonly script: Script
  /** The script reads the identifier's note too. */
  readonly readsAdjustment?: boolean
  /** Calls of one moment may be made in any order: like ones are put in a row, which takes fewer words. */
  readonly isCommutative?: boolean
  readonly clock: ServerClock
  /** Told when the server's clock was found to have moved, and by how many milliseconds. */
  readonly onClockStep: (milliseconds: number) => void
  readonly onForgotten: () => void
  /** Reports the first call of a batch, which is due at the end of the turn. */
  readonly onFirst: () => void
}

const maxCallsPerScript = 128
/** Lua passes on no more than some thousand values at once. */
const maxKeysPerScript = 4_000
const maxUnansweredCalls = 16_384
/** Of the time that a caller waits, what is left to the way back. */
const shareOfWayBack = 0.2
/** How far the server's clock may be behind what is known of it. */
const earlyMs = 50
const reportedMoveMs = 50

/**
 * Calls that arrive in one turn of the event loop travel together, in one script call for each 128 of them. Nothing is
 * sent twice.
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
    if (this.#unanswered >= maxUnansweredCalls) {
      call.completion.reject(new Error(`${maxUnansweredCalls} calls wait for the counter store`))
      return
    }
    this.#unanswered++
    if (this.#calls.length === 0) this.#options.onFirst()
    this.#calls.push(call)
  }

  /** Hands over the calls that have arrived since the last time. */
  collect(): Call[] {
    const calls = this.#calls
    if (calls.length > 0) this.#calls = []
    return calls
  }

  /** Sends calls whose keys have one tag; resolves when all are settled. */
  async send(calls: Call[]): Promise<void> {
    if (calls.length === 0) return
    await Promise.all(scriptCalls(calls).map((some) => this.#send(some)))
  }

  async #send(calls: Call[]): Promise<void> {
    const { readsAdjustment: noted = false, isCommutative: commutes = false } = this.#options
    if (commutes) calls.sort(byMomentAndRest)
    try {
      const request = new ScriptRequest(calls[0]?.tag ?? '')
      for (const call of calls) request.push(call.policy, call.identifier, call.now, call.rest, noted)
      settleCalls(calls, await this.#runWithinTime(request, leftMs(calls)))
    } catch (error) {
      for (const { completion: waiter } of calls) waiter.reject(error)
    } finally {
      this.#unanswered -= calls.length
    }
  }

  /**
   * Runs the script, by the server's clock within the time given: a server that was frozen meanwhile counts nothing when
   * it goes on. One whose clock is not as known says so, and is asked once more by its own word.
   */
  async #runWithinTime({ keys, args }: ScriptRequest, withinMs: number | undefined): Promise<readonly unknown[]> {
    if (withinMs === undefined) return this.#run(keys, args)
    if (withinMs <= 0) throw new Error('the check waited too long for the counter store, and was not sent')
    const spanMs = withinMs * (1 - shareOfWayBack)
    const sentAt = performance.now()
    const answer = await this.#run(keys, [...args, ...span(this.#options.clock.earliest(0), spanMs)])
    if (isCounted(answer)) return answer
    const leftMs = spanMs - (performance.now() - sentAt)
    const again = leftMs > 0 ? await this.#run(keys, [...args, ...span(serverMs(answer), leftMs)]) : answer
    if (isCounted(again)) return again
    throw new Error('the counter store came to the check too late, and did not count it')
  }

  async #run(keys: string[], args: string[]): Promise<readonly unknown[]> {
    const { client, script, clock, onForgotten, onClockStep } = this.#options
    const sentAt = performance.now()
    const answer = await runScript(client, script, keys, args, onForgotten)
    if (!Array.isArray(answer)) throw new TypeError('the counter store answered a script with no array')
    const movedMs = clock.learn(serverMs(answer), sentAt, performance.now())
    if (movedMs > reportedMoveMs) onClockStep(movedMs)
    return answer
  }
}

/** Calls in the portions that travel in one script call each. */
function scriptCalls(calls: Call[]): Call[][] {
  const chunks: Call[][] = []
  let keys = Number.POSITIVE_INFINITY
  for (const call of calls) {
    const most = 2 * call.policy.rules.length + 1
    const chunk = chunks.at(-1)
    if (chunk === undefined || chunk.length === maxCallsPerScript || keys + most > maxKeysPerScript) {
      chunks.push([call])
      keys = most
    } else {
      chunk.push(call)
      keys += most
    }
  }
  return chunks
}

/** Every answer begins with the server's time; one that is that alone has counted nothing. */
function isCounted(answer: readonly unknown[]): boolean {
  return answer.length > 2
}

function serverMs(answer: readonly unknown[]): number {
  return Number(answer[0]) * 1000 + Number(answer[1]) / 1000
}

/** From when until when a script may run. */
function span(now: number, milliseconds: number): string[] {
  return [String(now - earlyMs), String(now + milliseconds)]
}

/** How long the least patient of the callers still waits. */
function leftMs(calls: readonly Call[]): number | undefined {
  const until = calls.reduce((least, call) => Math.min(least, call.until ?? least), Number.POSITIVE_INFINITY)
  return Number.isFinite(until) ? until - performance.now() : undefined
}

/** Like calls in a row; what belongs to an earlier window stays before what reads it as the one before. */
function byMomentAndRest(call: Call, other: Call): number {
  if (call.now !== other.now) return call.now - other.now
  const [a, b] = [call.rest, other.rest]
  if (a.length !== b.length) return a.length - b.length
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return (a[i] ?? '') < (b[i] ?? '') ? -1 : 1
  return 0
}

function settleCalls(calls: readonly Call[], answer: readonly unknown[]): void {
  let at = 2
  for (const { policy, now, completion: waiter } of calls) {
    const { rules } = policy
    const violated = Number(answer[at++])
    const counters = rules.length === 2 ? [0, 0, 0, 0] : new Array<number>(2 * rules.length).fill(0)
    for (let i = 0; i < counters.length; i++) counters[i] = Number(answer[at++])
    const allowed = violated === 0 || rules.every((rule, i) => rule.shadow || (violated & (1 << i)) === 0)
    waiter.resolve({ allowed, violated, counters, now })
  }
}
