import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'

/** What the pages send with every call. A page of another origin needs a preflight for it, which is never granted. */
const consoleHeader = 'x-console'

/**
 * Refuses calls that do not come from the console's own pages, also reading ones.
 * @throws Problem 403
 */
export function refuseCrossSite({ headers }: Pick<FastifyRequest, 'headers'>, publicUrl: string): void {
  const { origin, 'sec-fetch-site': site } = headers
  if (headers[consoleHeader] !== '1') throw new Problem(403, `The header ${consoleHeader}: 1 is required.`)
  if (site !== 'same-origin') throw new Problem(403, 'Only pages of the console may call this: Sec-Fetch-Site.')
  if (origin !== undefined && origin !== publicUrl)
    throw new Problem(403, 'Only pages of the console may call this: Origin.')
}
