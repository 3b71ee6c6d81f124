/** Work that runs beside its giver, so much at a time; what finds no slot waits its turn. */
export interface Slots {
  run(work: () => Promise<unknown>): void
  /** Resolves when nothing waits for a slot any more. */
  someFree(): Promise<void>
  /** Resolves when nothing waits and nothing runs. */
  allFree(): Promise<void>
}

export function createSlots(most: number, onError: (error: unknown) => void): Slots {
  const waiting: Array<() => Promise<unknown>> = []
  const listeners: Array<{ readonly isMet: () => boolean; readonly resolve: () => void }> = []
  let running = 0

  const next = () => {
    while (running < most) {
      const work = waiting.shift()
      if (!work) break
      running++
      work()
        .catch(onError)
        .finally(() => {
          running--
          next()
        })
    }
    if (listeners.length === 0) return
    for (const listener of listeners.filter(({ isMet }) => isMet())) {
      listeners.splice(listeners.indexOf(listener), 1)
      listener.resolve()
    }
  }
  const until = (isMet: () => boolean) =>
    isMet() ? Promise.resolve() : new Promise<void>((resolve) => listeners.push({ isMet, resolve }))

  return {
    run(work) {
      waiting.push(work)
      next()
    },
    someFree: () => until(() => waiting.length === 0),
    allFree: () => until(() => waiting.length === 0 && running === 0),
  }
}
