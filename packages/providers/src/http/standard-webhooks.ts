import { timingSafeEqual } from 'node:crypto'
import type { ReportHeaders } from '../model/report.ts'
import { HmacKey } from '../signature/hmac-key.ts'

/** The maximum difference between a webhook's timestamp and the clock. */
const toleranceSeconds = 300

const prefix = 'whsec_'
const minKeyBytes = 24
const maxKeyBytes = 64

/**
 * Parses a secret of Standard Webhooks 1.0: base64 of 24 to 64 bytes, with or without `whsec_` before it.
 * @throws RangeError if it is anything else
 */
export function parseWebhookKey(secret: string): HmacKey {
  const text = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret
  const key = Buffer.from(text, 'base64')
  const isBase64 = key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '')
  if (!isBase64 || key.length < minKeyBytes || key.length > maxKeyBytes)
    throw new RangeError(`must be ${prefix} and base64 of ${minKeyBytes} to ${maxKeyBytes} bytes`)
  return new HmacKey(key)
}

/**
 * Signs a webhook (Standard Webhooks 1.0): the header fields `webhook-id`, `webhook-timestamp` and `webhook-signature`,
 * with one signature per key. `atMs` is in Unix milliseconds.
 *
 * @example
 * const headers = signWebhook([parseWebhookKey(secret)], 'msg_1', Date.now(), body)
 */
export function signWebhook(
  keys: readonly HmacKey[],
  id: string,
  atMs: number,
  body: string | Buffer,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const timestamp = String(Math.floor(atMs / 1_000))
  const head = `${id}.${timestamp}.`
  const sign = (key: HmacKey) =>
    typeof body === 'string' ? key.sign(head + body) : key.digest(head, body).toString('base64')
  const signatures = keys.map((key) => `v1,${sign(key)}`)
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

/** A verified webhook with its id and time (Unix milliseconds), or why it was rejected. */
export type VerifiedWebhook =
  | { readonly kind: 'genuine'; readonly id: string; readonly at: number }
  | { readonly kind: 'rejected'; readonly reason: string }

/**
 * Verifies a webhook on its raw bytes (Standard Webhooks 1.0, "Verifying signatures"): one of the signatures must be by
 * one of the keys, so that keys can be rotated, and the timestamp within five minutes of `now` (Unix milliseconds).
 *
 * @example
 * const webhook = verifyWebhook([parseWebhookKey(secret)], request.headers, body, Date.now())
 * if (webhook.kind === 'rejected') return respond(403, webhook.reason)
 */
export function verifyWebhook(
  keys: readonly HmacKey[],
  headers: ReportHeaders,
  body: Buffer,
  now: number,
): VerifiedWebhook {
  const reason = checkWebhookHeaders(headers, now)
  if (reason !== undefined) return { kind: 'rejected', reason }
  const [id, timestamp, signature] = headerNames.map((name) => String(headers[name])) as [string, string, string]
  const signatures = signature
    .split(' ')
    .flatMap((part) => (part.startsWith('v1,') ? [Buffer.from(part.slice('v1,'.length), 'base64')] : []))
  const isGenuine = keys.some((key) => {
    const expected = key.digest(`${id}.${timestamp}.`, body)
    return signatures.some((each) => each.length === expected.length && timingSafeEqual(each, expected))
  })
  if (!isGenuine) return { kind: 'rejected', reason: 'webhook-signature is invalid' }
  return { kind: 'genuine', id, at: Number(timestamp) * 1_000 }
}

const headerNames = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

/** Why the header fields alone make a webhook invalid, or undefined. */
export function checkWebhookHeaders(headers: ReportHeaders, now: number): string | undefined {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string')
    return 'webhook-id, webhook-timestamp and webhook-signature are needed'
  if (id.length === 0 || id.length > 256 || !/^\d{1,12}$/.test(timestamp) || signature.length > 2_048)
    return 'webhook-id, webhook-timestamp or webhook-signature is malformed'
  const isOfNow = Math.abs(now - Number(timestamp) * 1_000) <= toleranceSeconds * 1_000
  return isOfNow ? undefined : 'webhook-timestamp is not of the last five minutes'
}
