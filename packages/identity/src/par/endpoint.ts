import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../clients/authentication.ts'
import { enforceClientLimit } from '../clients/limits.ts'
import type { PushContext } from '../context/features.ts'
import { allowOrigin } from '../http/cors.ts'
import { formParameters } from '../http/oauth-route.ts'
import { findDestination, parseRequest, pushedPrefix } from '../oauth/authorization-request.ts'
import { OAuthError } from '../oauth/error.ts'
import { type Form, Parameters } from '../oauth/parameters.ts'

const credentials = new Set(['client_secret', 'client_assertion', 'client_assertion_type'])

interface Pushed {
  readonly request_uri: string
  readonly expires_in: number
}

/** POST /par (RFC 9126 §2): validates and stores an authorization request, for one use by its own client. */
export function pushEndpoint(context: PushContext): (request: FastifyRequest, reply: FastifyReply) => Promise<Pushed> {
  return async (request, reply) => {
    const sent = formParameters(request)
    const client = await authenticateClient(context, request, sent)
    allowOrigin(request, reply, client)
    await enforceClientLimit(context, 'par', client, request)
    if (sent.get('request_uri') !== undefined) {
      throw new OAuthError('invalid_request', 'request_uri must not be pushed')
    }
    const kept = Object.entries(sent.form).filter(([name]) => !credentials.has(name))
    const form: Form = Object.fromEntries(kept)
    const parameters = new Parameters(form)
    parseRequest(findDestination(client, parameters), parameters, context)
    const reference = randomToken()
    const seconds = context.lifetimes.pushedRequest
    await context.store.pushedRequests.put(tokenHash(reference), client.id, form, context.clock.now() + seconds * 1000)
    reply.code(201).header('cache-control', 'no-store')
    return { request_uri: `${pushedPrefix}${reference}`, expires_in: seconds }
  }
}
