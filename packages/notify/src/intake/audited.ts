import { createHash } from 'node:crypto'
import type { Log } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Audit } from '../context/audit.ts'
import type { NotifyRequest } from '../model/notification/notification.ts'
import type { AccessControl } from '../request/caller.ts'
import { readRequest } from '../request/read-request.ts'

/** What sending needs: what the management sends is in the audit trail, what producers send is not. */
export interface SendContext {
  readonly access: AccessControl
  readonly audit: Audit
}

/** Records that the management sends an event, without its data and key. @throws Problem 503 where that fails: then it is not sent */
export async function auditSend(
  { access, audit }: SendContext,
  request: FastifyRequest,
  { event, user_id: id, channels }: NotifyRequest,
): Promise<void> {
  if (!access.sendsAsManagement(request)) return
  const after = { event, ...(channels === undefined ? {} : { channels }) }
  await audit(request, { action: 'notifications.send', target: { type: 'user', id }, after })
}

const bulk = { type: 'notification', id: 'bulk' } as const
/** Of so many event types the events are counted; a bulk request may name one for each event. */
const maxEventTypes = 20

/**
 * Records that the management sends many events, before it does: how many of which event type, on which channels, and to
 * whom: the first ids, which the trail cuts, and a digest of all of them, with which a list can be compared that somebody
 * says was the list. Neither data, keys nor addresses.
 * @throws Problem 503 where that fails: then none is sent
 */
export async function auditBulk(
  { access, audit }: SendContext,
  request: FastifyRequest,
  events: readonly unknown[],
): Promise<void> {
  if (!access.sendsAsManagement(request)) return
  const valid = events.map(readRequest).filter((read) => 'event' in read)
  const userIds = [...new Set(valid.map(({ user_id }) => user_id))].sort()
  const byType = [...Map.groupBy(valid, ({ event }) => event)]
    .map(([event, { length }]) => ({ event, count: length }))
    .sort((a, b) => b.count - a.count)
  const after = {
    count: events.length,
    at: 'now',
    events: byType.slice(0, maxEventTypes),
    event_types: byType.length,
    channels: [...new Set(valid.flatMap(({ channels = [] }) => channels))].sort(),
    recipients: userIds.length,
    user_ids: userIds,
    user_ids_sha256: digestOf(userIds),
  }
  await audit(request, { action: 'notifications.sendBulk', target: bulk, after })
}

/**
 * Records what came of it: how many were accepted, and the ids of their notifications, as {@link auditBulk} has users. They
 * are known only once they are sent; where the trail is unavailable by then, the log has them.
 */
export async function auditBulkResult(
  { access, audit, log }: SendContext & { readonly log: Log },
  request: FastifyRequest,
  { ids, refused }: { readonly ids: readonly string[]; readonly refused: number },
): Promise<void> {
  if (!access.sendsAsManagement(request)) return
  const after = { accepted: ids.length, refused, ids: [...ids], ids_sha256: digestOf(ids) }
  await audit(request, { action: 'notifications.sentBulk', target: bulk, after }).catch((error) =>
    log.error({ err: error, ...after, ids: ids.slice(0, maxLogged) }, 'what was sent in bulk was not audited'),
  )
}

/** So many ids are in a line of the log. */
const maxLogged = 100

/** SHA-256 of ids, each on a line, as hexadecimal digits. */
function digestOf(ids: readonly string[]): string {
  return createHash('sha256').update(ids.join('\n')).digest('hex')
}
