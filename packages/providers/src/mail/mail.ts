import type { OutgoingMessage } from '../model/message.ts'
import type { SendResult } from '../model/send-result.ts'
import { emailAddressExpected, isEmailAddress } from './email-address.ts'

/** The sender of a mail. */
export interface Sender {
  readonly name?: string
  readonly address: string
  /** The domain of the address. */
  readonly domain: string
}

/**
 * Parses a sender: an address or `Name <address>`.
 * @throws RangeError if it is neither
 */
export function parseSender(from: string): Sender {
  const [, name, named, bare] = /^ *(?:"?([^"<>]*?)"? *<([^<>\s]+)>|([^<>\s]+)) *$/.exec(from) ?? []
  const address = named ?? bare ?? ''
  if (!isSenderAddress(address) || /[\u0000-\u001f\u007f]/.test(from))
    throw new RangeError(`from must be an address or Name <address>: ${from}`)
  return { ...(name ? { name } : {}), address, domain: address.slice(address.lastIndexOf('@') + 1) }
}

/** `no-reply@localhost`, a domain of one label, is the default sender on a development machine. */
function isSenderAddress(address: string): boolean {
  return isEmailAddress(address.replace(/@localhost$/, '@localhost.localdomain'))
}

const invalidAddress: SendResult = { kind: 'permanent', code: 'address', reason: `the address ${emailAddressExpected}` }

/**
 * Sends each message, except emails whose address is not exactly one address: another program could read such a text as
 * several recipients. Validated input contains none; this is the last defense.
 */
export function sendEach(
  messages: readonly OutgoingMessage[],
  send: (message: OutgoingMessage) => Promise<SendResult>,
): Promise<SendResult[]> {
  const isValid = ({ channel, target }: OutgoingMessage) => channel !== 'email' || isEmailAddress(target.address)
  return Promise.all(messages.map(async (message) => (isValid(message) ? send(message) : invalidAddress)))
}

/**
 * The Message-ID of a mail (RFC 5322 §3.6.4). It is identical at every attempt, so that mail servers recognize a
 * duplicate, and contains the id that bounces refer to.
 */
export function createMessageId({ id }: Pick<OutgoingMessage, 'id'>, { domain }: Sender): string {
  return `<${id}@${domain}>`
}

/** The header fields of a mail that no transport adds by itself. None can contain a line break. */
export function createHeaders({ event, headers }: OutgoingMessage): Record<string, string> {
  const campaign = event.replace(/[^\w.-]/g, '-').slice(0, 200)
  const fields = { 'Auto-Submitted': 'auto-generated', 'Feedback-ID': `${campaign}:gatehouse`, ...headers }
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value.replace(/[\r\n]+\s*/g, ' ')]))
}
