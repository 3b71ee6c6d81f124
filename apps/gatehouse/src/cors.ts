import type { Http } from '@gatehouse/kit'

const allowedHeaders = 'authorization, content-type, last-event-id'
const exposedHeaders = 'retry-after, x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset'
/** What a page of another origin may call: the API that takes bearer tokens. Never with cookies. */
const openPath = /^\/v1\//

/** Lets pages of these origins, and no others, read the answers of the API (Fetch, CORS protocol). */
export function registerCors(http: Http, origins: readonly string[]): void {
  if (origins.length === 0) return
  const allowed = new Set(origins)
  http.addHook('onRequest', async (request, reply) => {
    if (!openPath.test(request.url)) return
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
