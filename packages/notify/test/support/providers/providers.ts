import { type ManualClock, manualClock } from '@gatehouse/kit'
import {
  type OutgoingMessage,
  type Provider,
  type ProviderContext,
  providerKinds,
  type SendResult,
} from '@gatehouse/providers'

/** A provider created from options that are not checked, with the system time by default. */
export function buildProvider(
  entry: { readonly provider: string } & Record<string, unknown>,
  context: Partial<ProviderContext> = {},
): Provider {
  const kind = providerKinds.find(({ kind }) => kind === entry.provider)
  if (!kind) throw new Error(`${entry.provider} is not a provider`)
  return kind.createProvider(entry, {
    name: entry.provider,
    channel: kind.channels[0],
    from: 'Example <hello@example.com>',
    reportUrl: `https://gatehouse.example.com/v1/webhooks/${context.name ?? entry.provider}`,
    folder: process.cwd(),
    clock: createPresentClock(),
    ...context,
  })
}

/** A clock that starts now, for fakes that use the system time. */
export const createPresentClock = (): ManualClock => manualClock(Date.now())

/** A message created now. */
export function createMessage(overrides: Partial<OutgoingMessage> = {}): OutgoingMessage {
  const deliveryId = idAt(Date.now())
  return {
    id: deliveryId,
    deliveryId,
    notificationId: deliveryId,
    userId: 'alice',
    channel: 'sms',
    event: 'order.shipped',
    critical: false,
    target: { id: 'sms', address: '+14155550100' },
    content: { subject: 'Order A-1', body: 'Order A-1 left.', locale: 'en' },
    ...overrides,
  }
}

let made = 0

/** A delivery id created at a time: a UUIDv7. */
function idAt(at: number): string {
  const hex = at.toString(16).padStart(12, '0')
  made += 1
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${made.toString(16).padStart(12, '0')}`
}

/** Sends one message. */
export async function sendOne(provider: Provider, outgoing: OutgoingMessage = createMessage()): Promise<SendResult> {
  const [result] = await provider.send([outgoing], new AbortController().signal)
  if (!result) throw new Error('the provider answered nothing')
  return result
}
