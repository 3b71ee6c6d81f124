import type { FastifyRequest } from 'fastify'
import type { Audit } from '../context/audit.ts'
import type { NotifyRequest } from '../model/notification.ts'
import type { AccessControl } from '../request/caller.ts'

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

/** Records that the management sends many events. @throws Problem 503 where that fails: then none is sent */
export async function auditBulk(
  { access, audit }: SendContext,
  request: FastifyRequest,
  events: readonly unknown[],
): Promise<void> {
  if (!access.sendsAsManagement(request)) return
  const target = { type: 'notification', id: 'bulk' }
  await audit(request, { action: 'notifications.sendBulk', target, after: { count: events.length } })
}
