import { argon2, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { checkLengths, decodeBase64, encodeBase64, type HashFormat } from './format.ts'

/** The cost of argon2. */
export interface Argon2Cost {
  readonly memoryKiB: number
  readonly passes: number
  readonly parallelism: number
}

const derive = promisify(argon2)
const phc = /^\$(argon2(?:id|i|d))\$v=19\$m=(\d{1,9}),t=(\d{1,9}),p=(\d{1,9})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
const maxMemoryKiB = 262_144
const maxPasses = 10
const maxParallelism = 16
const minSaltBytes = 8

/** Argon2 in a PHC string: `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<digest>` (RFC 9106). */
export const argon2Format: HashFormat = (text) => {
  if (!text.startsWith('$argon2')) return undefined
  const [, variant, memory, passes, parallelism, encodedSalt = '', encodedDigest = ''] = phc.exec(text) ?? []
  if (variant === undefined) return { fault: 'an argon2 hash must be a PHC string of version 19' }
  const cost = { memoryKiB: Number(memory), passes: Number(passes), parallelism: Number(parallelism) }
  const [salt, digest] = [decodeBase64(encodedSalt), decodeBase64(encodedDigest)]
  const fault = checkCost(cost) ?? checkLengths(salt, digest)
  if (fault !== undefined) return { fault }
  if (salt.length < minSaltBytes) return { fault: `the salt of argon2 must have at least ${minSaltBytes} bytes` }
  return {
    hash: {
      async matches(password) {
        return timingSafeEqual(await hashWithArgon2(variant, password, { salt, cost, bytes: digest.length }), digest)
      },
    },
  }
}

function checkCost({ memoryKiB, passes, parallelism }: Argon2Cost): string | undefined {
  if (memoryKiB < 8 * parallelism || memoryKiB > maxMemoryKiB)
    return `argon2 must use 8 KiB for each lane to ${maxMemoryKiB} KiB of memory, the hash names ${memoryKiB}`
  if (passes < 1 || passes > maxPasses) return `argon2 must make 1 to ${maxPasses} passes, the hash names ${passes}`
  if (parallelism < 1 || parallelism > maxParallelism)
    return `argon2 must have 1 to ${maxParallelism} lanes, the hash names ${parallelism}`
  return undefined
}

/** What argon2 derives from a password, off the main thread. */
export async function hashWithArgon2(
  variant: string,
  message: Buffer,
  { salt, cost, bytes }: { readonly salt: Buffer; readonly cost: Argon2Cost; readonly bytes: number },
): Promise<Buffer> {
  const { memoryKiB: memory, passes, parallelism } = cost
  const name = variant as Parameters<typeof argon2>[0]
  return Buffer.from(await derive(name, { message, nonce: salt, memory, passes, parallelism, tagLength: bytes }))
}

/** How the PHC strings of argon2id begin at a cost. */
export function argon2idPrefix({ memoryKiB, passes, parallelism }: Argon2Cost): string {
  return `$argon2id$v=19$m=${memoryKiB},t=${passes},p=${parallelism}$`
}

/** An argon2id hash as a PHC string. */
export function formatArgon2id(cost: Argon2Cost, salt: Buffer, digest: Buffer): string {
  return `${argon2idPrefix(cost)}${encodeBase64(salt)}$${encodeBase64(digest)}`
}
