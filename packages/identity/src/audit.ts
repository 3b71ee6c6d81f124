import { randomUUIDv7 } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { AuditType } from './audit-type.ts'
import type { Parts } from './parts.ts'

export interface AuditFacts {
  readonly actor?: string | undefined
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
  readonly details?: Readonly<Record<string, unknown>>
}

/** Writes a security event to the audit trail, with where the request came from. */
export async function audit(
  { store, clock, metrics }: Pick<Parts, 'store' | 'clock' | 'metrics'>,
  request: Pick<FastifyRequest, 'ip' | 'id'> | undefined,
  type: AuditType,
  { details = {}, ...facts }: AuditFacts,
): Promise<void> {
  metrics.securityEvent(type)
  await store.audit.record({
    id: randomUUIDv7(),
    at: clock.now(),
    type,
    address: request?.ip,
    requestId: request?.id,
    details,
    ...facts,
  })
}
