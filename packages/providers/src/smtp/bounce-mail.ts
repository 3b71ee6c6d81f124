import { parseQmailBounce } from './qmail-bounce.ts'

/** Header fields by name in lower case, with all values of a repeated field. */
type Fields = ReadonlyMap<string, readonly string[]>

/** One recipient of a delivery status notification (RFC 3464 §2.3). */
interface RecipientStatus {
  readonly action: string
  /** The enhanced status code. */
  readonly status: string
  readonly diagnostic: string
}

/** A mail received at a return path. */
export type ReturnedMail =
  /** A delivery status notification (RFC 3464) or a qmail bounce. */
  | { readonly kind: 'status'; readonly recipients: readonly RecipientStatus[]; readonly about: MailReference }
  /** A feedback report (ARF, RFC 5965). */
  | { readonly kind: 'feedback'; readonly feedback: string; readonly about: MailReference }
  /** Anything else: mail of people, or an automatic response such as a vacation notice (RFC 3834). */
  | { readonly kind: 'other'; readonly isAutomatic: boolean }

/** What identifies the mail that a notification refers to. */
export interface MailReference {
  /** Addresses that the notification was sent to, or that the mail had as its return path. */
  readonly returnPaths: readonly string[]
  /** The Message-ID of that mail. */
  readonly messageId?: string
  /** The Message-ID of the notification itself. */
  readonly noticeId?: string
}

const maxParts = 20
const maxRecipients = 100

/** Parses a mail received at a return path. */
export function parseReturnedMail(raw: Buffer): ReturnedMail {
  const mail = parsePart(raw.toString('latin1'))
  const { value: type, parameters } = parseContentType(mail.fields)
  const other = {
    kind: 'other',
    isAutomatic: !/^(?:no\b.*)?$/i.test(firstValue(mail.fields, 'auto-submitted') ?? ''),
  } as const
  if (type !== 'multipart/report') return parseUnstructured(mail) ?? other
  const parts = splitParts(mail.body, parameters.get('boundary') ?? '')
  const find = (...types: readonly string[]) =>
    parts.find((part) => types.includes(parseContentType(part.fields).value))
  const returned = find('message/rfc822', 'text/rfc822-headers', 'message/rfc822-headers', 'message/global')
  const original = returned ? parsePart(decodeBody(returned)).fields : new Map()
  const status = find('message/delivery-status', 'message/global-delivery-status')
  if (status) {
    const [ofMessage, ...groups] = parseGroups(decodeBody(status))
    if (!ofMessage || groups.length === 0) return other
    const recipients = groups.slice(0, maxRecipients).map(parseRecipient)
    return { kind: 'status', recipients, about: createReference(mail.fields, ofMessage, original) }
  }
  const feedback = find('message/feedback-report')
  if (!feedback) return other
  const [report = new Map()] = parseGroups(decodeBody(feedback))
  const kind = firstValue(report, 'feedback-type')?.toLowerCase() ?? ''
  return { kind: 'feedback', feedback: kind, about: createReference(mail.fields, report, original) }
}

function parseUnstructured(mail: Part): ReturnedMail | undefined {
  const bounce = parseQmailBounce(decodeBody(mail))
  if (!bounce) return undefined
  return {
    kind: 'status',
    recipients: bounce.recipients,
    about: createReference(mail.fields, new Map(), parsePart(bounce.original).fields),
  }
}

function createReference(notice: Fields, report: Fields, original: Fields): MailReference {
  const addressed = ['x-original-to', 'delivered-to', 'to'].flatMap((name) => notice.get(name) ?? [])
  const [messageId, noticeId] = [findMessageId(original), findMessageId(notice)]
  return {
    returnPaths: [
      ...addressed,
      ...(report.get('original-mail-from') ?? []),
      ...(original.get('return-path') ?? []),
    ].map(stripBrackets),
    ...(messageId === undefined ? {} : { messageId }),
    ...(noticeId === undefined ? {} : { noticeId }),
  }
}

function parseRecipient(group: Fields): RecipientStatus {
  return {
    action: firstValue(group, 'action')?.toLowerCase() ?? '',
    status: /^[245]\.\d{1,3}\.\d{1,3}/.exec(firstValue(group, 'status') ?? '')?.[0] ?? '',
    diagnostic: (firstValue(group, 'diagnostic-code') ?? '').replace(/^[\w-]+;\s*/, ''),
  }
}

interface Part {
  readonly fields: Fields
  readonly body: string
}

/** Splits the header from the body (RFC 5322 §2.1) and unfolds it. */
function parsePart(text: string): Part {
  const end = /\r?\n\r?\n/.exec(text)
  const head = end ? text.slice(0, end.index) : text
  return { fields: parseFields(head), body: end ? text.slice(end.index + end[0].length) : '' }
}

function parseFields(head: string): Fields {
  const fields = new Map<string, string[]>()
  for (const line of head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':')
    if (colon < 1) continue
    const name = line.slice(0, colon).trim().toLowerCase()
    const values = fields.get(name)
    if (values) values.push(line.slice(colon + 1).trim())
    else fields.set(name, [line.slice(colon + 1).trim()])
  }
  return fields
}

/** Groups of fields, separated by empty lines. */
function parseGroups(text: string): Fields[] {
  return text
    .split(/\r?\n[ \t]*\r?\n/)
    .map(parseFields)
    .filter(({ size }) => size > 0)
}

function firstValue(fields: Fields, name: string): string | undefined {
  return fields.get(name)?.[0]
}

/** The media type and its parameters (RFC 2045 §5.1). */
function parseContentType(fields: Fields): { value: string; parameters: ReadonlyMap<string, string> } {
  const [value = '', ...rest] = (firstValue(fields, 'content-type') ?? '').split(';')
  const parameters = rest.map((part): [string, string] => {
    const [name = '', ...text] = part.split('=')
    return [
      name.trim().toLowerCase(),
      text
        .join('=')
        .trim()
        .replace(/^"(.*)"$/, '$1'),
    ]
  })
  return { value: value.trim().toLowerCase(), parameters: new Map(parameters) }
}

/** The parts of a multipart body, split at its delimiter lines (RFC 2046 §5.1.1). */
function splitParts(body: string, boundary: string): Part[] {
  if (boundary === '' || boundary.length > 70) return []
  const parts: string[] = []
  let from = -1
  let at = 0
  for (const line of `${body}\n`.split('\n')) {
    const text = line.trimEnd()
    if (text === `--${boundary}` || text === `--${boundary}--`) {
      if (from >= 0) parts.push(body.slice(from, at))
      from = at + line.length + 1
      if (text.endsWith('--') || parts.length >= maxParts) break
    }
    at += line.length + 1
  }
  return parts.map(parsePart)
}

/** The decoded body of a part (RFC 2045 §6). */
function decodeBody({ fields, body }: Part): string {
  const encoding = firstValue(fields, 'content-transfer-encoding')?.toLowerCase()
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('latin1')
  if (encoding !== 'quoted-printable') return body
  return body
    .replace(/=[ \t]*\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}

function findMessageId(fields: Fields): string | undefined {
  return /<([^<>\s]{1,250})>/.exec(firstValue(fields, 'message-id') ?? '')?.[1]
}

function stripBrackets(address: string): string {
  return (/<([^<>]*)>/.exec(address)?.[1] ?? address).trim()
}
