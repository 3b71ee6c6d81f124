import { Resolver } from 'node:dns/promises'

/** Which DNS servers are asked for proofs of domains, and for how long. */
export interface DnsOptions {
  /** Addresses with an optional port. Default: those of the system. */
  readonly servers?: readonly string[]
  /** How long to wait for the answer in all, in milliseconds. Default: 5000. */
  readonly timeoutMs?: number
}

/** Reads the TXT records of a name; none for a name that does not exist. @throws Error when no server answers in time */
export type ResolveTxt = (name: string) => Promise<string[]>

const defaultTimeoutMs = 5_000
const attempts = 2

/** Creates the resolver. Each call has its own, so that one that is out of time cancels no other. */
export function createTxtResolver({ servers, timeoutMs = defaultTimeoutMs }: DnsOptions = {}): ResolveTxt {
  return async (name) => {
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / attempts), tries: attempts })
    if (servers !== undefined) resolver.setServers(servers)
    const timer = setTimeout(() => resolver.cancel(), timeoutMs)
    try {
      return (await resolver.resolveTxt(name)).map((parts) => parts.join(''))
    } catch (error) {
      if (isAbsent(error)) return []
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

function isAbsent(error: unknown): boolean {
  return ['ENOTFOUND', 'ENODATA'].includes(String((error as { code?: unknown }).code))
}
