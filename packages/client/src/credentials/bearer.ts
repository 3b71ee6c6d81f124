import type { Credentials } from '../call/credentials.ts'
import { bearerHeaders, bearerToken } from './bearer-header.ts'

/**
 * Access tokens that something else keeps. `get` is called for each request; after a token was refused as invalid it is
 * called with `true`, once however many calls it was refused in, and should answer a new one.
 *
 * @example
 * ```ts
 * const credentials = bearer(async (renew) => (await fetch(renew ? '/token?renew' : '/token')).text())
 * ```
 */
export function bearer(get: (renew: boolean) => string | Promise<string>): Credentials {
  /** The refused token that the last renewal replaces. */
  let replaced: string | undefined
  let renewal: Promise<string> | undefined

  const renew = async (refused: string): Promise<string> => {
    let renewed: string | undefined
    try {
      renewed = await get(true)
      return renewed
    } finally {
      renewal = undefined
      // Nothing new came of it, so the next refusal may ask again.
      if (renewed === undefined || renewed === refused) replaced = undefined
    }
  }

  return {
    headers: async () => bearerHeaders(await (renewal ?? get(false))),
    discard(fields) {
      const refused = bearerToken(fields)
      if (refused === replaced) return true
      replaced = refused
      renewal = renew(refused)
      renewal.catch(() => {})
      return true
    },
  }
}
