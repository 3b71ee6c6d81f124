import { producerPolicy, type RouteRule } from '@gatehouse/gateway'

/** What a monitor, a browser reading the API page, or another server's key lookup asks for: never limited. */
const exempt = ['/', '/healthz', '/readyz', '/openapi.json', '/docs*', '/dev/*', '/.well-known/*']

/** Read with a scope, where METRICS_PORT doesn't name a listener for it. */
const metrics = '/metrics'

/**
 * What clients call: identity counts it by the client that has proven who it is, failures by address. A 429 of ours could
 * hide an `invalid_grant`, and all requests of a service come from one address.
 */
const clientPaths = ['/token', '/par', '/revoke', '/introspect']

/** The token service's own pages and endpoints: they authenticate by themselves, and have a policy of their own. */
const identityPaths = [
  '/authorize*',
  '/device*',
  '/userinfo',
  '/login*',
  '/consent',
  '/end_session*',
  '/account*',
  '/password*',
  '/email*',
  '/register*',
  '/organization',
  '/invitation',
  '/pages/*',
]

/** What providers report: they sign it, and have a policy of their own. */
const webhooks = '/v1/webhooks/*'

/** What messages lead to: links, followed by browsers and mail services, and what apps report with the tokens of messages. */
const linkPaths = ['/t/*', '/l/*', '/unsubscribe/*', '/preferences/*', '/v1/receipts']

/** Where producers send events: a reader's tier would throttle them. */
const producerPaths = ['/v1/notify', '/v1/notify/*', '/v1/scheduled']

const identityApi = ['/users/*', '/organizations/*', '/revocations', '/admin/v1/*']
const notifyApi = ['/v1/*']
/** Each holds its connection for minutes: it must not hold those of other requests. */
const streams = ['/v1/users/{id}/inbox/stream', '/v1/notifications/{id}/stream', '/v1/events']

/** The admin console: its pages, and its server, which signs people in itself. */
const consolePaths = ['/console', '/console/*']

/** The rules of the routes that this process or a sibling serves. */
export function ownRoutes(remote: { readonly identity: boolean; readonly notify: boolean }): RouteRule[] {
  const through = (upstream: 'identity' | 'notify') => (remote[upstream] ? { upstream } : {})
  return [
    ...exempt
      .filter((path) => !remote.identity || path !== '/.well-known/*')
      .map((path) => ({ path, public: true, policy: 'none' })),
    ...(remote.identity ? [{ path: '/.well-known/*', public: true, policy: 'none', upstream: 'identity' }] : []),
    { path: metrics, policy: 'none' },
    ...clientPaths.map((path) => ({ path, public: true, policy: 'none', ...through('identity') })),
    ...identityPaths.map((path) => ({ path, public: true, policy: 'identity', ...through('identity') })),
    ...consolePaths.map((path) => ({ path, public: true, policy: 'console' })),
    { path: webhooks, public: true, policy: 'webhooks', ...through('notify') },
    ...linkPaths.map((path) => ({ path, public: true, policy: 'links', ...through('notify') })),
    ...producerPaths.map((path) => ({ path, methods: ['POST'], producers: producerPolicy, ...through('notify') })),
    ...(remote.identity ? identityApi.map((path) => ({ path, upstream: 'identity' })) : []),
    ...(remote.notify ? streams.map((path) => ({ path, methods: ['GET'], upstream: 'notify-streams' })) : []),
    ...(remote.notify ? notifyApi.map((path) => ({ path, upstream: 'notify' })) : []),
  ]
}
