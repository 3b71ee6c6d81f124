import type { FastifyRequest } from 'fastify'
import { audit } from '../audit/record.ts'
import type { ClientAuthenticationContext } from '../context/context.ts'
import { printable } from '../oauth/error.ts'
import type { FailedAuthentication } from './authentication-fault.ts'

type RefusalContext = Pick<ClientAuthenticationContext, 'auditBudget' | 'store' | 'clock' | 'metrics' | 'log'>

/**
 * Reports to the operator why a client was rejected: in the log every time, in the audit trail within the budget. The
 * client itself learns only that it was. Never rejects: the response does not depend on it.
 */
export async function reportFailedAuthentication(
  context: RefusalContext,
  request: FastifyRequest,
  failure: FailedAuthentication,
): Promise<void> {
  const { clientId, method, fault } = failure
  const facts = { method, check: fault.check, detail: printable(fault.detail), endpoint: request.routeOptions.url }
  context.log.warn({ client_id: clientId, request_id: request.id, ...facts }, 'client authentication failed')
  const omitted = context.auditBudget.admit(failure, context.clock.now())
  if (omitted === undefined) return
  const details = { ...facts, ...(omitted > 0 ? { left_out_before: omitted } : {}) }
  try {
    await audit(context, request, 'client_authentication_failed', { clientId, details })
  } catch (err) {
    context.log.error({ err }, 'a failed client authentication could not be recorded in the audit trail')
  }
}
