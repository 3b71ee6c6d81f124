import { entityTagOf, Problem } from '@gatehouse/kit'
import type { ServerContext } from '../../context/context.ts'
import { type ClientPolicy, type LimitDocument, maxClientPolicies } from '../../model/limit-settings.ts'
import type { LimitGateway } from '../../store/index.ts'

/** A process that reported within this time is live; it reports every 30 s. */
const liveMs = 90_000

type FeedContext = Pick<ServerContext, 'store' | 'clock'>

/** What gateways follow: the active version, every override that has not ended, and the policies of clients. */
export interface LimitFeed {
  readonly version: number
  readonly etag: string
  /** Undefined where no version is stored: then the file of the gateway applies. */
  readonly document?: LimitDocument
  readonly overrides: readonly FeedOverride[]
  readonly clients: readonly ClientPolicy[]
}

interface FeedOverride {
  readonly kind: string
  readonly id: string
  readonly policy?: string | undefined
  readonly factor?: number | undefined
  /** Unix milliseconds. */
  readonly until: number
  readonly author?: string | undefined
  /** Unix milliseconds. */
  readonly createdAt: number
  readonly reason: string
}

/** More than are accepted: of those that are bound at the same time none is left out. */
const maxClientsRead = 2 * maxClientPolicies

/** Reads the feed; undefined when nothing changed since `etag`. */
export async function readFeed(
  { store, clock }: FeedContext,
  etag: string | undefined,
): Promise<LimitFeed | undefined> {
  const [active, overrides, clients] = await Promise.all([
    store.limitVersions.current(),
    store.limitOverrides.list(clock.now()),
    store.clients.listPolicies(maxClientsRead),
  ])
  const version = active?.version ?? 0
  const tag = entityTagOf({ version, overrides, clients })
  if (tag === etag) return undefined
  return { version, etag: tag, ...(active ? { document: active.document } : {}), overrides, clients }
}

/** What a process reports about itself. */
export type GatewayState = Omit<LimitGateway, 'seenAt' | 'reporter'>

/**
 * Records which version a process applies. A client reports its own processes: nobody makes another's look as if it applied
 * what it does not.
 * @throws Problem 403 for a process that another one reports, or too many
 */
export async function recordGateway(
  { store, clock }: FeedContext,
  gateway: GatewayState,
  reporter = '',
): Promise<void> {
  const now = clock.now()
  if (await store.limitGateways.report({ ...gateway, seenAt: now, reporter }, now - liveMs)) return
  throw new Problem(403, `The process ${gateway.id} is reported by another client, or this one reports too many.`)
}

/** The live processes. */
export async function listGateways({ store, clock }: FeedContext) {
  const found = await store.limitGateways.list(clock.now() - liveMs)
  return found.map(({ seenAt, fault, services, reporter: _, ...rest }) => ({
    ...rest,
    services: [...services],
    ...(fault === undefined ? {} : { fault }),
    seen_at: new Date(seenAt).toISOString(),
  }))
}
