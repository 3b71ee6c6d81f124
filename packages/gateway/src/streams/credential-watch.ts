import type { IncomingMessage } from 'node:http'
import { type Clock, type Log, Problem } from '@gatehouse/kit'
import type { Authenticate } from '../model/caller.ts'
import type { RequestIdentity } from '../model/request-identity.ts'

/** Looks after connections that last longer than a request, lest they outlive the credential that opened them. */
export interface CredentialWatch {
  /** Calls `end` once, when the credential of that request has expired or been revoked. Answers how to stop watching. */
  watch(raw: IncomingMessage, expiresAt: number | undefined, end: () => void): () => void
  /** Looks at every credential again. */
  checkNow(): Promise<void>
  stop(): void
}

interface Watched {
  readonly raw: IncomingMessage
  readonly expiresAt: number
  readonly end: () => void
  /** How many looks in a row were left without an answer. */
  failures: number
}

/** Revocations are heard of every two seconds; this is added to it. */
const checkIntervalMs = 5_000

/** A connection ends at this many looks in a row without an answer: what can't be asked about may be revoked. */
const maxFailures = 2
/** Credentials that are looked at at once. */
const batchSize = 100

/** The watch of a service that stands alone, without a gateway before it. */
export function createStandaloneWatch(authenticate: Authenticate, clock: Clock, log: Log): CredentialWatch {
  const recheck = async (raw: IncomingMessage): Promise<CredentialCheck> => {
    try {
      return { caller: await authenticate({ raw }) }
    } catch (refusal) {
      return { refusal }
    }
  }
  return createCredentialWatch({ recheck }, clock, log)
}

type CredentialCheck = Pick<RequestIdentity, 'caller' | 'refusal'>

interface Rechecker {
  /** Looks at a request's credential again, whatever its address has been up to since. */
  recheck(raw: IncomingMessage): Promise<CredentialCheck>
}

/** A watch that looks every five seconds while there is something to watch. */
export function createCredentialWatch(identify: Rechecker, clock: Clock, log: Log): CredentialWatch {
  const open = new Set<Watched>()
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined

  const stop = () => {
    clearInterval(timer)
    timer = undefined
  }

  async function lookAtAll(): Promise<void> {
    const all = [...open]
    for (let i = 0; i < all.length; i += batchSize) await Promise.all(all.slice(i, i + batchSize).map(lookAt))
    if (open.size === 0) stop()
  }

  async function lookAt(watched: Watched): Promise<void> {
    if (!open.has(watched)) return
    const found = clock.now() < watched.expiresAt ? await check(identify, watched.raw) : 'ended'
    watched.failures = found === 'unanswered' ? watched.failures + 1 : 0
    if (found === 'good' || (found === 'unanswered' && watched.failures < maxFailures)) return
    if (open.delete(watched)) watched.end()
  }

  let next: Promise<void> | undefined
  /** One look at a time, and one more for those who asked meanwhile. */
  const look = (): Promise<void> => {
    if (looking) {
      next ??= looking.then(look, look)
      return next
    }
    next = undefined
    looking = lookAtAll().finally(() => {
      looking = undefined
    })
    return looking
  }

  return {
    checkNow: look,
    stop,
    watch(raw, expiresAt = Number.POSITIVE_INFINITY, end) {
      const watched: Watched = { raw, expiresAt, end, failures: 0 }
      open.add(watched)
      timer ??= setInterval(() => {
        look().catch((error: unknown) => log.error({ err: error }, 'open connections could not be looked at'))
      }, checkIntervalMs).unref()
      return () => open.delete(watched)
    },
  }
}

/** What a look at a credential finds; no answer when nobody can be asked, or says to wait. */
async function check(identify: Rechecker, raw: IncomingMessage): Promise<'good' | 'ended' | 'unanswered'> {
  try {
    const { caller, refusal } = await identify.recheck(raw)
    if (caller !== undefined) return 'good'
    return refusal instanceof Problem && refusal.status < 500 && refusal.status !== 429 ? 'ended' : 'unanswered'
  } catch {
    return 'unanswered'
  }
}
