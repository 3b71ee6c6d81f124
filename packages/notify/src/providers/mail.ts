import type { OutgoingMessage } from './provider.ts'

/** A sender: `Name <address>` or an address alone. */
export interface Sender {
  readonly name?: string
  readonly address: string
  readonly domain: string
}

/**
 * Reads a sender.
 * @throws RangeError when it is none
 */
export function readSender(from: string): Sender {
  const [, name, named, bare] = /^\s*(?:"?([^"<>]*?)"?\s*<([^<>\s]+)>|([^<>\s]+))\s*$/.exec(from) ?? []
  const address = named ?? bare ?? ''
  const [, domain] = /^[^@\s]+@([^@\s]+)$/.exec(address) ?? []
  if (domain === undefined || /[\r\n]/.test(from))
    throw new RangeError(`from must be an address or Name <address>: ${from}`)
  return { ...(name ? { name } : {}), address, domain }
}

/** The Message-ID of a mail. It is the same at every try, so that mail servers see one mail, and leads back to the delivery. */
export function messageIdOf({ id }: Pick<OutgoingMessage, 'id'>, { domain }: Sender): string {
  return `<${id}@${domain}>`
}

/** The header fields of a mail beside those that every transport writes itself; none of them can break its line. */
export function mailHeaders({ event, headers }: OutgoingMessage): Record<string, string> {
  const campaign = event.replace(/[^\w.-]/g, '-').slice(0, 200)
  const given = { 'Auto-Submitted': 'auto-generated', 'Feedback-ID': `${campaign}:gatehouse`, ...headers }
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.replace(/[\r\n]+\s*/g, ' ')]))
}
