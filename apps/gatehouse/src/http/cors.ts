import type { Http } from '@gatehouse/kit'

const allowedHeaders = 'authorization, content-type, if-match, last-event-id'
const exposedHeaders =
  'www-authenticate, retry-after, etag, x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset'
/** What a page of another origin may call: the API that takes bearer tokens. Never with cookies. */
const openPath = /^\/v1\//
/**
 * What service workers and pages of any origin report of the messages they received. The credential is the token in the
 * body, which no page can make a browser add, and the response tells nothing of the message.
 */
const publicPath = /^\/v1\/receipts(?:\?|$)/

/** Lets pages of these origins, and no others, read the answers of the API (Fetch, CORS protocol); of receipts any page. */
export function registerCors(http: Http, origins: readonly string[]): void {
  registerPublicCors(http)
  if (origins.length === 0) return
  const allowed = new Set(origins)
  http.addHook('onRequest', async (request, reply) => {
    if (!openPath.test(request.url) || publicPath.test(request.url)) return
    reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !allowed.has(origin)) return
    reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', exposedHeaders)
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return
    await reply
      .header('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE')
      .header('access-control-allow-headers', allowedHeaders)
      .header('access-control-max-age', '600')
      .code(204)
      .send()
  })
}

function registerPublicCors(http: Http): void {
  http.addHook('onRequest', async ({ url, method, headers }, reply) => {
    if (!publicPath.test(url)) return
    reply
      .header('access-control-allow-origin', '*')
      .header('access-control-expose-headers', 'retry-after, x-request-id')
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return
    await reply
      .header('access-control-allow-methods', 'POST')
      .header('access-control-allow-headers', 'content-type')
      .header('access-control-max-age', '86400')
      .code(204)
      .send()
  })
}
