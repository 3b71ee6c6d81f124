import type { Clock } from '@gatehouse/kit'
import type { Provider, SendResult } from '@gatehouse/providers'
import { withoutIds } from '../../model/delivery/answer-fingerprint.ts'
import type { BreakerRules } from '../../model/delivery/breaker.ts'
import { inChosenOrder } from '../../model/delivery/provider-order.ts'
import type { Target } from '../../model/notification/notification.ts'
import type { ProviderHealth } from '../../store/store.ts'
import {
  type Availability,
  orderProviders,
  type ProviderHistory,
  pausedUntil,
  restrictToUnresolved,
  unresolvedProvider,
} from './provider-history.ts'

/** The provider for a target: one that is called, none before a time, or none at all. */
export type ProviderChoice =
  | { readonly kind: 'provider'; readonly provider: Provider; readonly isProbe: boolean }
  | { readonly kind: 'later'; readonly at: number; readonly reason: string }
  /** With `unresolved` that provider may have accepted it, and no longer supports the target. */
  | { readonly kind: 'none'; readonly unresolved?: string }

/** Why no provider is called for a target. */
export type Unavailable = Exclude<ProviderChoice, { readonly kind: 'provider' }>

/**
 * What the providers of a channel accept: everything (some are healthy), a probe (none is healthy, and one may be probed),
 * or nothing. Without a healthy one, since when (Unix milliseconds).
 */
export type Capacity = { readonly kind: 'all' } | { readonly kind: 'probe' | 'none'; readonly since: number }

/** The calls of a provider that were not reported to its breaker yet. */
interface CallCounts {
  readonly calls: number
  readonly failures: number
  /** By `performance.now()`. */
  readonly since: number
}

const refreshEveryMs = 1_000
const defaultPauseMs = 60_000
/** After so long a provider is called again, whatever pause it asked for. */
const maxPauseMs = 300_000
const failureKinds: ReadonlySet<SendResult['kind']> = new Set(['transient', 'ambiguous', 'misconfigured'])
/** Whether a result says anything about the provider, for or against it. */
const isOfProvider = (result: SendResult) => !('ofAddress' in result)
/** Rejected credentials open a breaker at once, unless a recipient may be at fault: they are no matter of statistics. */
const immediateRules = { minCalls: 1, failureRate: 0 } as const

/** The providers of a channel behind their circuit breakers, the preferred first. */
export class ProviderPool {
  /** In the order of the configuration. */
  readonly #declared: readonly Provider[]
  /** In the order that the management chose, as last read. */
  #providers: readonly Provider[]
  readonly #health: ProviderHealth
  readonly #rules: BreakerRules
  /** No breaker stays open, and no probe takes, longer than this, in milliseconds. */
  readonly #maxWaitMs: number
  readonly #clock: Clock
  /** Until when each open breaker stays open, as last read, Unix milliseconds. */
  #open: ReadonlyMap<string, number> = new Map()
  #readAt = Number.NEGATIVE_INFINITY
  #unhealthySince: number | undefined
  readonly #counts = new Map<string, CallCounts>()
  /** Until when providers asked this process to pause, Unix milliseconds; other processes are asked themselves. */
  readonly #pauses = new Map<string, number>()

  constructor(providers: readonly Provider[], health: ProviderHealth, rules: BreakerRules, clock: Clock) {
    this.#declared = providers
    this.#providers = providers
    this.#health = health
    this.#rules = rules
    this.#maxWaitMs = Math.max(rules.maxOpenMs, ...providers.map(({ timeoutMs }) => timeoutMs))
    this.#clock = clock
  }

