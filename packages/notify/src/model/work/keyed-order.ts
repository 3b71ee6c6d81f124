/** Runs work, which answers whether what follows with the same key may run. Answers false for work that was left out. */
export type KeyedOrder = (key: string, work: () => Promise<boolean>) => Promise<boolean>

/** Lets work with the same key run one after the other, and leaves out what waits behind work that answers false. */
export function createKeyedOrder(): KeyedOrder {
  const last = new Map<string, Promise<boolean>>()
  return async (key, work) => {
    const before = last.get(key)
    const done = before ? before.then((isFree) => isFree && work()) : work()
    last.set(key, done)
    try {
      return await done
    } finally {
      if (last.get(key) === done) last.delete(key)
    }
  }
}
