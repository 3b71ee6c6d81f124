import type { Message, Target } from '../../model/notification/notification.ts'

/**
 * What a delivery remembers of its providers: those in `failedProviders` come last, a pause lasts to its end, and while it
 * is unresolved whether one of them accepted the message no other is called.
 */
export type ProviderHistory = Pick<Message, 'failedProviders' | 'providerPauses' | 'unresolved'>

/** A provider, and from when on (Unix milliseconds) it accepts messages, whoever they are for; 0 for one that is healthy. */
export interface Availability {
  readonly name: string
  readonly availableAt: number
}

/** A delivery waits for a provider that asks for a pause of up to this; for a longer one it fails over to the next. */
export const failoverPauseMs = 5_000

/** Until when (Unix milliseconds) a provider is not called with a delivery; 0 where it asked for no pause. */
export function pausedUntil({ providerPauses = {} }: ProviderHistory, provider: string): number {
  return Object.hasOwn(providerPauses, provider) ? (providerPauses[provider] ?? 0) : 0
}

/** The provider that may have accepted the target already; undefined where none has, or failover is allowed. */
export function unresolvedProvider(
  { unresolved = {} }: ProviderHistory,
  { id }: Pick<Target, 'id'>,
): string | undefined {
  return Object.hasOwn(unresolved, id) ? unresolved[id] : undefined
}

/** The providers that may be called for a target: all of them, or the one that may have accepted it already. */
export function restrictToUnresolved<Named extends { readonly name: string }>(
  providers: readonly Named[],
  history: ProviderHistory,
  target: Pick<Target, 'id'>,
): readonly Named[] {
  const only = unresolvedProvider(history, target)
  return only === undefined ? providers : providers.filter(({ name }) => name === only)
}

/** The providers in the order in which they are called: the preferred first, those that failed last. */
export function orderProviders<Named extends { readonly name: string }>(
  providers: readonly Named[],
  { failedProviders: failed = [] }: ProviderHistory,
): readonly Named[] {
  return failed.length === 0 ? providers : providers.toSorted((a, b) => failed.indexOf(a.name) - failed.indexOf(b.name))
}

/** The pauses that have not ended by `now` (Unix milliseconds), with the added ones; the longer of two counts. */
export function mergePauses(
  history: ProviderHistory,
  added: ReadonlyArray<{ readonly provider: string; readonly until: number }>,
  now: number,
): Readonly<Record<string, number>> {
  const pauses = new Map(Object.entries(history.providerPauses ?? {}))
  for (const { provider, until } of added) pauses.set(provider, Math.max(until, pauses.get(provider) ?? 0))
  return Object.fromEntries([...pauses].filter(([, until]) => until > now))
}

/**
 * The earliest time (Unix milliseconds) at which a provider may be called: the end of a short pause of the one that is
 * next; else when the first of them is available. `providers` is in the channel's order.
 */
export function nextCallAt(providers: readonly Availability[], history: ProviderHistory, now: number): number {
  const callableAt = ({ name, availableAt }: Availability) => Math.max(now, availableAt, pausedUntil(history, name))
  const inOrder = orderProviders(providers, history)
  const [first] = inOrder
  if (!first) return now
  const hasFailed = history.failedProviders?.includes(first.name) ?? false
  const isWaitedFor = !hasFailed && callableAt(first) - now <= failoverPauseMs
  return isWaitedFor ? callableAt(first) : Math.min(...inOrder.map(callableAt))
}
