import type { ComponentType } from 'react'

/** The code of a screen could not be fetched: the server is away, or has another version. */
export class ScreenNotLoadedError extends Error {
  override readonly name = 'ScreenNotLoadedError'
}

/**
 * Loads the code of a screen. The router would reload the document when that fails, which ends in an error page of the
 * browser while the server is away.
 *
 * @throws ScreenNotLoadedError when it could not be fetched
 */
export async function loadScreen(load: () => Promise<ComponentType>): Promise<ComponentType> {
  try {
    return await load()
  } catch (error) {
    if (isNotFetched(error))
      throw new ScreenNotLoadedError('the code of the page could not be loaded', { cause: error })
    throw error
  }
}

/** What Chromium, Firefox and Safari say of a module that they could not fetch. */
const notFetched = /dynamically imported module|importing a module script failed/i

function isNotFetched(error: unknown): boolean {
  return error instanceof Error && notFetched.test(error.message)
}

/** Where a tab remembers for which addresses it was reloaded by itself. */
type Reloads = Pick<Storage, 'getItem' | 'setItem'>

const reloadedKey = 'gatehouse-reloaded'
/** A page that fails again so soon after a reload is not reloaded by itself once more, in milliseconds. */
const againMs = 60_000

/** Whether a page is to be reloaded by itself, which it is once a minute; remembers that it was. */
export function claimReload(storage: Reloads, path: string, now: number): boolean {
  const [last, at] = storage.getItem(reloadedKey)?.split(' ') ?? []
  if (last === path && now - Number(at) < againMs) return false
  storage.setItem(reloadedKey, `${path} ${now}`)
  return true
}
