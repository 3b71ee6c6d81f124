import { type ManualClock, manualClock } from '@gatehouse/kit'
import type { Provider, SendResult } from '@gatehouse/providers'
import fc from 'fast-check'
import { defaultOptions } from '../../src/config/options.ts'
import { noProvider, type Step, type TargetResult } from '../../src/deliver/attempt.ts'
import { canSend, deferOrExpire, type SendConditions } from '../../src/deliver/calls/send-conditions.ts'
import { resultWithoutProvider } from '../../src/deliver/calls/skipped-targets.ts'
import { nextStep, type StepContext } from '../../src/deliver/next-step.ts'
import { ProviderPool } from '../../src/deliver/providers/provider-pool.ts'
import type { RetryPolicy } from '../../src/model/delivery/retry-policy.ts'
import type { Target } from '../../src/model/notification/notification.ts'
import type { ClaimedDelivery, ProviderHealth } from '../../src/store/store.ts'

export const target: Target = { id: 'phone', address: 'token-1' }
export const playBegins = 1_000_000
export const sendConditions: SendConditions = { zone: 'UTC', morningSpreadMs: 120_000 }

export const policy: RetryPolicy = {
  attempts: 5,
  backoff: { baseMs: 1_000, factor: 2, maxMs: 60_000 },
  suppressionDays: { bounced: 90, complained: 0 },
  patienceMs: 3_600_000,
}

export const fresh: ClaimedDelivery = {
  bucket: 0,
  deliveryId: '01a2029b-a2d9-717a-901e-7ca1d9f10000',
  userId: 'alice',
  channel: 'push',
  event: 'order.shipped',
  critical: false,
  attempt: 1,
  failures: 0,
  crashes: 0,
  sensitive: false,
  message: { targets: [target], body: 'Hello', locale: 'en' } as ClaimedDelivery['message'],
  suppressions: [],
}

export interface Call {
  readonly at: number
  readonly provider: string
  readonly result: SendResult
}

/** A breaker that is open from one time to another, Unix milliseconds. */
export interface Opened {
  readonly provider: string
  readonly from: number
  readonly until: number
}

/** Breakers that are open when the play says so; after that, any process may probe. */
function breakersOf(opened: readonly Opened[], clock: ManualClock): ProviderHealth {
  const isProbed = new Set<Opened>()
  return {
    order: async () => [],
    open: async () =>
      new Map(
        opened
          .filter((each) => each.from <= clock.now() && !isProbed.has(each))
          .map(({ provider, until }) => [provider, until]),
      ),
    report: async (provider) => {
      for (const each of opened) if (each.provider === provider && each.until <= clock.now()) isProbed.add(each)
      return false
    },
    probe: async () => true,
  }
}

/** The channel as a process that was just started knows it: nothing of what providers answered before. */
function startProcess(names: readonly string[], health: ProviderHealth, clock: ManualClock): ProviderPool {
  const providers = names.map((name): Provider => ({ name, channel: 'push', timeoutMs: 1_000, send: async () => [] }))
  return new ProviderPool(providers, health, defaultOptions.breaker, clock)
}

export interface Play {
  readonly providers: readonly string[]
  readonly answers: readonly SendResult[]
  readonly random: number
  /** Whether another process takes the delivery at each of its attempts. */
  readonly restarts: boolean
  readonly delivery?: Partial<ClaimedDelivery>
  readonly breakers?: readonly Opened[]
  /** When it begins, Unix milliseconds. */
  readonly begun?: number
  /** How long it waits for a slot after it was claimed, and how long each call takes. */
  readonly slotMs?: number
  readonly callMs?: number
}

export interface Played {
  readonly calls: readonly Call[]
  /** What it came to: `done`, `dead` or `expired`; `endless` when it did not end. */
  readonly end: 'done' | 'dead' | 'expired' | 'endless'
  readonly endedAt: number
  /** How often it was deferred to the end of quiet hours. */
  readonly deferredCount: number
}

const maxClaims = 10_000

/** Plays a delivery through its attempts, each when it is due, as a worker does. */
export async function play(options: Play): Promise<Played> {
  const { providers, answers, random, restarts, delivery, begun = playBegins, slotMs = 0, callMs = 0 } = options
  const calls: Call[] = []
  const clock = manualClock(begun)
  const health = breakersOf(options.breakers ?? [], clock)
  let pool = startProcess(providers, health, clock)
  let claimed = { ...fresh, ...delivery }
  let deferredCount = 0
  const attempt = async (): Promise<Step | undefined> => {
    const choice = pool.choose(target, claimed.message) ?? (await pool.probe(target, claimed.message))
    const results: TargetResult[] = []
    if (choice.kind === 'provider') {
      const { provider } = choice
      clock.advance(slotMs)
      if (!canSend(claimed, sendConditions, clock.now())) return undefined
      const result = answers[calls.length % answers.length] as SendResult
      calls.push({ at: clock.now(), provider: provider.name, result })
      clock.advance(callMs)
      await pool.reportResults(provider, [result])
      results.push({ target, provider: provider.name, result })
    } else results.push({ target, provider: noProvider, result: resultWithoutProvider(choice, 'push', clock.now()) })
    const context: StepContext = {
      now: clock.now(),
      random,
      availability: (to, history) => pool.availability(to, history),
    }
    return nextStep({ claimed, results, isMade: true }, policy, context)
  }
  for (let n = 0; n < maxClaims; n++) {
    if (restarts) pool = startProcess(providers, health, clock)
    await pool.refresh()
    const blocked = deferOrExpire(claimed, sendConditions, clock.now(), random)
    if (blocked) deferredCount++
    const step = blocked ?? (await attempt())
    if (!step || !('next' in step)) continue
    const { next } = step
    if (next.kind !== 'again') return { calls, end: next.kind, endedAt: clock.now(), deferredCount }
    const message = JSON.parse(JSON.stringify({ ...claimed.message, ...next.left }))
    claimed = { ...claimed, failures: next.failures, message }
    clock.set(Math.max(clock.now(), next.dueAt))
  }
  return { calls, end: 'endless', endedAt: clock.now(), deferredCount }
}

export const reason = 'because'
const pause = fc.option(fc.nat(120_000), { nil: undefined })
export const anyResult: fc.Arbitrary<SendResult> = fc.oneof(
  fc.tuple(pause, fc.boolean()).map(
    ([retryAfterMs, accountWide]): SendResult => ({
      kind: 'rate_limited',
      reason,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(accountWide ? { accountWide } : {}),
    }),
  ),
  fc.nat(120_000).map((retryAfterMs): SendResult => ({ kind: 'transient', reason, retryAfterMs })),
  fc.constantFrom<SendResult>(
    { kind: 'transient', reason },
    { kind: 'ambiguous', reason },
    { kind: 'misconfigured', reason },
    { kind: 'accepted' },
    { kind: 'permanent', code: '550', reason },
  ),
)
/** Any answers of up to three providers; the first run of them repeats until the delivery ends. */
export const anyPlay = fc.record({
  providers: fc.constantFrom(['a'], ['a', 'b'], ['a', 'b', 'c']),
  answers: fc.array(anyResult, { minLength: 1, maxLength: 12 }),
  random: fc.double({ min: 0, max: 0.999, noNaN: true }),
  restarts: fc.boolean(),
})
/** Answers that count an attempt. */
export const countedKinds = new Set<SendResult['kind']>(['transient', 'ambiguous'])

export const limited = (retryAfterMs: number): SendResult => ({ kind: 'rate_limited', reason, retryAfterMs })
