import { type Actor, changedMembers, type ManagementChange, type RecordChange, recordChange } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { type AccessControl, managementRoleOf } from '../request/caller.ts'

type Members = Readonly<Record<string, unknown>>

/** A change that the management is about to make. */
export interface AuditedChange extends Pick<ManagementChange, 'action' | 'target'> {
  readonly before?: Members
  readonly after?: Members
  /** Masks what is personal of the members that change: the trail has other readers, and outlives an erasure. */
  readonly mask?: (members: Members) => Members
}

/**
 * Records a change in the audit trail before it is made.
 *
 * @throws Problem 503 when that can't be done: then nothing may be changed
 */
export type Audit = (request: FastifyRequest, change: AuditedChange) => Promise<void>

/** The audit trail of this service's management. */
export function createAudit(record: RecordChange, access: AccessControl): Audit {
  return (request, { action, target, before = {}, after = {}, mask = (members) => members }) => {
    const changed = changedMembers(before, after)
    return recordChange(record, {
      service: 'notify',
      action,
      actor: actorOf(request, access),
      target,
      before: truncateMembers(mask(changed.before)),
      after: truncateMembers(mask(changed.after)),
    })
  }
}

function actorOf(request: FastifyRequest, access: AccessControl): Actor {
  const caller = access.callerOf(request)
  const { subject, clientId } = caller
  return {
    subject,
    role: managementRoleOf(caller),
    clientId,
    address: request.ip,
    requestId: request.id,
  }
}

const maxTextLength = 1_000
const maxItems = 100

/** What is long is cut: an event of the trail says what was changed, and does not keep it. */
function truncateMembers(members: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, truncateValue(value)]))
}

function truncateValue(value: unknown): unknown {
  if (typeof value === 'string') return value.length > maxTextLength ? `${value.slice(0, maxTextLength)}…` : value
  if (Array.isArray(value)) return value.slice(0, maxItems).map(truncateValue)
  return typeof value === 'object' && value !== null ? truncateMembers(value as Members) : value
}
