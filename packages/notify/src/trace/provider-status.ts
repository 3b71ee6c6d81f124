import type { Clock } from '@gatehouse/kit'
import type { Provider } from '@gatehouse/providers'
import type { FastifyRequest } from 'fastify'
import { inChosenOrder, type ProviderSource } from '../model/delivery/provider-order.ts'
import { percentileOf } from '../model/durations.ts'
import { maskReason } from '../model/masking.ts'
import type { AccessControl } from '../request/caller.ts'
import type {
  CallCount,
  ErrorCount,
  ProviderActivityStore,
  ProviderOrders,
  ProviderPauses,
  ResultKind,
  StoredHealth,
  WebhookCount,
} from '../store/store.ts'

/** What the state of providers is read from. */
export interface ProviderStatusContext {
  readonly access: AccessControl
  /** Those of this program, by channel in the order of the configuration. */
  readonly providers: readonly Provider[]
  readonly providerSources: Readonly<Record<string, ProviderSource>>
  readonly pauses: ProviderPauses
  readonly orders: ProviderOrders
  readonly activityStore: ProviderActivityStore
  readonly clock: Clock
}

/** Calls and errors of the last hour are told. */
const windowMs = 3_600_000
const minuteMs = 60_000
const maxErrors = 20

/** Results that are the provider's fault, or ours, and none of the address's. */
const failures: ReadonlySet<ResultKind> = new Set(['transient', 'ambiguous', 'misconfigured', 'rate_limited'])

/** Every provider by channel in the order of now, with its state and what it did in the last hour. */
export async function readProviders(context: ProviderStatusContext, request: FastifyRequest) {
  const { access, pauses, orders, activityStore, clock, providerSources } = context
  const now = clock.now()
  // The whole first minute: its calls are counted together.
  const since = now - (now % minuteMs) - windowMs + minuteMs
  const [health, chosen, activity] = await Promise.all([pauses.list(), orders.list(), activityStore.read(since)])
  const stored = new Map(health.map((each) => [each.provider, each]))
  const masks = access.masks(request)
  const ofName = <Row extends { readonly provider: string }>(rows: readonly Row[], name: string) =>
    rows.filter(({ provider }) => provider === name)
  return [...Map.groupBy(context.providers, ({ channel }) => channel)].flatMap(([channel, mine]) =>
    inChosenOrder(mine, chosen.get(channel)).map((provider, index) => {
      const { name } = provider
      const source = Object.hasOwn(providerSources, name) ? providerSources[name] : undefined
      return {
        name,
        channel,
        place: index + 1,
        ...(source ? { kind: source.kind, credentials: source.setting } : {}),
        ...formatHealth(stored.get(name), now, masks),
        ...formatCalls(ofName(activity.calls, name), since),
        errors: ofName(activity.errors, name)
          .slice(0, maxErrors)
          .map((error) => formatError(error, masks)),
        ...formatWebhook(provider, activity.webhooks),
      }
    }),
  )
}

function formatHealth(health: StoredHealth | undefined, now: number, masks: boolean) {
  const { openUntil, pausedUntil = 0, misconfigured } = health ?? {}
  const isPaused = pausedUntil > now
  const rejection = openUntil === undefined ? undefined : misconfigured
  return {
    state: stateOf({ isPaused, openUntil, rejection, now }),
    ...(openUntil === undefined ? {} : { open_until: new Date(openUntil).toISOString() }),
    ...(isPaused ? { paused_until: new Date(pausedUntil).toISOString() } : {}),
    ...(rejection === undefined ? {} : { problem: masks ? maskReason(rejection) : rejection }),
  }
}

interface Standing {
  readonly isPaused: boolean
  readonly openUntil: number | undefined
  readonly rejection: string | undefined
  readonly now: number
}

function stateOf({ isPaused, openUntil, rejection, now }: Standing) {
  if (isPaused) return 'paused' as const
  if (openUntil === undefined) return 'closed' as const
  if (rejection !== undefined) return 'misconfigured' as const
  return openUntil > now ? ('open' as const) : ('probing' as const)
}

function formatCalls(counts: ReadonlyArray<Omit<CallCount, 'minute'>>, since: number) {
  const sum = (some: typeof counts) => some.reduce((total, { calls }) => total + calls, 0)
  const [p50, p95] = [percentileOf(counts, 0.5), percentileOf(counts, 0.95)]
  return {
    counted_since: new Date(since).toISOString(),
    calls: sum(counts),
    failures: sum(counts.filter(({ result }) => failures.has(result))),
    rejections: sum(counts.filter(({ result }) => result === 'permanent' || result === 'dead_token')),
    ...(p50 === undefined ? {} : { p50_ms: p50 }),
    ...(p95 === undefined ? {} : { p95_ms: p95 }),
  }
}

function formatError({ fingerprint, result, sample, count, firstAt, lastAt }: ErrorCount, masks: boolean) {
  return {
    fingerprint,
    result,
    count,
    sample: masks ? maskReason(sample) : sample,
    first_at: new Date(firstAt).toISOString(),
    last_at: new Date(lastAt).toISOString(),
  }
}

function formatWebhook({ name, reports }: Provider, counts: readonly WebhookCount[]) {
  if (!reports) return {}
  const {
    acceptedAt,
    refused = 0,
    refusedAt,
    refusal,
    unverified = 0,
    unverifiedAt,
    unverifiedReason,
  } = counts.find(({ provider }) => provider === name) ?? {}
  return {
    webhook: {
      path: `/v1/webhooks/${name}`,
      refused,
      ...(acceptedAt === undefined ? {} : { last_at: new Date(acceptedAt).toISOString() }),
      ...(refusedAt === undefined ? {} : { refused_at: new Date(refusedAt).toISOString() }),
      ...(refusal === undefined ? {} : { refusal }),
      unverified,
      ...(unverifiedAt === undefined ? {} : { unverified_at: new Date(unverifiedAt).toISOString() }),
      ...(unverifiedReason === undefined ? {} : { unverified_reason: unverifiedReason }),
    },
  }
}
