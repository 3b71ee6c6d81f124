import type { SendResult } from '@gatehouse/providers'

/** What a provider's answer comes to. */
export type ResultKind = SendResult['kind']

/** Calls of a provider that began in one minute, had the same result, and took about as long. */
export interface CallCount {
  readonly provider: string
  /** The beginning of the minute, Unix milliseconds. */
  readonly minute: number
  readonly result: ResultKind
  /** The slot of their duration, as `model/durations.ts` has it. */
  readonly slot: number
  readonly calls: number
}

/** Failed calls of a provider whose answers have something in common. */
export interface ErrorCount {
  readonly provider: string
  readonly fingerprint: string
  readonly result: ResultKind
  /** The last answer, without addresses, quotes and ids. */
  readonly sample: string
  readonly count: number
  /** Unix milliseconds. */
  readonly firstAt: number
  readonly lastAt: number
}

/** What came to the webhook of a provider. */
export interface WebhookCount {
  readonly provider: string
  /** When one was accepted last, Unix milliseconds. */
  readonly acceptedAt?: number
  /** Those that the provider signed, and that could not be read. */
  readonly refused: number
  readonly refusedAt?: number
  /** Why the last one was refused. */
  readonly refusal?: string
  /** Those of which it is not known who sent them: anybody can send as many as they like. */
  readonly unverified: number
  readonly unverifiedAt?: number
  /** Why the last one could not be verified. */
  readonly unverifiedReason?: string
}

/** What was counted of providers. */
export interface ActivityCounts {
  readonly calls: readonly CallCount[]
  readonly errors: readonly ErrorCount[]
  readonly webhooks: readonly WebhookCount[]
}

/**
 * What providers did lately, over all processes: what somebody sees who repairs a delivery. Calls are counted here beside
 * the history in `notify.stat`, since the two answer different questions. The history is written once a minute for 400
 * days: what became of deliveries, in buckets that fit a chart. A person who pauses or tests a provider has to see its
 * answers within seconds and the same from every process, by their kind and with durations to a fifth, for a day.
 */
export interface ProviderActivityStore {
  /** Adds what a process counted. Where it is not known whether an addition was stored, it may count twice. */
  add(counts: ActivityCounts): Promise<void>
  /** Calls since a time (Unix milliseconds), the errors since then, and the webhooks. Each minute is left out. */
  read(since: number): Promise<{
    readonly calls: ReadonlyArray<Omit<CallCount, 'minute'>>
    readonly errors: readonly ErrorCount[]
    readonly webhooks: readonly WebhookCount[]
  }>
}

/** The orders of providers that the management chose, for all processes. */
export interface ProviderOrders {
  /** By channel, the preferred first. */
  list(): Promise<ReadonlyMap<string, readonly string[]>>
  /**
   * Stores the order of a channel. With `expected` only where that is stored, null for none: of two who saw the same, one
   * gets true.
   */
  put(channel: string, names: readonly string[], now: number, expected?: readonly string[] | null): Promise<boolean>
}
