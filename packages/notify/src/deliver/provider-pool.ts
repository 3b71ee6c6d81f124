import type { Clock } from '@gatehouse/kit'
import type { Provider, SendResult } from '@gatehouse/providers'
import type { BreakerRules } from '../config/options.ts'
import type { Target } from '../model/notification.ts'
import type { ProviderHealth } from '../store/store.ts'
import {
  type Availability,
  orderProviders,
  type ProviderHistory,
  pausedUntil,
  restrictToUnresolved,
  unresolvedProvider,
} from './provider-history.ts'

/** Who carries to a target: a provider, nobody before a time, or nobody at all. */
export type ProviderChoice =
  | { readonly kind: 'provider'; readonly provider: Provider; readonly isProbe: boolean }
  | { readonly kind: 'later'; readonly at: number; readonly reason: string }
  /** With `unresolved` that provider may have taken it, and carries no more to the target. */
  | { readonly kind: 'nobody'; readonly unresolved?: string }

/** Why nobody is called for a target. */
export type Unavailable = Exclude<ProviderChoice, { readonly kind: 'provider' }>

/**
 * What the providers of a channel can take: as much as there is (those that are healthy), one delivery (none is healthy,
 * and one may be probed), or nothing. Without a healthy one, since when (Unix milliseconds).
 */
export type Capacity = { readonly kind: 'all' } | { readonly kind: 'probe' | 'none'; readonly since: number }

/** The providers of a channel behind their breakers, the preferred first. */
export interface ProviderPool {
  /** Reads the breakers again when that was a while ago. Answers what may be claimed for the providers. */
  refresh(): Promise<Capacity>
  /** Whether a provider is to be left alone, but for a probe. */
  isPaused(provider: Provider): boolean
  /** The preferred provider of those that may be called for the target, or nobody; undefined while that one rests. */
  choose(target: Target, history: ProviderHistory): ProviderChoice | undefined
  /** The first that may be called for the target and whose breaker lets a call through, as a probe where need be. */
  probe(target: Target, history: ProviderHistory): Promise<ProviderChoice>
  /** The providers that may be called for the target at some time, the preferred first. */
  availability(target: Target, history: ProviderHistory): readonly Availability[]
  /** Counts the answers of a call. True when they opened the provider's breaker. */
  reportResults(provider: Provider, results: readonly SendResult[]): Promise<boolean>
}

const refreshEveryMs = 1_000
const defaultPauseMs = 60_000
/** After so long a provider is asked again, whatever it said. */
const maxPauseMs = 300_000
const failureKinds: ReadonlySet<SendResult['kind']> = new Set(['transient', 'ambiguous', 'misconfigured'])
/** A refused credential is no matter of statistics. */
const immediateRules = { minCalls: 1, failureRate: 0 } as const

export function createProviderPool(
  providers: readonly Provider[],
  health: ProviderHealth,
  rules: BreakerRules,
  clock: Clock,
): ProviderPool {
  let open: ReadonlyMap<string, number> = new Map()
  let readAt = Number.NEGATIVE_INFINITY
  const counts = new Map<string, { calls: number; failures: number; since: number }>()
  let unhealthySince: number | undefined
  /** Providers that want nothing from us, until when: what each process is told, and keeps to, by itself. */
  const paused = new Map<string, number>()

  const read = async () => {
    open = await health.open()
    readAt = performance.now()
  }
  const findAvailableAt = ({ name }: Provider) => Math.max(open.get(name) ?? 0, paused.get(name) ?? 0)
  const recordPauses = ({ name }: Provider, results: readonly SendResult[]) => {
    const pauses = results.flatMap((result) =>
      result.kind === 'rate_limited' && result.pauses ? [result.retryAfterMs ?? defaultPauseMs] : [],
    )
    if (pauses.length > 0) paused.set(name, clock.now() + Math.min(maxPauseMs, Math.max(...pauses)))
  }
  const isPaused = ({ name }: Provider) => open.has(name) || (paused.get(name) ?? 0) > clock.now()
  const findSupporting = (target: Target) => providers.filter((provider) => provider.carries?.(target) ?? true)
  const orderFor = (target: Target, history: ProviderHistory) =>
    orderProviders(restrictToUnresolved(findSupporting(target), history, target), history)
  const nobody = (target: Target, history: ProviderHistory): ProviderChoice => {
    const unresolved = unresolvedProvider(history, target)
    return { kind: 'nobody', ...(unresolved === undefined ? {} : { unresolved }) }
  }
  return {
    async refresh() {
      if (performance.now() - readAt >= refreshEveryMs) await read()
      const now = clock.now()
      const isHealthy = providers.some((provider) => !isPaused(provider))
      unhealthySince = isHealthy ? undefined : (unhealthySince ?? now)
      if (unhealthySince === undefined) return { kind: 'all' }
      const kind = providers.some((provider) => findAvailableAt(provider) <= now) ? 'probe' : 'none'
      return { kind, since: unhealthySince }
    },
    isPaused,
    choose(target, history) {
      const able = orderFor(target, history)
      if (able.length === 0) return nobody(target, history)
      const now = clock.now()
      const preferred = able.find((provider) => pausedUntil(history, provider.name) <= now)
      if (!preferred || isPaused(preferred)) return undefined
      return { kind: 'provider', provider: preferred, isProbe: false }
    },
    availability: (target, history) =>
      restrictToUnresolved(findSupporting(target), history, target).map((each) => ({
        name: each.name,
        availableAt: findAvailableAt(each),
      })),
    async probe(target, history) {
      const able = orderFor(target, history)
      if (able.length === 0) return nobody(target, history)
      const now = clock.now()
      for (const provider of able) {
        if (Math.max(paused.get(provider.name) ?? 0, pausedUntil(history, provider.name)) > now) continue
        const until = open.get(provider.name)
        if (until === undefined) return { kind: 'provider', provider, isProbe: false }
        if (until > now) continue
        const isOurs = await health.probe(provider.name, now, provider.timeoutMs)
        // Until its answer is in, or its time is over, nobody need ask again.
        await read()
        if (isOurs) return { kind: 'provider', provider, isProbe: true }
      }
      const at = Math.min(...able.map((each) => Math.max(findAvailableAt(each), pausedUntil(history, each.name))))
      const names = able.map(({ name }) => name).join(', ')
      const reason = `${names}: its breaker is open, or it asked for a pause`
      return { kind: 'later', at: Math.max(at, now + refreshEveryMs), reason }
    },
    async reportResults(provider, results) {
      recordPauses(provider, results)
      const failures = results.filter(({ kind }) => failureKinds.has(kind)).length
      const kept = counts.get(provider.name) ?? { calls: 0, failures: 0, since: performance.now() }
      const sum = { ...kept, calls: kept.calls + results.length, failures: kept.failures + failures }
      const isQuiet = failures === 0 && !open.has(provider.name) && performance.now() - kept.since < refreshEveryMs
      if (isQuiet) {
        counts.set(provider.name, sum)
        return false
      }
      counts.delete(provider.name)
      const refused = results.some(({ kind }) => kind === 'misconfigured')
      const applied = refused ? { ...rules, ...immediateRules } : rules
      const opened = await health.report(provider.name, sum.calls, sum.failures, applied, clock.now())
      if (failures > 0 || open.has(provider.name)) await read()
      return opened
    },
  }
}
