import { isIP } from 'node:net'
import { type Http, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { isLoopback } from '../config/loopback.ts'

const reading = new Set(['GET', 'HEAD'])
/** What a browser says of a request of the page itself, or of one that was typed in. */
const ownSites = new Set(['same-origin', 'none'])
/** What a proxy adds to the requests that it passes on. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'via']

/**
 * Lets nobody use the pages under /dev/ through another name than this machine's: a name of somebody else's that is made
 * to lead here (DNS rebinding) would let their page read what ours shows. Changes come from the pages themselves, or from
 * no page. `urls` are further addresses that the pages are served at on purpose; so are IP addresses then, which no name
 * leads to. Without them a proxy or a tunnel reaches nothing, which may name this machine as the host for anybody.
 */
export function restrictDevPages(http: Http, urls: readonly string[]): void {
  const names = new Set(urls.map((url) => new URL(url).hostname))
  const isOurs = (name: string) =>
    isLoopback(name) || names.has(name) || (urls.length > 0 && isIP(name.replace(/^\[|\]$/g, '')) !== 0)
  http.addHook('onRequest', async (request) => {
    if (!isDevPage(request.routeOptions.url)) return
    if (urls.length === 0) refuseProxied(request)
    const { hostname = '' } = URL.parse(`http://${request.headers.host ?? ''}`) ?? {}
    if (!isOurs(hostname))
      throw new Problem(403, `The pages under /dev/ are for this machine; ${hostname || 'the Host header'} is not it.`)
    if (!reading.has(request.method)) refuseForeign(request)
  })
}

/** The start page, which is registered where these pages are, and all below /dev/. */
const isDevPage = (route = '') => route === '/' || route.startsWith('/dev/')

/** 403 for what a proxy passes on: it comes from this machine, and says nothing true of who asks. */
function refuseProxied({ headers }: FastifyRequest): void {
  const found = proxyHeaders.find((name) => headers[name] !== undefined)
  if (found !== undefined)
    throw new Problem(403, `The pages under /dev/ are for this machine, not for a proxy, which sent ${found}.`)
}

/** 403 for a form of another site: the pages ask nobody who they are, and a browser would send it along. */
function refuseForeign({ headers: { origin, host, 'sec-fetch-site': site } }: FastifyRequest): void {
  const sameOrigin = origin === undefined || URL.parse(origin)?.host === URL.parse(`http://${host}`)?.host
  if (!sameOrigin || !(site === undefined || ownSites.has(String(site))))
    throw new Problem(403, `The pages under /dev/ take nothing from other sites, and ${origin ?? 'this'} is one.`)
}