  /**
   * Reads the breakers again when that was a while ago. Returns how much may be claimed for the providers: everything where
   * there are none, since what waits then only has to end.
   */
  async refresh(): Promise<Capacity> {
    if (this.#declared.length === 0) return { kind: 'all' }
    if (this.#isOld()) await Promise.all([this.#readBreakers(), this.#readOrder()])
    const now = this.#clock.now()
    const isHealthy = this.#providers.some((provider) => !this.isPaused(provider))
    const since = isHealthy ? undefined : (this.#unhealthySince ?? now)
    this.#unhealthySince = since
    if (since === undefined) return { kind: 'all' }
    const canProbe = this.#providers.some((provider) => this.#availableAt(provider) <= now)
    return { kind: canProbe ? 'probe' : 'none', since }
  }

  /** Whether a provider is not called now, except by a probe. */
  isPaused({ name }: Provider): boolean {
    return this.#open.has(name) || this.#pausedUntil(name) > this.#clock.now()
  }

  /** The preferred provider of those that may be called for the target, or none; undefined while that one is paused. */
  choose(target: Target, history: ProviderHistory): ProviderChoice | undefined {
    const candidates = this.#orderFor(target, history)
    if (candidates.length === 0) return noneFor(target, history)
    const now = this.#clock.now()
    const preferred = candidates.find(({ name }) => pausedUntil(history, name) <= now)
    if (!preferred || this.isPaused(preferred)) return undefined
    return { kind: 'provider', provider: preferred, isProbe: false }
  }

  /** The first that may be called for the target and whose breaker lets a call through, as a probe where necessary. */
  async probe(target: Target, history: ProviderHistory): Promise<ProviderChoice> {
    const candidates = this.#orderFor(target, history)
    if (candidates.length === 0) return noneFor(target, history)
    const now = this.#clock.now()
    for (const provider of candidates) {
      const { name, timeoutMs } = provider
      if (Math.max(this.#pausedUntil(name), pausedUntil(history, name)) > now) continue
      const openUntil = this.#open.get(name)
      if (openUntil === undefined) return { kind: 'provider', provider, isProbe: false }
      if (openUntil > now) continue
      const isProbe = await this.#health.probe(name, now, timeoutMs, this.#maxWaitMs)
      // No other delivery tries to probe until the result is known, or its time is over.
      await this.#readBreakers()
      if (isProbe) return { kind: 'provider', provider, isProbe }
    }
    const times = candidates.map((each) => Math.max(this.#availableAt(each), pausedUntil(history, each.name)))
    const names = candidates.map(({ name }) => name).join(', ')
    const reason = `${names}: its breaker is open, or it asked for a pause`
    return { kind: 'later', at: Math.max(Math.min(...times), now + refreshEveryMs), reason }
  }

  /** The providers that may be called for the target at some time, the preferred first. */
  availability(target: Target, history: ProviderHistory): readonly Availability[] {
    return restrictToUnresolved(this.#supporting(target), history, target).map((each) => ({
      name: each.name,
      availableAt: this.#availableAt(each),
    }))
  }

  /**
   * Counts the results of a call. True when they opened the provider's breaker. Those of an address alone count neither
   * for nor against it: a probe with such a result stands until its time is over, and the next delivery probes.
   */
  async reportResults(provider: Provider, results: readonly SendResult[]): Promise<boolean> {
    const { name } = provider
    this.#recordPauses(name, results)
    const counting = results.filter(isOfProvider)
    if (counting.length === 0) {
      if (this.#isOld()) await this.#readBreakers()
      return false
    }
    const failed = counting.filter(({ kind }) => failureKinds.has(kind)).length
    const before = this.#counts.get(name) ?? { calls: 0, failures: 0, since: performance.now() }
    const calls = before.calls + counting.length
    const failures = before.failures + failed
    if (failed === 0 && !this.#open.has(name) && performance.now() - before.since < refreshEveryMs) {
      this.#counts.set(name, { calls, failures, since: before.since })
      return false
    }
    this.#counts.delete(name)
    const rejections = results.filter((result) => result.kind === 'misconfigured')
    const rejection = rejections.find(({ unproven }) => !unproven) ?? rejections[0]
    const rules = rejection && !rejection.unproven ? { ...this.#rules, ...immediateRules } : this.#rules
    const misconfigured = rejection ? { misconfigured: withoutIds(rejection.reason) } : {}
    const counted = { calls, failures, ...misconfigured }
    const isOpened = await this.#health.report(name, counted, rules, this.#clock.now())
    // While every slot is taken nothing else reads them, and a provider may be paused by another process.
    await this.#readBreakers()
    return isOpened
  }

  #isOld(): boolean {
    return performance.now() - this.#readAt >= refreshEveryMs
  }

  async #readBreakers(): Promise<void> {
    this.#open = await this.#health.open(this.#clock.now(), this.#maxWaitMs)
    this.#readAt = performance.now()
  }

  /** One provider needs no order. */
  async #readOrder(): Promise<void> {
    const [first, second] = this.#declared
    if (first && second) this.#providers = inChosenOrder(this.#declared, await this.#health.order(first.channel))
  }

  #recordPauses(name: string, results: readonly SendResult[]): void {
    const pauses = results.flatMap((result) =>
      result.kind === 'rate_limited' && result.accountWide ? [result.retryAfterMs ?? defaultPauseMs] : [],
    )
    if (pauses.length === 0) return
    const until = this.#clock.now() + Math.min(maxPauseMs, Math.max(...pauses))
    this.#pauses.set(name, Math.max(until, this.#pausedUntil(name)))
  }

  #pausedUntil(name: string): number {
    // One that is longer was begun by a clock that was set back since.
    const until = Math.min(this.#pauses.get(name) ?? 0, this.#clock.now() + maxPauseMs)
    this.#pauses.set(name, until)
    return until
  }

  #availableAt({ name }: Provider): number {
    return Math.max(this.#open.get(name) ?? 0, this.#pausedUntil(name))
  }

  #supporting(target: Target): readonly Provider[] {
    return this.#providers.filter((provider) => provider.supports?.(target) ?? true)
  }

  #orderFor(target: Target, history: ProviderHistory): readonly Provider[] {
    return orderProviders(restrictToUnresolved(this.#supporting(target), history, target), history)
  }
}

function noneFor(target: Target, history: ProviderHistory): Unavailable {
  const unresolved = unresolvedProvider(history, target)
  return { kind: 'none', ...(unresolved === undefined ? {} : { unresolved }) }
}
