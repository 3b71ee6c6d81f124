import { useMemo, useState } from 'react'

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
  // The same functions each time: rows that did not change are not drawn again.
  const actions = useMemo(
    () => ({
      toggle: (key: string) => setKeys((before) => before.symmetricDifference(new Set([key]))),
      toggleAll: (all: readonly string[]) =>
        setKeys((before) => (all.every((key) => before.has(key)) ? new Set() : before.union(new Set(all)))),
      clear: () => setKeys(new Set()),
    }),
    [],
  )
  return { keys, ...actions }
}
