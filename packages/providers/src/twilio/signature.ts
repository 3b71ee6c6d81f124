import { createHash, createHmac } from 'node:crypto'
import type { ReportHeaders, ReportRequest } from '../model/report.ts'
import { constantTimeEqual } from '../signature/equal.ts'

/** Whether there is a signature at all: base64 of the 20 bytes of SHA-1. */
export function hasTwilioSignature({ 'x-twilio-signature': signature }: ReportHeaders): boolean {
  return typeof signature === 'string' && signature.length === 28
}

/**
 * Whether a request is signed with the auth token of the account (twilio.com/docs/usage/security): base64 of HMAC-SHA1
 * over the URL and every form field, sorted by name. For other content types it covers the URL only, whose `bodySHA256`
 * then covers the body. Twilio signs the URL with or without the port, so both are valid.
 */
export function isTwilioSigned(authToken: string, { headers, body, url }: ReportRequest): boolean {
  const signature = headers['x-twilio-signature']
  if (typeof signature !== 'string') return false
  const isForm = String(headers['content-type'] ?? '').startsWith('application/x-www-form-urlencoded')
  if (!isForm && !isBodyDigestValid(url, body)) return false
  const fields = isForm ? concatenateFields(body.toString('utf8')) : ''
  return urlVariants(url).some((variant) => constantTimeEqual(signature, computeSignature(authToken, variant + fields)))
}

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
  const digest = URL.parse(url)?.searchParams.get('bodySHA256')
  return (
    typeof digest === 'string' &&
    constantTimeEqual(digest.toLowerCase(), createHash('sha256').update(body).digest('hex'))
  )
}

const defaultPorts: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' }

/** The URL as it is, and with its default port added or its port removed. */
function urlVariants(url: string): string[] {
  const parts = /^(https?:)\/\/([^/?#]*?)(:\d+)?([/?#].*)?$/.exec(url)
  if (!parts) return [url]
  const [, protocol = '', host = '', port, rest = ''] = parts
  return [url, port ? `${protocol}//${host}${rest}` : `${protocol}//${host}:${defaultPorts[protocol]}${rest}`]
}
