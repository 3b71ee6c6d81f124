import { type Http, randomToken } from '@gatehouse/kit'
import type { Branding } from '@gatehouse/kit/page'
import { brandingFrom, html, layout, serveAssets, textsFor } from '@gatehouse/kit/page'
import type { DevSite } from '../../dev-pages/site.ts'
import { scalarScript } from './scalar-script.ts'

/** How the API reference looks and what is beside it. */
export interface ReaderOptions {
  readonly branding: Partial<Branding>
  readonly site: DevSite
}

const path = '/docs'
const assets = new URL('assets/', import.meta.url)

/** `/docs`: `/openapi.json` by Scalar's API reference, from this process alone. */
export function registerReader(http: Http, { branding: chosen, site }: ReaderOptions): void {
  const branding = brandingFrom(chosen)
  const schema = { hide: true }
  serveAssets(http, { path: `${path}/assets`, folder: assets, branding })
  http.get(path, { schema }, async (request, reply) => {
    const texts = textsFor({ branding, languages: site.languages }, request)
    const nonce = randomToken()
    const page = layout({
      texts,
      branding,
      title: texts.say('docs.title'),
      assets: `${path}/assets`,
      site: site.bar(texts, path),
      styles: ['reader.css'],
      isApplication: true,
      head: html`<meta property="csp-nonce" content="${nonce}">
<script src="${path}/assets/style-nonce.js"></script>
<script src="${path}/scalar.js" defer></script>
<script src="${path}/assets/reader.js" defer></script>
`,
      body: html`<div id="reference" data-locale="${texts.locale}"></div><noscript><p>${texts.say('docs.noscript')} <a href="/openapi.json">openapi.json</a></p></noscript>`,
    })
    return reply
      .header('content-security-policy', pagePolicy(nonce, branding))
      .header('cache-control', 'no-store')
      .type('text/html; charset=utf-8')
      .send(page)
  })
  http.get(`${path}/scalar.js`, { schema }, async (request, reply) => {
    const { text, tag } = await scalarScript()
    reply.header('etag', tag).header('cache-control', 'no-cache')
    if (request.headers['if-none-match'] === tag) return reply.code(304).send()
    // Every browser takes gzip; to unpack 5 MB for others would let anybody keep the process busy.
    return reply.type('text/javascript; charset=utf-8').header('content-encoding', 'gzip').send(text)
  })
}

/** What the page may load: files of this process, and styles that its own scripts make. */
function pagePolicy(nonce: string, { logoUrl }: Branding): string {
  const logo = logoUrl === undefined ? '' : ` ${new URL(logoUrl).origin}`
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    `img-src 'self' data:${logo}`,
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
