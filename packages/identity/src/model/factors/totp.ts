import { createHmac } from 'node:crypto'
import { constantTimeEqual } from '@gatehouse/kit'

/*
 * One-time codes of authenticator apps (RFC 6238) with the only parameters that every app supports: SHA-1, six digits,
 * 30 seconds and a secret of 160 bits.
 */

/** The length of a secret, in bytes (RFC 4226 §4 R6). */
export const totpSecretBytes = 20

const digits = 6
const stepMs = 30_000
/** Codes of the previous and the next step are accepted as well, for clocks that differ (RFC 6238 §5.2). */
const drift = [-1, 0, 1]

/** The code of a counter (RFC 4226 §5.3). */
export function hotp(secret: Uint8Array, counter: number): string {
  const message = Buffer.alloc(8)
  message.writeBigUInt64BE(BigInt(counter))
  const mac = createHmac('sha1', secret).update(message).digest()
  const offset = (mac.at(-1) ?? 0) & 0xf
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/** The time step of a point in time, in Unix milliseconds (RFC 6238 §4.2). */
export function stepAt(now: number): number {
  return Math.floor(now / stepMs)
}

/** The step whose code this is, of those around now and after `lastStep`; every one is compared in constant time. */
export function findStep(
  secret: Uint8Array,
  code: string,
  { now, lastStep }: { readonly now: number; readonly lastStep: number },
): number | undefined {
  const current = stepAt(now)
  const matching = drift.map((by) => current + by).filter((step) => constantTimeEqual(hotp(secret, step), code))
  return matching.find((step) => step > lastStep)
}

/** The code in what a person typed: spaces are removed, once and before anything is counted or compared. */
export function readCode(typed: string | undefined): string | undefined {
  const code = (typed ?? '').replaceAll(' ', '')
  return /^[0-9]{6}$/.test(code) ? code : undefined
}

/** The address that a QR code carries to the app. Neither name may contain a colon, which separates them. */
export function totpUri(secret: Uint8Array, issuer: string, account: string): string {
  const encode = (name: string) => encodeURIComponent(name.replaceAll(':', ' '))
  const parameters = `secret=${encodeBase32(secret)}&issuer=${encode(issuer)}&algorithm=SHA1&digits=${digits}&period=30`
  return `otpauth://totp/${encode(issuer)}:${encode(account)}?${parameters}`
}

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Base32 without padding (RFC 4648 §6). */
export function encodeBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => base32[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}
