import { randomUUID } from 'node:crypto'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import type { Fake, FakeReport } from '../fake.ts'
import { type FakeRequest, type Seen, startHttpFake } from '../server/http-server.ts'

export interface HttpFakeSettings {
  /** `whsec_…`, the same as the provider's. */
  readonly secret: string
  readonly port?: number
}

/** A message as the generic provider posts it, with what its header fields said. */
export interface HttpMessage {
  readonly webhookId: string
  readonly id: string
  readonly delivery_id: string
  readonly channel: string
  readonly to: string
  readonly subject?: string
  readonly body: string
  readonly [member: string]: unknown
}

const needed = ['id', 'delivery_id', 'notification_id', 'user_id', 'event', 'channel', 'to', 'body', 'locale'] as const
const optional = ['critical', 'device_id', 'service', 'receipt_token', 'subject', 'html', 'headers']

/** A receiver of the generic provider: checks signatures with the specification's own library. */
export async function startHttp({ secret, port }: HttpFakeSettings): Promise<Fake<HttpMessage>> {
  const verifier = new Webhook(secret)
  const ids = new Map<string, string>()
  const fake = await startHttpFake<HttpMessage>({
    kind: 'http',
    ...(port === undefined ? {} : { port }),
    see: (request) => see(request, verifier, ids),
    gone: { status: 410, body: { error: 'gone' } },
    troubled: (status) => ({ error: `configured to answer ${status}` }),
  })
  return {
    ...fake,
    url: `${fake.url}/messages`,
    async sendWebhook(to, reports) {
      let status = 0
      for (const report of reports) status = await post(to, report, { requests: fake.requests, ids, signer: verifier })
      return status
    },
  }
}

function see(request: FakeRequest, verifier: Webhook, ids: Map<string, string>): Seen<HttpMessage> {
  if (request.method !== 'POST' || request.path !== '/messages') return refuse(404, 'POST /messages is all there is')
  try {
    verifier.verify(request.body, request.headers as Record<string, string>)
  } catch (error) {
    if (error instanceof WebhookVerificationError) return refuse(401, error.message)
    return refuse(400, 'the body is not JSON')
  }
  const message = JSON.parse(request.body.toString('utf8')) as Record<string, unknown>
  const missing = needed.filter((name) => typeof message[name] !== 'string')
  const unknown = Object.keys(message).filter((name) => ![...needed, ...optional].includes(name as never))
  if (missing.length > 0) return refuse(400, `${missing.join(', ')} must be text`)
  if (unknown.length > 0) return refuse(400, `${unknown.join(', ')} is not known`)
  const webhookId = request.headers['webhook-id'] ?? ''
  if (webhookId !== message.id) return refuse(400, 'webhook-id must be the id of the message')
  const id = ids.get(webhookId) ?? `http-${randomUUID()}`
  ids.set(webhookId, id)
  return { kind: 'message', message: { ...message, webhookId } as HttpMessage, answer: { status: 202, body: { id } } }
}

function refuse(status: number, why: string): Seen<HttpMessage> {
  return { kind: 'refused', why, answer: { status, body: { error: why } } }
}

/** What a report is made from: the messages, their ids by the ids of their requests, and what signs it. */
interface Reporter {
  readonly requests: readonly HttpMessage[]
  readonly ids: ReadonlyMap<string, string>
  readonly signer: Webhook
}

async function post(
  to: string,
  { message, what, soft, eventId = `evt_${randomUUID()}`, at = Date.now() }: FakeReport,
  { requests, ids, signer }: Reporter,
): Promise<number> {
  const sent = requests.find(({ webhookId }) => webhookId === message || ids.get(webhookId) === message)
  if (!sent) throw new RangeError(`there is no message ${message}`)
  const data = { delivery_id: sent.delivery_id, ...(soft === undefined ? {} : { soft }) }
  const body = JSON.stringify({ type: `message.${what}`, timestamp: new Date(at).toISOString(), data })
  const now = new Date()
  const answer = await fetch(to, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': eventId,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': signer.sign(eventId, now, body),
    },
    body,
  })
  await answer.body?.cancel()
  return answer.status
}
