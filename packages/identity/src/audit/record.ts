import { type ManagementChange, orderedId, type RecordChange } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { ServerContext } from '../context/context.ts'
import type { AuditType } from './event-type.ts'

/** What an audit event says beside its type. */
export interface AuditFacts {
  readonly actor?: string | undefined
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
  readonly details?: Readonly<Record<string, unknown>>
}

type AuditContext = Pick<ServerContext, 'store' | 'clock' | 'metrics'>

/** Records a security event in the audit trail, with the address and id of the request. */
export async function audit(
  { store, clock, metrics }: AuditContext,
  request: Pick<FastifyRequest, 'ip' | 'id'> | undefined,
  type: AuditType,
  { details = {}, ...facts }: AuditFacts,
): Promise<void> {
  metrics.securityEvent(type)
  await store.audit.record({
    id: orderedId(),
    at: clock.now(),
    type,
    service: 'identity',
    address: request?.ip,
    requestId: request?.id,
    details,
    ...facts,
  })
}

/** Returns the function that records changes of management, of any service, in the audit trail. */
export function changeRecorder(context: AuditContext): RecordChange {
  return async (change) => {
    await context.store.audit.record({
      id: orderedId(),
      at: context.clock.now(),
      type: 'management' satisfies AuditType,
      ...factsOf(change),
    })
    context.metrics.securityEvent('management')
  }
}

function factsOf({ service, action, actor, target, before, after }: ManagementChange) {
  const { subject, ...rest } = actor
  const about = target.type === 'user' ? { subject: target.id } : {}
  return { service, actor: subject, ...rest, ...about, action, target, before, after, details: {} }
}
