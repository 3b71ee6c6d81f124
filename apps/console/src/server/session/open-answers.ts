import type { Clock } from '@gatehouse/kit'
import type { Sessions } from './store.ts'

/** How often an open answer checks that its session is alive, in milliseconds: other processes may end it. */
const checkEveryMs = 5_000

/** The answers that are being streamed, which end with their session. */
export interface OpenAnswers {
  /** Calls `end` once when the session ends, here or in another process. Returns what to call when the answer is over. */
  add(idHash: string, end: () => void): () => void
  /** Ends the answers of a session. */
  end(idHash: string): void
  /** Ends all of them. */
  stop(): void
}

/** Tracks open answers. The check of other processes' work runs only while an answer is open. */
export function createOpenAnswers(sessions: Sessions, clock: Clock): OpenAnswers {
  const open = new Map<string, Set<() => void>>()
  let timer: NodeJS.Timeout | undefined

  const endSession = (idHash: string) => {
    const ends = open.get(idHash) ?? []
    open.delete(idHash)
    for (const end of ends) end()
  }
  const check = async () => {
    for (const idHash of open.keys()) if ((await sessions.find(idHash, clock.now())) === undefined) endSession(idHash)
  }
  const settle = () => {
    if (open.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  return {
    add(idHash, end) {
      const ends = open.get(idHash) ?? new Set()
      open.set(idHash, ends.add(end))
      timer ??= setInterval(
        () =>
          void check()
            .catch(() => {})
            .finally(settle),
        checkEveryMs,
      ).unref()
      return () => {
        ends.delete(end)
        if (ends.size === 0 && open.get(idHash) === ends) open.delete(idHash)
        settle()
      }
    },
    end: endSession,
    stop() {
      for (const idHash of [...open.keys()]) endSession(idHash)
      settle()
    },
  }
}
