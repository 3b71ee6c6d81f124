import { Problem } from '@gatehouse/kit'
import type { Session } from '../session/session.ts'
import type { LiveRules } from './rules.ts'

/** The places for live connections in this process. */
export interface Places {
  /** Takes a place and those of the streams behind it. Returns how to give them back. @throws Problem 429 or 503 */
  acquire(session: Pick<Session, 'idHash' | 'userId'>, followed: number): () => void
}

/** Counts the live connections of each session, of each user and of all, and the streams from services. */
export function createPlaces({ maxPerSession, maxPerUser, max, maxFollowed }: LiveRules): Places {
  const [bySession, byUser] = [new Map<string, number>(), new Map<string, number>()]
  let [open, streams] = [0, 0]
  return {
    acquire({ idHash, userId }, followed) {
      const retry = { headers: { 'retry-after': '5' } }
      if ((bySession.get(idHash) ?? 0) >= maxPerSession)
        throw new Problem(429, `A session has ${maxPerSession} live connections at most.`, retry)
      if ((byUser.get(userId) ?? 0) >= maxPerUser)
        throw new Problem(429, `A user has ${maxPerUser} live connections at most.`, retry)
      if (open >= max || streams + followed > maxFollowed)
        throw new Problem(503, 'There are too many live connections here; the pages poll.', retry)
      change(bySession, idHash, 1)
      change(byUser, userId, 1)
      open++
      streams += followed
      let isActive = true
      return () => {
        if (!isActive) return
        isActive = false
        open--
        streams -= followed
        change(bySession, idHash, -1)
        change(byUser, userId, -1)
      }
    },
  }
}

function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}
