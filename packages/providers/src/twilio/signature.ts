import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { ReportHeaders, ReportRequest } from '../model/report.ts'

/** Whether there is anything that could be a signature: base64 of the 20 bytes of SHA-1. */
export function hasTwilioSignature({ 'x-twilio-signature': signature }: ReportHeaders): boolean {
  return typeof signature === 'string' && signature.length === 28
}

/**
 * Whether a webhook is signed with the account's auth token (twilio.com/docs/usage/security): base64 of HMAC-SHA1 over
 * the address and every form field, sorted by name; for other bodies over the address alone, whose `bodySHA256` then
 * vouches for the body. Twilio signs the address with or without its port, so both count.
 */
export function isTwilioSigned(authToken: string, { headers, body, url }: ReportRequest): boolean {
  const given = headers['x-twilio-signature']
  if (typeof given !== 'string') return false
  const isForm = String(headers['content-type'] ?? '').startsWith('application/x-www-form-urlencoded')
  if (!isForm && !isBodyDigestValid(url, body)) return false
  const signed = isForm ? concatenateFields(body.toString('utf8')) : ''
  return urlVariants(url).some((spelling) => isEqual(given, computeSignature(authToken, spelling + signed)))
}

/** The signature of an address followed by its signed fields. */
function computeSignature(authToken: string, signed: string): string {
  return createHmac('sha1', authToken).update(signed, 'utf8').digest('base64')
}

function concatenateFields(form: string): string {
  const fields = Map.groupBy(new URLSearchParams(form), ([name]) => name)
  return [...fields]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, pairs]) => [...new Set(pairs.map(([, value]) => value))].sort().map((value) => name + value))
    .join('')
}

function isBodyDigestValid(url: string, body: Buffer): boolean {
  const expected = URL.parse(url)?.searchParams.get('bodySHA256')
  return (
    typeof expected === 'string' && isEqual(expected.toLowerCase(), createHash('sha256').update(body).digest('hex'))
  )
}

const defaultPorts: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }

function urlVariants(url: string): string[] {
  const parts = /^(https?:)\/\/([^/?#]*?)(:\d+)?([/?#].*)?$/.exec(url)
  if (!parts) return [url]
  const [, protocol = '', host = '', port, rest = ''] = parts
  return [url, port ? `${protocol}//${host}${rest}` : `${protocol}//${host}:${defaultPorts[protocol]}${rest}`]
}

function isEqual(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
