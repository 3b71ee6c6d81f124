import { type ManagementChange, orderedId, type RecordChange } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { ServerContext } from '../context/context.ts'
import type { AuditType } from './event-type.ts'

export interface AuditFacts {
  readonly actor?: string | undefined
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
  readonly details?: Readonly<Record<string, unknown>>
}

type AuditContext = Pick<ServerContext, 'store' | 'clock' | 'metrics'>

/** Writes a security event to the audit trail, with where the request came from. */
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

/** Writes changes made through management to the audit trail, whichever service makes them. */
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
