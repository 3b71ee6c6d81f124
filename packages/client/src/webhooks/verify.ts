import { SignatureError } from '../errors/gatehouse-error.ts'
import { decodeBase64 } from '../http/base64.ts'
import type { WebhookMessage } from './message.ts'
import { bytesOf, importSecret, signedContent } from './secret.ts'

/** Options of {@link verifyWebhook}. */
export interface VerifyWebhookOptions {
  /** Several during a rotation: a signature by one of them is enough. */
  readonly secrets: readonly string[]
  /** The maximum difference between the timestamp and the clock. Default: 300. */
  readonly toleranceSeconds?: number
  /** Unix milliseconds. Default: the system clock. */
  readonly nowMs?: number
}

/** A genuine webhook. */
export interface VerifiedWebhook<Message = WebhookMessage> {
  /** The same when it is sent again: keep it for the tolerance, and refuse or skip one that came before. */
  readonly id: string
  /** When it was signed; Unix milliseconds. */
  readonly at: number
  readonly message: Message
}

/** The header fields of a request: those of `fetch`, or an object as Node has it. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

const maxSignatures = 10

/**
 * Verifies a webhook (Standard Webhooks 1.0) on the bytes that were received, and parses it. Signatures are compared in
 * constant time.
 *
 * @throws SignatureError when it is not genuine, or too old
 * @throws TypeError for a body that was parsed already, and for a malformed secret
 * @example
 * ```ts
 * const { id, message } = await verifyWebhook(await request.text(), request.headers, { secrets: [secret] })
 * ```
 */
export async function verifyWebhook<Message = WebhookMessage>(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  { secrets, toleranceSeconds = 300, nowMs = Date.now() }: VerifyWebhookOptions,
): Promise<VerifiedWebhook<Message>> {
  const body = bytesOf(rawBody)
  const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((name) =>
    headerOf(headers, `webhook-${name}`),
  )
  if (!id || !signature || timestamp === undefined || !/^\d{1,12}$/.test(timestamp))
    throw refusal('webhook-id, webhook-timestamp and webhook-signature are required')
  const at = Number(timestamp) * 1_000
  if (Math.abs(nowMs - at) > toleranceSeconds * 1_000) throw refusal('webhook-timestamp is not within the tolerance')
  const keys = await Promise.all(secrets.map(importSecret))
  if (!(await isSigned(keys, signaturesOf(signature), signedContent(id, timestamp, body))))
    throw refusal('webhook-signature is invalid')
  return { id, at, message: parseMessage(body) as Message }
}

/** Every pair is compared, so that the time says nothing about which one was right. */
async function isSigned(
  keys: readonly CryptoKey[],
  signatures: readonly Uint8Array<ArrayBuffer>[],
  content: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const results = await Promise.all(
    keys.flatMap((key) => signatures.map((signature) => crypto.subtle.verify('HMAC', key, signature, content))),
  )
  return results.includes(true)
}

/** The signatures of version 1 in a header field that may have several. */
function signaturesOf(field: string): Uint8Array<ArrayBuffer>[] {
  const parts = field.split(' ').filter((part) => part.startsWith('v1,'))
  return parts.slice(0, maxSignatures).flatMap((part) => decodeBase64(part.slice('v1,'.length)) ?? [])
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof value === 'string' ? value : undefined
}

function parseMessage(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw new SignatureError('the webhook is genuine, but not JSON', { code: 'signature_invalid', cause })
  }
}

const refusal = (reason: string) => new SignatureError(reason, { code: 'signature_invalid' })
