import type { Http, Secret } from '@gatehouse/kit'
import { type Branding, brandingFrom, sendPage, serveAssets, textsFor } from '@gatehouse/kit/page'
import { tourist } from '../../config/tour.ts'
import { restrictDevPages } from '../access.ts'
import { type DevSite, linkedPlaces } from '../site.ts'
import type { CallCredential } from './calls.ts'
import type { Running } from './page.ts'

/** What the start page is made from. */
export interface StartPageOptions {
  readonly site: DevSite
  readonly branding: Partial<Branding>
  /** Further addresses at which the pages are served on purpose. */
  readonly urls: readonly string[]
  readonly running: () => Promise<Running>
  /** What the calls to paste are made with; undefined where the file no longer declares what they use. */
  readonly credential: CallCredential | undefined
  /** Makes a new secret of the tour's client; undefined where its identity is not here. */
  readonly renewSecret?: (() => Promise<Secret>) | undefined
}

const assets = new URL('../assets/', import.meta.url)

/** GET /: what runs here, what to paste first, and where to go on; JSON for callers that do not accept HTML. */
export function startPagePlugin(options: StartPageOptions): (http: Http) => Promise<void> {
  const { site, urls, running } = options
  const branding = brandingFrom(options.branding)
  let { credential } = options
  let renewing: Promise<Secret> | undefined
  // Requests at once get one secret: each new one would make those before it useless.
  const renew = (renewSecret: () => Promise<Secret>) => {
    renewing ??= renewSecret().finally(() => {
      renewing = undefined
    })
    return renewing
  }
  return async (http) => {
    restrictDevPages(http, urls)
    serveAssets(http, { path: site.assets, folder: assets, branding })
    http.get('/', { schema: { hide: true } }, async (request, reply) => {
      if (!request.headers.accept?.includes('text/html')) return reply.send(describe(await running(), site))
      const [{ startPage }, { firstCalls }] = await Promise.all([import('./page.ts'), import('./calls.ts')])
      const facts = await running()
      const texts = textsFor({ branding, languages: site.languages }, request)
      const calls = credential ? firstCalls({ ...facts, services: new Set(facts.services), credential }) : []
      const renewable =
        credential?.kind === 'client' && credential.secret === undefined && options.renewSecret !== undefined
      const page = startPage(texts, site, facts, { calls, renewable })
      return sendPage({ branding, languages: site.languages, assets: site.assets }, reply, texts, page)
    })
    http.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, _body, done) =>
      done(null, undefined),
    )
    http.post('/dev/start/secret', { schema: { hide: true } }, async (_request, reply) => {
      if (!options.renewSecret || credential?.kind !== 'client') return reply.callNotFound()
      if (credential.secret === undefined) credential = { kind: 'client', secret: await renew(options.renewSecret) }
      return reply.code(303).header('location', '/').send(null)
    })
  }
}

/** The start page as data: no secret, and nothing that the page's links do not lead to. */
function describe({ version, services, baseUrl, authUrl, engines }: Running, site: DevSite) {
  const places = linkedPlaces(site.places).filter(([name]) => name !== 'start')
  return {
    name: 'gatehouse',
    version,
    services,
    engines,
    base_url: baseUrl,
    ...(services.includes('identity') ? { issuer: authUrl } : {}),
    links: Object.fromEntries([
      ...places.map(([name, href]) => [name, new URL(href, baseUrl).href]),
      ['openapi', `${baseUrl}/openapi.json`],
      ['ready', `${baseUrl}/readyz`],
    ]),
    ...(services.includes('identity') ? { client_id: tourist.client } : {}),
  }
}
