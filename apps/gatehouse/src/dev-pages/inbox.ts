import type { Authenticate } from '@gatehouse/gateway'
import { constantTimeEqual, type Http, randomToken } from '@gatehouse/kit'
import type { WatchCredential } from '@gatehouse/notify'
import { tourist } from '../config/tour.ts'
import { inboxModules } from './inbox-modules.ts'

/** The user whose inbox the page shows: the one that the first run makes. */
const userId = tourist.user
const scopes: ReadonlySet<string> = new Set(['read:notifications', 'write:preferences', 'write:notifications'])

/** The page /dev/inbox and the token that it uses. */
export interface DevInbox {
  /** Serves /dev/inbox: the inbox of the first run's user, as a product would show it. */
  readonly plugin: (http: Http) => Promise<void>
  /** The bearer check, which also knows the page's own token; it is made afresh by every process. */
  authenticate(inner: Authenticate): Authenticate
  /** The page's own token lasts as long as the process. */
  watch(inner: WatchCredential): WatchCredential
}

/** A page that signs nobody in, for the embedded mode only, like /dev/mailbox. */
export function createDevInbox(baseUrl: string): DevInbox {
  const token = randomToken()
  const isOwn = ({ raw }: Parameters<Authenticate>[0]) =>
    constantTimeEqual(raw.headers.authorization?.replace(/^Bearer /, '') ?? '', token)
  return {
    watch: (inner) => (request, expiresAt, end) => (isOwn(request) ? () => {} : inner(request, expiresAt, end)),
    authenticate: (inner) => async (request, scope) => {
      if (!isOwn(request)) return inner(request, scope)
      if (scope !== undefined && !scopes.has(scope)) return inner(request, scope)
      return { subject: userId, kind: 'user', scopes, roles: [] }
    },
    async plugin(http) {
      http.get('/dev/inbox', { schema: { hide: true } }, (_, reply) =>
        reply.type('text/html; charset=utf-8').header('content-security-policy', pagePolicy).send(page),
      )
      http.get<{ Params: { file: string } }>(
        '/dev/inbox/:file',
        { schema: { hide: true } },
        ({ params: { file } }, reply) => {
          const script = file === 'page.js' ? pageScript(baseUrl, token) : inboxModules().get(file)
          if (script === undefined && file !== 'page.css') return reply.callNotFound()
          return reply
            .type(`text/${script === undefined ? 'css' : 'javascript'}; charset=utf-8`)
            .send(script ?? pageStyle)
        },
      )
    },
  }
}

const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'"

const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Inbox · Gatehouse</title><link rel="stylesheet" href="/dev/inbox/page.css">
<script type="module" src="/dev/inbox/page.js"></script></head>
<body><header><strong>Your product</strong><gatehouse-inbox user-id="${userId}"></gatehouse-inbox></header>
<main><h1>The inbox of ${userId}</h1>
<p>The bell is the web component <code>@gatehouse/inbox</code>, on the live stream of ${userId}'s feed.</p>
<p><button id="send">Send ${userId} a notification</button> <span id="said" role="status"></span></p>
</main></body></html>
`

const pageStyle = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0; }
header { display: flex; justify-content: space-between; align-items: center; padding: .5rem 1rem; border-bottom: 1px solid light-dark(#d4dae3, #39424f); }
main { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
button { font: inherit; padding: .4rem .9rem; }
`

const pageScript = (baseUrl: string, token: string) => `import './index.js'
const token = ${JSON.stringify(token)}
const inbox = document.querySelector('gatehouse-inbox')
inbox.setAttribute('base-url', location.origin)
inbox.getToken = () => token
let sent = 0
document.querySelector('#send').onclick = async () => {
  const answer = await fetch('/v1/notify', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ' + token },
    body: JSON.stringify({ event: 'order.shipped', user_id: ${JSON.stringify(userId)}, channels: ['in-app'],
      data: { item: 'A red bicycle', order_id: 'A-' + (1000 + ++sent), tracking_url: ${JSON.stringify(baseUrl)} } }),
  })
  document.querySelector('#said').textContent = answer.ok ? 'Sent.' : (await answer.json()).detail
}
`
