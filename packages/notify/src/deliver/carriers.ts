import type { Clock } from '@gatehouse/kit'
import type { Target } from '../notification.ts'
import type { BreakerRules } from '../options.ts'
import type { Provider, SendResult } from '../providers/provider.ts'
import type { ProviderHealth } from '../store.ts'

/** Who carries to a target: a provider, nobody before a time, or nobody at all. */
type Carrier =
  | { readonly kind: 'provider'; readonly provider: Provider }
  | { readonly kind: 'later'; readonly at: number; readonly reason: string }
  | { readonly kind: 'nobody' }

/** The providers of a channel behind their breakers, the preferred first. */
export interface Carriers {
  /** Reads the breakers again when that was a while ago. Answers when anybody may carry at all; now, or later. */
  refresh(): Promise<number>
  /** The first provider that carries to the target and whose breaker lets a call through. */
  choose(target: Target): Promise<Carrier>
  /** Counts the answers of a call. True when they opened the provider's breaker. */
  seen(provider: Provider, results: readonly SendResult[]): Promise<boolean>
}

const refreshEveryMs = 1_000
const failing: ReadonlySet<SendResult['kind']> = new Set(['transient', 'ambiguous', 'misconfigured'])
/** A refused credential is no matter of statistics. */
const atOnce = { leastCalls: 1, failureRate: 0 } as const

export function createCarriers(
  providers: readonly Provider[],
  health: ProviderHealth,
  rules: BreakerRules,
  clock: Clock,
): Carriers {
  let open: ReadonlyMap<string, number> = new Map()
  let readAt = Number.NEGATIVE_INFINITY
  const counts = new Map<string, { calls: number; failures: number; since: number }>()

  const read = async () => {
    open = await health.open()
    readAt = performance.now()
  }
  return {
    async refresh() {
      if (performance.now() - readAt >= refreshEveryMs) await read()
      const times = providers.map(({ name }) => open.get(name) ?? 0)
      return Math.min(...times)
    },
    async choose(target) {
      const able = providers.filter((provider) => provider.carries?.(target) ?? true)
      if (able.length === 0) return { kind: 'nobody' }
      const now = clock.now()
      for (const provider of able) {
        const until = open.get(provider.name)
        if (until === undefined) return { kind: 'provider', provider }
        if (until <= now && (await health.probe(provider.name, now, provider.timeoutMs)))
          return { kind: 'provider', provider }
      }
      const at = Math.min(...able.map(({ name }) => open.get(name) ?? now))
      const names = able.map(({ name }) => name).join(', ')
      return { kind: 'later', at: Math.max(at, now + refreshEveryMs), reason: `the breaker of ${names} is open` }
    },
    async seen(provider, results) {
      const failures = results.filter(({ kind }) => failing.has(kind)).length
      const kept = counts.get(provider.name) ?? { calls: 0, failures: 0, since: performance.now() }
      const sum = { ...kept, calls: kept.calls + results.length, failures: kept.failures + failures }
      const isQuiet = failures === 0 && !open.has(provider.name) && performance.now() - kept.since < refreshEveryMs
      if (isQuiet) {
        counts.set(provider.name, sum)
        return false
      }
      counts.delete(provider.name)
      const refused = results.some(({ kind }) => kind === 'misconfigured')
      const applied = refused ? { ...rules, ...atOnce } : rules
      const opened = await health.report(provider.name, sum.calls, sum.failures, applied, clock.now())
      if (failures > 0 || open.has(provider.name)) await read()
      return opened
    },
  }
}
