/** What we use of http_ece, which brings no types of its own. */
declare module 'http_ece' {
  import type { ECDH } from 'node:crypto'

  export interface Parameters {
    readonly version: 'aes128gcm'
    readonly privateKey: ECDH
    /** In base64url. */
    readonly authSecret: string
  }

  export function decrypt(buffer: Buffer, parameters: Parameters): Buffer
}
