import type { OutgoingMessage, SendResult } from '../model/provider.ts'
import { emailAddressExpected, isEmailAddress } from './email-address.ts'

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
export function parseSender(from: string): Sender {
  const [, name, named, bare] = /^ *(?:"?([^"<>]*?)"? *<([^<>\s]+)>|([^<>\s]+)) *$/.exec(from) ?? []
  const address = named ?? bare ?? ''
  if (!isSenderAddress(address) || /[\u0000-\u001f\u007f]/.test(from))
    throw new RangeError(`from must be an address or Name <address>: ${from}`)
  return { ...(name ? { name } : {}), address, domain: address.slice(address.lastIndexOf('@') + 1) }
}

/** A sender on the machine itself, as the default is, has a domain of one label. */
function isSenderAddress(address: string): boolean {
  return isEmailAddress(address.replace(/@localhost$/, '@localhost.localdomain'))
}

const invalidAddress: SendResult = { kind: 'permanent', code: 'address', reason: `the address ${emailAddressExpected}` }

/**
 * Sends each message, of mails those whose address is exactly one. Any other is refused for good before it reaches a program that could
 * read it as several: it was stored by an older release, or past the checks of the API.
 */
export function sendEach(
  messages: readonly OutgoingMessage[],
  send: (message: OutgoingMessage) => Promise<SendResult>,
): Promise<SendResult[]> {
  const isOne = ({ channel, target }: OutgoingMessage) => channel !== 'email' || isEmailAddress(target.address)
  return Promise.all(messages.map(async (each) => (isOne(each) ? send(each) : invalidAddress)))
}

/** The Message-ID of a mail. It is the same at every try, so that mail servers see one mail, and leads back to the delivery. */
export function createMessageId({ id }: Pick<OutgoingMessage, 'id'>, { domain }: Sender): string {
  return `<${id}@${domain}>`
}

/** The header fields of a mail beside those that every transport writes itself; none of them can break its line. */
export function createHeaders({ event, headers }: OutgoingMessage): Record<string, string> {
  const campaign = event.replace(/[^\w.-]/g, '-').slice(0, 200)
  const fields = { 'Auto-Submitted': 'auto-generated', 'Feedback-ID': `${campaign}:gatehouse`, ...headers }
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value.replace(/[\r\n]+\s*/g, ' ')]))
}
