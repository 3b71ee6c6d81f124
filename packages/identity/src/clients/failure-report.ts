import type { FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { Parts } from '../context/context.ts'
import { printable } from '../oauth/error.ts'
import type { RefusedClient } from './authentication-fault.ts'

type RefusalParts = Pick<Parts, 'refusals' | 'store' | 'clock' | 'metrics' | 'log'>

/**
 * Tells the operator why a client was refused: the log each time, the audit trail as far as the budget goes. The client
 * itself is told no more than that it was. Never rejects: the answer to the client does not depend on it.
 */
export async function reportRefusal(
  parts: RefusalParts,
  request: FastifyRequest,
  refused: RefusedClient,
): Promise<void> {
  const { clientId, method, fault } = refused
  const facts = { method, check: fault.check, detail: printable(fault.detail), endpoint: request.routeOptions.url }
  parts.log.warn({ client_id: clientId, request_id: request.id, ...facts }, 'client authentication failed')
  const leftOut = parts.refusals.admit(refused, parts.clock.now())
  if (leftOut === undefined) return
  const details = { ...facts, ...(leftOut > 0 ? { left_out_before: leftOut } : {}) }
  try {
    await audit(parts, request, 'client_authentication_failed', { clientId, details })
  } catch (err) {
    parts.log.error({ err }, 'a refused client could not be recorded in the audit trail')
  }
}
