import { randomUUIDv7 } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Parts } from './parts.ts'

/** The security events that are written down. */
export type AuditType =
  | 'login'
  | 'login_failed'
  | 'logout'
  | 'consent_given'
  | 'consent_denied'
  | 'consent_withdrawn'
  | 'code_replayed'
  | 'refresh_reused'
  | 'grant_revoked'
  | 'session_ended'
  | 'device_approved'
  | 'device_denied'
  | 'user_registered'
  | 'email_verified'
  | 'password_reset_asked'
  | 'password_changed'
  | 'key_rotated'
  | 'management'

export interface AuditFacts {
  readonly actor?: string | undefined
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
  readonly details?: Readonly<Record<string, unknown>>
}

/** Writes a security event to the audit trail, with where the request came from. */
export async function audit(
  { store, clock }: Pick<Parts, 'store' | 'clock'>,
  request: Pick<FastifyRequest, 'ip' | 'id'> | undefined,
  type: AuditType,
  { details = {}, ...facts }: AuditFacts,
): Promise<void> {
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
