import type { Message, Target } from '../model/notification.ts'

/**
 * What a delivery remembers of its providers: those in `failedProviders` come last, a pause is kept to its end, and while
 * it is unresolved whether one of them took it no other is called.
 */
export type ProviderHistory = Pick<Message, 'failedProviders' | 'providerPauses' | 'unresolved'>

/** A provider, and until when (Unix milliseconds) it takes nothing, whoever the message is for; 0 for one that is healthy. */
export interface Availability {
  readonly name: string
  readonly availableAt: number
}

/** A provider that wants a pause of up to this is waited for; beyond it the next one is called. */
export const failoverPauseMs = 5_000

/** Until when (Unix milliseconds) a provider is not called with a delivery; 0 where it asked for no pause. */
export function pausedUntil({ providerPauses = {} }: ProviderHistory, provider: string): number {
  return Object.hasOwn(providerPauses, provider) ? (providerPauses[provider] ?? 0) : 0
}

/** The provider that may have taken the message for a target already; undefined where none has, or it is no matter. */
export function unresolvedProvider(
  { unresolved = {} }: ProviderHistory,
  { id }: Pick<Target, 'id'>,
): string | undefined {
  return Object.hasOwn(unresolved, id) ? unresolved[id] : undefined
}

/** Those that may be called for a target: all of them, or the one that may have taken the message already. */
export function restrictToUnresolved<Named extends { readonly name: string }>(
  able: readonly Named[],
  history: ProviderHistory,
  target: Pick<Target, 'id'>,
): readonly Named[] {
  const only = unresolvedProvider(history, target)
  return only === undefined ? able : able.filter(({ name }) => name === only)
}

/** Those that carry to a target, in the order they are called: the preferred first, those that failed last. */
export function orderProviders<Named extends { readonly name: string }>(
  able: readonly Named[],
  { failedProviders: failed = [] }: ProviderHistory,
): readonly Named[] {
  return failed.length === 0 ? able : able.toSorted((a, b) => failed.indexOf(a.name) - failed.indexOf(b.name))
}

/** The pauses that have not ended by `now`, with those that were asked for since; the longer of two counts. */
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
 * The earliest time (Unix milliseconds) at which a provider may be called: where the one whose turn it is wants a short
 * pause, the end of that; else when the first of them is free. `able` is in the channel's order.
 */
export function nextCallAt(able: readonly Availability[], history: ProviderHistory, now: number): number {
  const freeAt = ({ name, availableAt: restsUntil }: Availability) =>
    Math.max(now, restsUntil, pausedUntil(history, name))
  const inOrder = orderProviders(able, history)
  const [first] = inOrder
  if (!first) return now
  const isPatient = !history.failedProviders?.includes(first.name) && freeAt(first) - now <= failoverPauseMs
  return isPatient ? freeAt(first) : Math.min(...inOrder.map(freeAt))
}
