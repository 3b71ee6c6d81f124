import type { Authenticate } from '@gatehouse/gateway'
import { constantTimeEqual, type Http, randomToken } from '@gatehouse/kit'
import { type Branding, brandingFrom, sendPage, serveAssets, textsFor } from '@gatehouse/kit/page'
import type { WatchCredential } from '@gatehouse/notify'
import { tourist } from '../../config/tour.ts'
import type { DevSite } from '../site.ts'
import { inboxModules } from './inbox-modules.ts'

/** The user whose inbox the page shows before somebody signs in: the one that the first run makes. */
const userId = tourist.user
const scopes: ReadonlySet<string> = new Set(['read:notifications', 'write:preferences', 'write:notifications'])
const assets = new URL('../assets/', import.meta.url)
const path = '/dev/inbox'

/** What the page is made from. */
export interface DevInboxOptions {
  readonly baseUrl: string
  readonly site: DevSite
  readonly branding: Partial<Branding>
  /** How to sign in, where identity is here and the file declares the client of the page. */
  readonly signIn: { readonly issuer: string; readonly clientId: string } | undefined
}

/** The page /dev/inbox and the token that it uses. */
export interface DevInbox {
  /** Serves /dev/inbox: a shop with the live inbox of the first run's user, or of whoever signs in. */
  readonly plugin: (http: Http) => Promise<void>
  /** The bearer check, which also knows the page's own token; it is made afresh by every process. */
  authenticate(inner: Authenticate): Authenticate
  /** The page's own token lasts as long as the process. */
  watch(inner: WatchCredential): WatchCredential
}

/** A sample shop that needs no sign-in to be tried, for the embedded mode only, like /dev/mailbox. */
export function createDevInbox(options: DevInboxOptions): DevInbox {
  const token = randomToken()
  const isOwn = ({ raw }: Parameters<Authenticate>[0]) =>
    constantTimeEqual(raw.headers.authorization?.replace(/^Bearer /, '') ?? '', token)
  return {
    watch: (inner) => (request, caller, end) => (isOwn(request) ? () => {} : inner(request, caller, end)),
    authenticate: (inner) => async (request, scope) => {
      if (!isOwn(request)) return inner(request, scope)
      if (scope !== undefined && !scopes.has(scope)) return inner(request, scope)
      return { subject: userId, kind: 'user', scopes, roles: [] }
    },
    plugin: async (http) => registerPages(http, token, options),
  }
}

function registerPages(http: Http, token: string, { baseUrl, site, branding: chosen, signIn }: DevInboxOptions): void {
  const branding = brandingFrom(chosen)
  const schema = { hide: true }
  serveAssets(http, { path: `${path}/assets`, folder: assets, branding })
  http.get(path, { schema }, async (request, reply) => {
    const { languages } = site
    const { shopPage } = await import('./shop-page.ts')
    const texts = textsFor({ branding, languages }, request)
    const page = shopPage(texts, site, { userId, canSignIn: signIn !== undefined })
    return sendPage({ branding, languages, assets: `${path}/assets` }, reply, texts, page)
  })
  const settings = { baseUrl, userId, ...(signIn ? { signIn } : {}) }
  const pageScript = `const token = ${JSON.stringify(token)}\nexport const settings = { token, ...${JSON.stringify(settings)} }\n`
  http.get<{ Params: { file: string } }>(`${path}/:file`, { schema }, ({ params: { file } }, reply) => {
    const script = file === 'page.js' ? pageScript : inboxModules().get(file)
    if (script === undefined) return reply.callNotFound()
    return reply.type('text/javascript; charset=utf-8').send(script)
  })
}
