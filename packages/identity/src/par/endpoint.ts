import { randomToken, tokenHash } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../clients/authentication.ts'
import { limitClient } from '../clients/limits.ts'
import type { Parts } from '../context/context.ts'
import { allowOrigin } from '../http/cors.ts'
import { formParameters } from '../http/oauth-route.ts'
import { destinationOf, pushedPrefix, readRequest } from '../oauth/authorization-request.ts'
import { OAuthError } from '../oauth/error.ts'
import { type Form, Parameters } from '../oauth/parameters.ts'

const credentials = new Set(['client_secret', 'client_assertion', 'client_assertion_type'])

interface Pushed {
  readonly request_uri: string
  readonly expires_in: number
}

/** POST /par (RFC 9126 §2): takes an authorization request beforehand, checked, for one use by its own client. */
export function pushEndpoint(parts: Parts): (request: FastifyRequest, reply: FastifyReply) => Promise<Pushed> {
  return async (request, reply) => {
    const given = formParameters(request)
    const client = await authenticateClient(parts, request, given)
    allowOrigin(request, reply, client)
    await limitClient(parts, 'par', client, request)
    if (given.get('request_uri') !== undefined) {
      throw new OAuthError('invalid_request', 'request_uri can not be pushed')
    }
    const kept = Object.entries(given.form).filter(([name]) => !credentials.has(name))
    const form: Form = Object.fromEntries(kept)
    const parameters = new Parameters(form)
    readRequest(destinationOf(client, parameters), parameters, parts)
    const reference = randomToken()
    const seconds = parts.lifetimes.pushedRequest
    await parts.store.pushedRequests.put(tokenHash(reference), client.id, form, parts.clock.now() + seconds * 1000)
    reply.code(201).header('cache-control', 'no-store')
    return { request_uri: `${pushedPrefix}${reference}`, expires_in: seconds }
  }
}
