import { randomUUID } from 'node:crypto'
import { checkWebhookHeaders, parseWebhookKey, signWebhook, verifyWebhook } from '@gatehouse/providers'
import type { Provider } from '../../../src/index.ts'
import { eventually, type Setup, type SetupOptions, seedEventType, setup } from '../setup.ts'

export const key = parseWebhookKey(Buffer.alloc(32, 7).toString('base64'))
export const shipped = { event: 'order.shipped', user_id: 'alice', data: { order_id: 'A-1' }, channels: ['email'] }

/** A provider that accepts everything and posts our own reports as JSON, signed as Standard Webhooks. */
export const provider: Provider = {
  name: 'reporter',
  channel: 'email',
  timeoutMs: 1_000,
  send: async (messages) => messages.map(({ id }) => ({ kind: 'accepted', providerMessageId: id })),
  reports: {
    maxBytes: 512 * 1024,
    checkHeaders: checkWebhookHeaders,
    async read({ headers, body }, now) {
      const checked = verifyWebhook([key], headers, body, now)
      if (checked.kind === 'rejected') return checked
      try {
        return { kind: 'reports', reports: JSON.parse(body.toString()) }
      } catch {
        return { kind: 'malformed', reason: 'it is not JSON' }
      }
    },
  },
}

/** The service with this provider alone and no caps. */
export async function setupWebhooks(
  t: { after(work: () => Promise<void>): void },
  options: SetupOptions = {},
): Promise<Setup> {
  const caps = { total: 1_000_000, channels: {}, priorities: {} }
  const s = await setup({ providers: { email: [provider] }, options: { caps }, ...options })
  t.after(s.close)
  await seedEventType(s)
  return s
}

/** Sends a mail, and waits until the provider has it. */
export async function send(s: Setup): Promise<{ id: string; deliveryId: string }> {
  const { body } = await s.call('POST', '/v1/notify', shipped)
  await eventually(
    () => s.call('GET', `/v1/notifications/${body.id}`),
    (answer) => answer.body.deliveries[0].state === 'sent',
  )
  return { id: body.id, deliveryId: body.deliveries[0].id }
}

/** Posts reports as the provider would, signed by default. */
export async function post(
  s: Setup,
  reports: unknown,
  headers: Record<string, string> = {},
  name: string = 'reporter',
) {
  const payload = typeof reports === 'string' ? reports : JSON.stringify(reports)
  const signed = signWebhook([key], randomUUID(), s.clock.now(), payload)
  const answer = await s.http.inject({
    method: 'POST',
    url: `/v1/webhooks/${name}`,
    headers: { 'content-type': 'application/json', ...signed, ...headers },
    payload,
  })
  return { status: answer.statusCode, type: answer.headers['content-type'], text: answer.body }
}

export const stateOf = async (s: Setup, id: string) =>
  (await s.call('GET', `/v1/notifications/${id}`)).body.deliveries[0].state
