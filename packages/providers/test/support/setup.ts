import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Fake } from '@gatehouse/fakes'
import { type ManualClock, manualClock } from '@gatehouse/kit'
import {
  type OutgoingMessage,
  type Provider,
  type ProviderContext,
  providerKinds,
  type ReadResult,
  type ReportRequest,
  type SendResult,
} from '../../src/index.ts'

/** A provider created from options that are not checked, with the system time by default. */
export function build(
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
    clock: present(),
    ...context,
  })
}

export interface ProviderTest<F> {
  readonly fake: F
  readonly provider: Provider
  readonly clock: ManualClock
  /** Reads a webhook, by default now. */
  receive(webhook: ReportRequest | undefined, now?: number): Promise<ReadResult>
}

/** A provider that calls a fake, with a clock that starts now. Both are closed after the test. */
export async function rehearse<F extends Fake>(
  t: TestEnd,
  starting: Promise<F>,
  entryOf: (fake: F) => Parameters<typeof build>[0],
  context: Partial<ProviderContext> & { readonly clock?: ManualClock } = {},
): Promise<ProviderTest<F>> {
  const fake = await starting
  const { clock = present() } = context
  const provider = build(entryOf(fake), { ...context, clock })
  t.after(async () => {
    await provider.close?.()
    await fake.stop()
  })
  return {
    fake,
    provider,
    clock,
    async receive(webhook, now = clock.now()) {
      const received = await provider.reports?.read(webhook ?? assert.fail('no webhook came'), now)
      return received ?? assert.fail('it takes no webhooks')
    },
  }
}

export interface TestEnd {
  after(work: () => Promise<void>): void
}

/** A clock that starts now, for fakes that use the system time. */
export const present = (): ManualClock => manualClock(Date.now())

/** A message created now. */
export function message(fields: Partial<OutgoingMessage> = {}): OutgoingMessage {
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
    ...fields,
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
export async function sendOne(provider: Provider, outgoing: OutgoingMessage = message()): Promise<SendResult> {
  const [result] = await provider.send([outgoing], new AbortController().signal)
  if (!result) throw new Error('the provider answered nothing')
  return result
}

/** The webhooks that `send` posts to a URL, as a report reader receives them. */
export async function caught(send: (to: string) => Promise<unknown>, publicUrl: string): Promise<ReportRequest[]> {
  const requests: ReportRequest[] = []
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    requests.push({ headers: incoming.headers, body: Buffer.concat(chunks), url: `${publicUrl}${incoming.url}` })
    outgoing.writeHead(204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await send(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
  return requests
}
