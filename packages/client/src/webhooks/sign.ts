import { encodeBase64 } from '../http/base64.ts'
import { randomId } from '../http/random-id.ts'
import { bytesOf, importSecret, signedContent } from './secret.ts'

/** Options of {@link signWebhook}. */
export interface SignWebhookOptions {
  /** Several during a rotation: there is a signature by each. */
  readonly secrets: readonly string[]
  /** The same for every attempt to send it. Default: a random one. */
  readonly id?: string
  /** Unix milliseconds. Default: the system clock. */
  readonly nowMs?: number
}

/** The header fields of a signed webhook. */
export type SignedHeaders = Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>>

/**
 * Signs a webhook (Standard Webhooks 1.0), such as a report of your own provider about a message.
 *
 * @throws TypeError for a malformed secret, and for an id with a full stop, which would make the signature ambiguous
 * @example
 * ```ts
 * const body = JSON.stringify({ type: 'message.delivered', data: { delivery_id } } satisfies WebhookReport)
 * await fetch(url, { method: 'POST', body, headers: await signWebhook(body, { secrets: [secret] }) })
 * ```
 */
export async function signWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  { secrets, id = `msg_${randomId()}`, nowMs = Date.now() }: SignWebhookOptions,
): Promise<SignedHeaders> {
  if (id === '' || id.includes('.')) throw new TypeError('id must be a text without a full stop')
  const timestamp = String(Math.floor(nowMs / 1_000))
  const content = signedContent(id, timestamp, bytesOf(rawBody))
  const keys = await Promise.all(secrets.map(importSecret))
  const signatures = await Promise.all(keys.map((key) => crypto.subtle.sign('HMAC', key, content)))
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.map((signature) => `v1,${encodeBase64(new Uint8Array(signature))}`).join(' '),
  }
}
