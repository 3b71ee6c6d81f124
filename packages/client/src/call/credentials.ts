import type { Platform } from '../platform/platform.ts'

/** Who a client is to the APIs. Made by `clientCredentials`, `refreshing`, `bearer` and `apiKey`. */
export interface Credentials {
  /** The header fields of the next request. What it waits for ends within its own bounds. */
  headers(platform: Platform): Promise<Readonly<Record<string, string>>>
  /** Drops what was refused with `invalid_token`, and answers whether other header fields can be had. */
  discard?(refused: Readonly<Record<string, string>>): boolean
}
