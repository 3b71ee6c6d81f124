import { Problem } from '@gatehouse/kit'
import type { LiveRules } from './rules.ts'

/** The places for live connections in this process. */
export interface Places {
  /** Takes a place and those of the streams behind it. Returns how to give them back. @throws Problem 429 or 503 */
  acquire(session: string, followed: number): () => void
}

/** Counts the live connections of each session and of all, and the streams from services. */
export function createPlaces({ maxPerSession, max, maxFollowed }: LiveRules): Places {
  const bySession = new Map<string, number>()
  let [open, streams] = [0, 0]
  return {
    acquire(session, followed) {
      const retry = { headers: { 'retry-after': '5' } }
      const own = bySession.get(session) ?? 0
      if (own >= maxPerSession)
        throw new Problem(429, `A session has ${maxPerSession} live connections at most.`, retry)
      if (open >= max || streams + followed > maxFollowed)
        throw new Problem(503, 'There are too many live connections here; the pages poll.', retry)
      bySession.set(session, own + 1)
      open++
      streams += followed
      let isActive = true
      return () => {
        if (!isActive) return
        isActive = false
        open--
        streams -= followed
        const left = (bySession.get(session) ?? 1) - 1
        if (left > 0) bySession.set(session, left)
        else bySession.delete(session)
      }
    },
  }
}
