import { useState } from 'react'

/** The rows of a table that are selected, by key. */
export interface Selection {
  readonly keys: ReadonlySet<string>
  toggle(key: string): void
  /** Selects these, or none where all of them are. */
  toggleAll(keys: readonly string[]): void
  clear(): void
}

/** The selection of a table. */
export function useSelection(): Selection {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  return {
    keys,
    toggle: (key) => setKeys((before) => before.symmetricDifference(new Set([key]))),
    toggleAll: (all) =>
      setKeys((before) => (all.every((key) => before.has(key)) ? new Set() : before.union(new Set(all)))),
    clear: () => setKeys(new Set()),
  }
}
