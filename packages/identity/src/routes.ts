import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { adminRoutes } from './admin/routes.ts'
import type { IdentityContext } from './context/context.ts'
import { deviceAuthorizationEndpoint } from './device/authorization.ts'
import { backChannelLogoutEndpoint } from './federation/back-channel-logout.ts'
import { openPreflight, preflight } from './http/cors.ts'
import { acceptForms, oauthRoute } from './http/oauth-route.ts'
import * as schemas from './http/route-schemas.ts'
import { introspectEndpoint } from './introspect/endpoint.ts'
import { serverMetadata } from './metadata/server-metadata.ts'
import type { Authenticate } from './model/caller.ts'
import { pageRoutes } from './page-routes.ts'
import { pushEndpoint } from './par/endpoint.ts'
import { revokeEndpoint } from './revoke/endpoint.ts'
import { readRevocations } from './revoke/feed.ts'
import { tokenEndpoint } from './token/endpoint.ts'
import { userinfoEndpoint } from './userinfo/endpoint.ts'
import { readUserPlan } from './users/plan.ts'

const publicDocument = 'public, max-age=300'
/** Shorter than the minute between the publication of a key that a command made and its first signature. */
const publicKeys = 'public, max-age=30'

/** Registers every endpoint of identity. */
export async function routes(http: Http, context: IdentityContext, authenticate: Authenticate): Promise<void> {
  acceptForms(http)
  oauthRoutes(http, context)
  pageRoutes(http, context)
  documentRoutes(http, context)
  apiRoutes(http, context, authenticate)
  await adminRoutes(http, context, authenticate)
}

/** The OAuth endpoints: forms in, JSON out. */
function oauthRoutes(http: Http, context: IdentityContext): void {
  const route = (schema: object) => ({ ...oauthRoute, schema })
  http.post('/token', route(schemas.token), tokenEndpoint(context))
  http.post('/revoke', route(schemas.revoke), revokeEndpoint(context))
  http.post('/introspect', route(schemas.introspect), introspectEndpoint(context))
  http.post('/device_authorization', route(schemas.deviceAuthorization), deviceAuthorizationEndpoint(context))
  http.post('/par', route(schemas.push), pushEndpoint(context))
  const connection = Type.Object({ connection: Type.String({ description: 'The connection.' }) })
  const logout = route({ ...schemas.backChannelLogout, params: connection })
  http.post('/login/providers/:connection/logout', logout, backChannelLogoutEndpoint(context))
  const validatorCompiler = () => () => true
  for (const [method, id] of [
    ['GET', 'userinfo.get'],
    ['POST', 'userinfo.post'],
  ] as const)
    http.route({
      method,
      url: '/userinfo',
      validatorCompiler,
      schema: schemas.userinfo(id),
      handler: userinfoEndpoint(context),
    })
  for (const path of ['/token', '/revoke', '/userinfo', '/par', '/device_authorization']) {
    http.options(path, { schema: schemas.hidden }, preflight('GET, POST'))
  }
}

/** The public documents. */
function documentRoutes(http: Http, context: IdentityContext): void {
  for (const [path, id] of [
    ['/.well-known/openid-configuration', 'openidConfiguration.get'],
    ['/.well-known/oauth-authorization-server', 'serverMetadata.get'],
  ] as const) {
    http.get(path, { schema: schemas.metadata(id) }, (_request, reply) => {
      reply.header('cache-control', publicDocument).header('access-control-allow-origin', '*')
      reply.header('cross-origin-resource-policy', 'cross-origin')
      return serverMetadata(context)
    })
    http.options(path, { schema: schemas.hidden }, openPreflight('GET, HEAD'))
  }
  http.options('/.well-known/jwks.json', { schema: schemas.hidden }, openPreflight('GET, HEAD'))
  http.get('/.well-known/jwks.json', { schema: schemas.jwks }, (_request, reply) => {
    reply.header('cache-control', publicKeys).header('access-control-allow-origin', '*')
    reply.header('cross-origin-resource-policy', 'cross-origin')
    return context.keys.getJwks()
  })
}

/** The endpoints for callers with a bearer token. */
function apiRoutes(http: Http, context: IdentityContext, authenticate: Authenticate): void {
  const userId = Type.Object({ id: Type.String({ description: 'The user.' }) })
  http.get('/users/:id', { schema: { ...schemas.user, params: userId } }, async (request) => {
    const caller = await authenticate(request, 'read:users')
    return readUserPlan(context, caller, request.params.id)
  })
  const cursor = Type.Object(
    {
      after: Type.Optional(
        Type.String({ pattern: '^\\d{0,15}$', description: 'The `next` of the previous response.' }),
      ),
    },
    { additionalProperties: false },
  )
  http.get('/revocations', { schema: { ...schemas.revocations, querystring: cursor } }, async (request) => {
    await authenticate(request, 'read:revocations')
    return readRevocations(context, request.query.after)
  })
}
