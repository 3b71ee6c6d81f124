import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Authenticate } from './caller.ts'
import { serverMetadata } from './metadata/documents.ts'
import { acceptForms, oauthRoute } from './oauth-route.ts'
import type { Parts } from './parts.ts'
import { jwksAnswer, metadataAnswer, oauthErrors, oauthForm, tokenAnswer, userAnswer } from './route-schemas.ts'
import { tokenEndpoint } from './token/endpoint.ts'
import { readUser } from './users/endpoint.ts'

const publicDocument = 'public, max-age=300'

/** Every endpoint of identity on one screen. */
export async function routes(http: Http, parts: Parts, authenticate: Authenticate): Promise<void> {
  acceptForms(http)

  const token = {
    tags: ['token'],
    summary: 'Get tokens (RFC 6749)',
    security: [{ basic: [] }, {}],
    body: oauthForm('grant_type', 'client_id', 'client_secret', 'scope', 'code', 'code_verifier', 'redirect_uri'),
    response: { 200: tokenAnswer, ...oauthErrors },
  }
  http.post('/token', { ...oauthRoute, schema: token }, tokenEndpoint(parts))

  const metadata = {
    tags: ['metadata'],
    summary: 'What this server can do',
    security: [],
    response: { 200: metadataAnswer },
  }
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
    http.get(path, { schema: metadata }, (_request, reply) => {
      reply.header('cache-control', publicDocument).header('access-control-allow-origin', '*')
      return serverMetadata(parts)
    })
  }
  const jwks = { tags: ['metadata'], summary: 'Public keys (RFC 7517)', security: [], response: { 200: jwksAnswer } }
  http.get('/.well-known/jwks.json', { schema: jwks }, (_request, reply) => {
    reply.header('cache-control', publicDocument).header('access-control-allow-origin', '*')
    return parts.keys.jwks()
  })

  const user = {
    tags: ['users'],
    summary: "A user's plan",
    security: [{ bearer: ['read:users'] }],
    params: Type.Object({ id: Type.String() }),
    response: { 200: userAnswer },
  }
  http.get('/users/:id', { schema: user }, async (request) => {
    await authenticate(request, 'read:users')
    return readUser(parts, request.params.id)
  })
}
