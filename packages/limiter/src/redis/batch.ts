import { isAllowed } from '../algorithms/counters.ts'
import { type CounterResult, NotCountedError } from '../store.ts'
import { type Call, WaitingCalls } from './calls.ts'
import type { RedisClient } from './client.ts'
import { ScriptRequest } from './request.ts'
import type { Script } from './script.ts'
import type { ServerClock } from './server-clock.ts'

interface BatchOptions {
  readonly client: RedisClient
  readonly script: Script
  /** Whether the script reads the adjustment of each identifier. */
  readonly readsAdjustment?: boolean
  /** Whether the script returns one text of numbers, as add.lua does, and not a number for each counter. */
  readonly returnsText?: boolean
  /** Whether calls of the same time may run in any order: equal ones are then made consecutive, which shortens ARGV. */
  readonly isCommutative?: boolean
  readonly clock: ServerClock
  /** Called when a step of the server's clock was noticed, with its size in milliseconds. */
  readonly onClockStep: (milliseconds: number) => void
  readonly onScriptLoss: () => void
  /** Called for the first call of a batch, which is to be sent at the end of the turn. */
  readonly onFirst: () => void
}

/** Calls in one script call: half as many more, where that saves a second small one. */
const callsPerScript = 128
/** Lua unpacks no more than some thousand values at once. */
const maxKeysPerScript = 4_000
const maxUnansweredCalls = 16_384
/** How far the server's clock may be behind its estimate. */
const clockToleranceMs = 50
const reportedStepMs = 50
const unreadable = 'the reply of the counter store is not one of its script'
const tooLate = 'the check reached the counter store too late and was not counted'

/** Sends the calls of one turn of the event loop together, about 128 in one script call. Nothing is sent twice. */
export class Batch {
  readonly #options: BatchOptions
  #calls: Call[] = []
  #unanswered = 0

  constructor(options: BatchOptions) {
    this.#options = options
  }

  /** Adds a call. It fails at once when too many calls are unanswered already. */
  call(call: Call): void {
    if (this.#unanswered >= maxUnansweredCalls) {
      call.completion.reject(new NotCountedError(`${maxUnansweredCalls} calls of the counter store are unanswered`))
      return
    }
    this.#unanswered++
    if (this.#calls.length === 0) this.#options.onFirst()
    this.#calls.push(call)
  }

  /** Removes and returns the calls that were added since the last time. */
  collect(): Call[] {
    const calls = this.#calls
    if (calls.length > 0) this.#calls = []
    return calls
  }

  /** Sends calls whose keys have the same tag; resolves when all have completed. */
  async send(calls: Call[]): Promise<void> {
    if (calls.length === 0) return
    await Promise.all(divideCalls(calls).map((chunk) => this.#sendChunk(chunk)))
  }

  async #sendChunk(calls: Call[]): Promise<void> {
    const { isCommutative = false, returnsText = false } = this.#options
    if (isCommutative) calls.sort(compareCalls)
    const waiting = new WaitingCalls(calls)
    try {
      const reply = waiting.areTimed ? await this.#runWithinTime(waiting) : await this.#run(this.#requestOf(calls))
      const results = returnsText
        ? readAdded(waiting.calls, String(reply[2]).split(' '))
        : readResults(waiting.calls, reply)
      for (let i = 0; i < results.length; i++) waiting.calls[i]?.completion.resolve(results[i] as CounterResult)
    } catch (error) {
      const failure = toFailure(error)
      for (const { completion } of waiting.calls) completion.reject(failure)
    } finally {
      this.#unanswered -= calls.length
    }
  }

  /**
   * Runs the script within the time of its calls, by the server's clock: a server that was frozen in the meantime counts
   * nothing when it continues. A server whose clock differs from the estimate reports its time, and is called once more by
   * that. Calls whose time has expired are rejected, and the script runs for the others alone.
   */
  async #runWithinTime(waiting: WaitingCalls): Promise<readonly unknown[]> {
    waiting.rejectExpired('the check waited too long for the counter store and was not sent')
    let now = this.#options.clock.earliest(0)
    for (let isEstimate = true; waiting.calls.length > 0; isEstimate = false) {
      const reply = await this.#run(this.#requestOf(waiting.calls), timeSpan(now, waiting.leftMs))
      if (hasRun(reply)) return reply
      const expired = waiting.rejectExpired(tooLate)
      // By the server's clock more time has passed than by ours: its last reply waited on its way.
      if (expired === 0 && !isEstimate) waiting.rejectFirstToExpire(tooLate)
      now = serverMs(reply)
    }
    return []
  }

  #requestOf(calls: readonly Call[]): ScriptRequest {
    const request = new ScriptRequest(calls[0]?.tag ?? '', this.#options.readsAdjustment ?? false)
    for (const call of calls) request.push(call)
    return request
  }

  async #run({ keys, args }: ScriptRequest, span: readonly string[] = []): Promise<readonly unknown[]> {
    const { client, script, clock, onScriptLoss, onClockStep } = this.#options
    const sentAt = performance.now()
    const reply = await script.run(client, keys, span.length > 0 ? [...args, ...span] : args, onScriptLoss)
    if (!Array.isArray(reply)) throw new TypeError(unreadable)
    const time = serverMs(reply)
    if (Number.isNaN(time)) throw new TypeError(unreadable)
    const stepMs = clock.learn(time, sentAt, performance.now())
    if (stepMs > reportedStepMs) onClockStep(stepMs)
    return reply
  }
}

