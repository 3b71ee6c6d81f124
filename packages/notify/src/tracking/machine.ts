import type { FastifyRequest } from 'fastify'

const proxies = 'GoogleImageProxy|YahooMailProxy'
const previews = 'BingPreview|SkypeUriPreview|facebookexternalhit|WhatsApp\\/'
const scanners = 'Barracuda|Cloudmark|Mimecast|Proofpoint|SafeLinks|Sophos|Symantec|TrendMicro|urlscan'
const machines = new RegExp(`${proxies}|${previews}|${scanners}|[\\w-]*bot\\b|crawler|spider`, 'i')

/** What names itself does so at the beginning; to look for the names takes time that grows with the square of the text. */
const maxAgentLength = 512

/**
 * What a request says of itself when no person makes it: a prefetch, an image proxy, a scanner of links; undefined where
 * it says nothing of the kind.
 */
export function machineOf({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>): string | undefined {
  const purposes = [headers.purpose, headers['sec-purpose'], headers['x-purpose'], headers['x-moz']].join(' ')
  const agent = headers['user-agent']?.slice(0, maxAgentLength) ?? ''
  if (method === 'HEAD') return 'HEAD'
  if (/prefetch|preview|prerender/i.test(purposes)) return 'a prefetch'
  // It calls itself nothing more than this.
  if (agent === 'Mozilla/5.0') return 'Apple Mail Privacy Protection'
  return machines.exec(agent)?.[0]
}
