/** Work that comes to one of two ends: it is begun, or left. */
export interface SlotWork {
  begin(): Promise<unknown>
  leave(): void
}

/** Work that runs beside its giver, so much at a time; what finds no slot waits its turn. */
export interface Concurrency {
  /** What has found no slot by `beginBy` (by `performance.now()`) is left then. */
  run(work: SlotWork, startBy: number): void
  /** Resolves when nothing waits for a slot any more. */
  waitForSlot(): Promise<void>
  /** Leaves what waits and what is still given; resolves when nothing runs. */
  close(): Promise<void>
}

export function createConcurrency(max: number, onError: (error: unknown) => void): Concurrency {
  const listeners: Array<{ readonly isMet: () => boolean; readonly resolve: () => void }> = []
  let waiting: Array<SlotWork & { readonly beginBy: number }> = []
  let running = 0
  let alarm: { readonly at: number; readonly timer: NodeJS.Timeout } | undefined

  const next = () => {
    while (running < max) {
      const work = waiting.shift()
      if (!work) break
      if (work.beginBy <= performance.now()) work.leave()
      else begin(work)
    }
    notify()
  }
  const begin = (work: SlotWork) => {
    running++
    work
      .begin()
      .catch(onError)
      .finally(() => {
        running--
        next()
      })
  }
  const skipUntil = (time: number) => {
    const late = waiting.filter(({ beginBy }) => beginBy <= time)
    waiting = waiting.filter(({ beginBy }) => beginBy > time)
    for (const work of late) work.leave()
    notify()
  }
  const schedule = () => {
    clearTimeout(alarm?.timer)
    alarm = undefined
    if (waiting.length === 0) return
    const at = Math.min(...waiting.map(({ beginBy }) => beginBy))
    const ring = () => {
      skipUntil(at)
      schedule()
    }
    alarm = { at, timer: setTimeout(ring, Math.max(0, at - performance.now())) }
  }
  const notify = () => {
    if (listeners.length === 0) return
    for (const listener of listeners.filter(({ isMet }) => isMet())) {
      listeners.splice(listeners.indexOf(listener), 1)
      listener.resolve()
    }
  }
  const until = (isMet: () => boolean) =>
    isMet() ? Promise.resolve() : new Promise<void>((resolve) => listeners.push({ isMet, resolve }))
  let isClosed = false

  return {
    run({ begin, leave }, beginBy) {
      if (isClosed) {
        leave()
        return
      }
      waiting.push({ begin, leave, beginBy })
      next()
      if (waiting.length > 0 && beginBy < (alarm?.at ?? Number.POSITIVE_INFINITY)) schedule()
    },
    waitForSlot: () => until(() => waiting.length === 0),
    close() {
      isClosed = true
      skipUntil(Number.POSITIVE_INFINITY)
      clearTimeout(alarm?.timer)
      return until(() => running === 0)
    },
  }
}