/**
 * What a server refuses before a script has changed anything, and what a client without a connection does not send.
 * `Connection is closed` is not among them: ioredis says so of what it has sent, too.
 */
const refusal =
  /^(?:(?:OOM|READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|NOREPLICAS|MISCONF|BUSY|NOAUTH|NOPERM) |Stream isn't writeable|The client is offline)/

function toFailure(error: unknown): unknown {
  return error instanceof Error && refusal.test(error.message)
    ? new NotCountedError(error.message, { cause: error })
    : error
}

/**
 * Divides calls into chunks of one script call each, of equal size: a small rest would cost almost as much as a whole
 * script call.
 */
function divideCalls(calls: Call[]): Call[][] {
  const size = Math.ceil(calls.length / Math.max(1, Math.round(calls.length / callsPerScript)))
  const chunks: Call[][] = []
  let keys = Number.POSITIVE_INFINITY
  for (const call of calls) {
    const maxKeys = 2 * call.policy.rules.length + 1
    const chunk = chunks.at(-1)
    if (chunk === undefined || chunk.length === size || keys + maxKeys > maxKeysPerScript) {
      chunks.push([call])
      keys = maxKeys
    } else {
      chunk.push(call)
      keys += maxKeys
    }
  }
  return chunks
}

/** Every reply begins with the server's time in two numbers; one without more has counted nothing. */
function hasRun(reply: readonly unknown[]): boolean {
  return reply.length > 2
}

function serverMs(reply: readonly unknown[]): number {
  return Number(reply[0]) * 1000 + Number(reply[1]) / 1000
}

/** From when and until when a script may run. */
function timeSpan(now: number, milliseconds: number): string[] {
  return [String(now - clockToleranceMs), String(now + milliseconds)]
}

/** Makes equal calls consecutive; calls of an earlier window stay before those that read it as the previous one. */
function compareCalls(call: Call, other: Call): number {
  if (call.now !== other.now) return call.now - other.now
  const [a, b] = [call.rest, other.rest]
  if (a.length !== b.length) return a.length - b.length
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return (a[i] ?? '') < (b[i] ?? '') ? -1 : 1
  return 0
}

/** Reads results of add.lua, which violate nothing, and of which a fixed window returns the current count alone. */
function readAdded(calls: readonly Call[], numbers: readonly string[]): CounterResult[] {
  let at = 0
  return calls.map(({ policy: { rules }, now }) => {
    const counters = createCounters(rules.length)
    for (let i = 0; i < rules.length; i++) {
      if (rules[i]?.algorithm !== 'fixed-window') counters[2 * i] = numberOf(numbers[at++])
      counters[2 * i + 1] = numberOf(numbers[at++])
    }
    return { allowed: true, violated: 0, counters, now }
  })
}

const createCounters = (rules: number): number[] => (rules === 2 ? [0, 0, 0, 0] : new Array<number>(2 * rules).fill(0))

function readResults(calls: readonly Call[], reply: readonly unknown[]): CounterResult[] {
  let at = 2
  return calls.map(({ policy: { rules }, now }) => {
    const violated = numberOf(reply[at++])
    const counters = createCounters(rules.length)
    for (let i = 0; i < counters.length; i++) counters[i] = numberOf(reply[at++])
    return { allowed: isAllowed(rules, violated), violated, counters, now }
  })
}

/** @throws TypeError for what is no number, or not there: a count of NaN would exceed no limit */
function numberOf(value: unknown): number {
  const number = Number(value)
  if (Number.isNaN(number)) throw new TypeError(unreadable)
  return number
}
