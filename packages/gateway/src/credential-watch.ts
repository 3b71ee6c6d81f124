import type { IncomingMessage } from 'node:http'
import { type Clock, type Log, Problem } from '@gatehouse/kit'
import type { Authenticate } from './authenticate.ts'
import type { Visit } from './identify.ts'

/** Looks after connections that last longer than a request, lest they outlive the credential that opened them. */
export interface CredentialWatch {
  /** Calls `end` once, when the credential of that request has expired or been revoked. Answers how to stop watching. */
  watch(raw: IncomingMessage, expiresAt: number | undefined, end: () => void): () => void
  /** Looks at every credential again. */
  look(): Promise<void>
  stop(): void
}

interface Watched {
  readonly raw: IncomingMessage
  readonly expiresAt: number
  readonly end: () => void
}

/** Revocations are heard of every two seconds; this is added to it. */
const lookEveryMs = 5_000

/** The watch of a service that stands alone, without a gateway before it. */
export function watchWith(authenticate: Authenticate, clock: Clock, log: Log): CredentialWatch {
  const visit = async (raw: IncomingMessage): Promise<Pick<Visit, 'caller' | 'refusal'>> => {
    try {
      return { caller: await authenticate({ raw }) }
    } catch (refusal) {
      return { refusal }
    }
  }
  return createCredentialWatch({ visit }, clock, log)
}

interface Visitor {
  visit(raw: IncomingMessage): Promise<Pick<Visit, 'caller' | 'refusal'>>
}

/** A watch that looks every five seconds while there is something to watch. */
export function createCredentialWatch(identify: Visitor, clock: Clock, log: Log): CredentialWatch {
  const open = new Set<Watched>()
  let timer: NodeJS.Timeout | undefined

  const stop = () => {
    clearInterval(timer)
    timer = undefined
  }

  async function look(): Promise<void> {
    for (const watched of [...open]) {
      if (clock.now() < watched.expiresAt && (await isGood(watched.raw))) continue
      if (open.delete(watched)) watched.end()
    }
    if (open.size === 0) stop()
  }

  /** Only a refusal ends a connection: an issuer that can't be asked at the moment refuses nothing. */
  async function isGood(raw: IncomingMessage): Promise<boolean> {
    const { caller, refusal } = await identify.visit(raw)
    return caller !== undefined || !(refusal instanceof Problem && refusal.status === 401)
  }

  return {
    look,
    stop,
    watch(raw, expiresAt = Number.POSITIVE_INFINITY, end) {
      const watched = { raw, expiresAt, end }
      open.add(watched)
      timer ??= setInterval(() => {
        look().catch((error: unknown) => log.error({ err: error }, 'open connections could not be looked at'))
      }, lookEveryMs).unref()
      return () => open.delete(watched)
    },
  }
}
