/** Work under way beside its callers, who wait when there is too much of it. */
export interface Backlog {
  /** Adds work that has begun; it must not reject. */
  add(work: Promise<unknown>): void
  /** Resolves when less than the maximum is under way. */
  waitForRoom(): Promise<void>
  /** Resolves when nothing is under way. */
  drain(): Promise<void>
}

/** Creates a backlog of at most `max` pieces of work; adding more is not prevented. */
export function createBacklog(max: number): Backlog {
  let size = 0
  let waiting: Array<{ readonly below: number; readonly resolve: () => void }> = []
  const done = () => {
    size--
    if (waiting.length === 0) return
    const met = waiting.filter(({ below }) => size < below)
    waiting = waiting.filter(({ below }) => size >= below)
    for (const { resolve } of met) resolve()
  }
  const until = (below: number) =>
    size < below ? Promise.resolve() : new Promise<void>((resolve) => waiting.push({ below, resolve }))
  return {
    add(work) {
      size++
      work.then(done)
    },
    waitForRoom: () => until(max),
    drain: () => until(1),
  }
}
