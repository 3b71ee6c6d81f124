import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from '@gatehouse/kit'
import { type LinkSecrets, linkSecretsOf } from '../model/link-secrets.ts'
import { createKeyDerivation } from './derived-keys.ts'

/** What a receipt token says: the delivery it is for, or why it is refused. */
export type ReceiptToken =
  | { readonly kind: 'valid'; readonly deliveryId: string }
  | { readonly kind: 'invalid' }
  | { readonly kind: 'expired' }

/**
 * Tokens that let whoever received a message report what became of it, and nothing else. A token names its delivery and
 * the time it expires, and is signed: no row is stored for it.
 */
export interface ReceiptTokens {
  /** The token of a delivery, issued at `now` (Unix milliseconds): the same all day. */
  issue(deliveryId: string, now: number): string
  read(token: string, now: number): ReceiptToken
}

/** What signing receipt tokens needs. */
export interface ReceiptTokensOptions {
  readonly secret: Secret | LinkSecrets
  /** How long a token is valid, in milliseconds; the day it ends on counts whole. */
  readonly lifetimeMs: number
}

const idBytes = 16
const expiryBytes = 4
/** A truncated HMAC-SHA-256 (RFC 2104 §5): 128 bits. */
const macBytes = 16
const dayMs = 86_400_000
/** 36 bytes: their base64url has no spare bits, so that a token is written in one way only. */
const tokenPattern = /^[\w-]{48}$/

/** Signs with HMAC-SHA-256 under a key of its own, derived from the secret of links of now; other valid ones hold too. */
export function createReceiptTokens({ secret, lifetimeMs }: ReceiptTokensOptions): ReceiptTokens {
  const secrets = linkSecretsOf(secret)
  const keyOf = createKeyDerivation()
  const mac = (by: Secret, signed: Buffer) =>
    createHmac('sha256', keyOf(by, 'receipt v1')).update(signed).digest().subarray(0, macBytes)
  return {
    issue(deliveryId, now) {
      const signed = Buffer.alloc(idBytes + expiryBytes)
      signed.write(deliveryId.replaceAll('-', ''), 'hex')
      signed.writeUInt32BE((Math.ceil((now + lifetimeMs) / dayMs) * dayMs) / 1_000, idBytes)
      return Buffer.concat([signed, mac(secrets.signing(), signed)]).toString('base64url')
    },
    read(token, now) {
      if (!tokenPattern.test(token)) return { kind: 'invalid' }
      const bytes = Buffer.from(token, 'base64url')
      const signed = bytes.subarray(0, idBytes + expiryBytes)
      const signature = bytes.subarray(idBytes + expiryBytes)
      if (!secrets.valid().some((each) => timingSafeEqual(signature, mac(each, signed)))) return { kind: 'invalid' }
      if (now >= signed.readUInt32BE(idBytes) * 1_000) return { kind: 'expired' }
      return { kind: 'valid', deliveryId: uuidOf(signed.toString('hex', 0, idBytes)) }
    },
  }
}

function uuidOf(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
