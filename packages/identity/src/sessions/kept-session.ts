import { randomToken, tokenHash } from '@gatehouse/kit'
import type { Session } from '../model/grants/session.ts'
import type { KeptSession } from '../store/index.ts'

/** A session that goes on, and the value of its new cookie, to be sent once the change is stored. */
export interface KeptWithCookie {
  readonly keepSession: KeptSession
  readonly secret: string
}

/**
 * Has a session go on where all else of its user ends, with another cookie: whoever copied the one before does not have
 * this one.
 */
export function keepWithNewCookie({ id }: Pick<Session, 'id'>): KeptWithCookie {
  const secret = randomToken()
  return { keepSession: { id, secretHash: tokenHash(secret) }, secret }
}
