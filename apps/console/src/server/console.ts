import type { Http } from '@gatehouse/kit'
import { hasBody, Problem } from '@gatehouse/kit'
import type { ConsoleContext } from './context.ts'
import { basePath } from './cookies.ts'
import { liveEndpoint } from './live/endpoint.ts'
import type { ConsoleOptions } from './options.ts'
import { requireSession, sessionEndpoint } from './overview/overview.ts'
import { countersEndpoint, systemEndpoint } from './overview/system.ts'
import { keepPreviewEndpoint, previewEndpoint } from './preview/endpoint.ts'
import { createProvider } from './provider/create.ts'
import { refuseCrossSite } from './proxy/cross-site.ts'
import { forwardEndpoint, maxBodyBytes, maxEventsBytes } from './proxy/forward.ts'
import { openServices } from './proxy/services.ts'
import { createOpenAnswers } from './session/open-answers.ts'
import { createAccessTokens } from './session/tokens.ts'
import { createBundler } from './shell/bundle.ts'
import { assetEndpoint, shellEndpoint } from './shell/endpoints.ts'
import { createSignInPlaces } from './sign-in/limits.ts'
import { callbackEndpoint, loginEndpoint } from './sign-in/sign-in.ts'
import { backchannelLogoutEndpoint, signOutEndpoint } from './sign-in/sign-out.ts'
import { listViews, removeView, saveView } from './views/endpoints.ts'

/** The console: its pages, and the server between them and the APIs. */
export interface Console {
  /** Registers every path of the console, all below `/console`. */
  readonly plugin: (http: Http) => Promise<void>
  /** Ends open answers and closes the connections to the services. */
  stop(): Promise<void>
}

/**
 * Creates the admin console: a backend for frontend (RFC 10017) whose tokens never reach the browser.
 *
 * @example
 * const admin = createConsole({ publicUrl: 'https://console.example.com', ownOrigin: true, … })
 * await http.register(admin.plugin)
 */
export function createConsole(options: ConsoleOptions): Console {
  const { store, clock, encryptionKey: key } = options
  const provider = createProvider(options)
  const openAnswers = createOpenAnswers(store.sessions, clock)
  const connections = openServices(options.services)
  const tokens = createAccessTokens({ store, provider, key, clock, onEnd: (idHash) => openAnswers.end(idHash) })
  const secure = options.publicUrl.startsWith('https:')
  const signInPlaces = createSignInPlaces()
  const context: ConsoleContext = { ...options, secure, provider, connections, tokens, openAnswers, signInPlaces }
  return {
    async plugin(http) {
      await http.register((scope) => pageRoutes(scope as Http, context))
      await http.register((scope) => apiRoutes(scope as Http, context))
    },
    async stop() {
      openAnswers.stop()
      await connections.close()
    },
  }
}

const hidden = { schema: { hide: true } }
const wellKnown = new Set(['/healthz', '/readyz'])

/**
 * At the console's own origin nothing else is served, where an upstream or the mailbox could run a script in it; nor is
 * the console anywhere else. To be called before anything else is registered.
 */
export function separateOrigins(http: Http, publicUrl: string): void {
  const { host } = new URL(publicUrl)
  http.addHook('onRequest', async (request, reply) => {
    const [path = ''] = (request.raw.url ?? '').split('?', 1)
    const ofConsole = isBelowBase(path)
    const atConsole = request.headers.host?.toLowerCase() === host
    if (ofConsole === atConsole || wellKnown.has(path)) return
    if (atConsole && path === '/') return reply.redirect(`${basePath}/`)
    throw new Problem(404, `Nothing is at ${request.method} ${path}.`)
  })
}

/** Whether a path is one of the console to the router, which decodes it: `/%63onsole/` is. */
function isBelowBase(path: string): boolean {
  const [, first = ''] = path.split('/', 2)
  try {
    return `/${decodeURIComponent(first)}` === basePath
  } catch {
    return false
  }
}

async function pageRoutes(http: Http, context: ConsoleContext): Promise<void> {
  const bundle = createBundler()
  const shell = shellEndpoint(bundle)
  http.get(basePath, hidden, async (_request, reply) => reply.redirect(`${basePath}/`, 308))
  http.get(`${basePath}/login`, hidden, loginEndpoint(context))
  http.get(`${basePath}/callback`, hidden, callbackEndpoint(context))
  http.get(`${basePath}/assets/:name`, hidden, assetEndpoint(bundle))
  http.get(`${basePath}/preview/:id`, { ...hidden, exposeHeadRoute: false }, previewEndpoint(context))
  http.get(`${basePath}/*`, hidden, shell)
  http.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 16_384 },
    (_r, body, done) => done(null, body),
  )
  http.post(`${basePath}/backchannel-logout`, hidden, backchannelLogoutEndpoint(context))
}

/** Nobody needs any: a sign-out has no fields. */
const maxSignOutBytes = 1_024

async function apiRoutes(http: Http, context: ConsoleContext): Promise<void> {
  const api = `${basePath}/api`
  const signOut = `${api}/sign-out`
  http.addHook('onRequest', async (request) => refuseCrossSite(request, context.publicUrl))
  // Nobody's body is read, but for the short one of a sign-out, which works without a session too. Each endpoint looks
  // again, since the session may end while the body is on its way.
  http.addHook('onRequest', async (request) => {
    if (hasBody(request) && request.routeOptions.url !== signOut) await requireSession(context, request)
  })
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBodyBytes }, (_request, body, done) =>
    done(null, body),
  )
  http.get(`${api}/session`, hidden, sessionEndpoint(context))
  http.get(`${api}/system/:part`, hidden, systemEndpoint(context))
  http.get(`${api}/live/:service`, hidden, countersEndpoint(context))
  http.post(`${api}/preview`, hidden, keepPreviewEndpoint(context))
  http.post(signOut, { ...hidden, bodyLimit: maxSignOutBytes }, signOutEndpoint(context))
  // Before the connections of the server are waited for: a live one lasts.
  http.addHook('preClose', async () => context.openAnswers.stop())
  http.get(`${basePath}/live`, hidden, liveEndpoint(context))
  http.get(`${api}/views`, hidden, listViews(context))
  http.post(`${api}/views`, hidden, saveView(context))
  http.delete(`${api}/views/:id`, hidden, removeView(context))
  const forward = forwardEndpoint(context)
  http.post(`${api}/v1/notify/bulk`, { ...hidden, bodyLimit: maxEventsBytes }, forward)
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const)
    http.route({ method, url: `${api}/*`, bodyLimit: maxBodyBytes, ...hidden, handler: forward })
}
