import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Behaviour, Fake, FakeReport } from '../fake.ts'
import type { Rehearsal } from '../rehearsal.ts'

export interface ControlOptions {
  readonly port: number
  /** Where Gatehouse is: webhooks are posted to it. */
  readonly gatehouseUrl: string
}

export interface Control {
  readonly url: string
  stop(): Promise<void>
}

/**
 * What one may ask of the fakes over HTTP: GET /control, GET /control/{kind}/requests, POST /control/{kind}/next, POST
 * /control/{kind}/webhook, POST /control/web-push/subscribe.
 */
export async function startControl(rehearsal: Rehearsal, { port, gatehouseUrl }: ControlOptions): Promise<Control> {
  const server: Server = createServer(async (request, response) => {
    const { status, body } = await answer(request, rehearsal, gatehouseUrl).catch((error: Error) => ({
      status: error instanceof RangeError ? 400 : 500,
      body: { error: error.message },
    }))
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    response.end(body === undefined ? '' : `${JSON.stringify(body, null, 2)}\n`)
  })
  server.listen(port, '127.0.0.1')
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/control`,
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

interface Answer {
  readonly status: number
  readonly body?: unknown
}

async function answer(request: IncomingMessage, rehearsal: Rehearsal, gatehouseUrl: string): Promise<Answer> {
  const { method } = request
  const [root, kind, what] = (request.url ?? '').split('?', 1)[0]?.split('/').slice(1) ?? []
  if (root !== 'control') return { status: 404, body: { error: 'GET /control lists the fakes' } }
  if (method === 'GET' && kind === undefined) return { status: 200, body: [...rehearsal.fakes.values()].map(summary) }
  const fake = rehearsal.fakes.get(kind ?? '')
  if (!fake) return { status: 404, body: { error: `there are ${[...rehearsal.fakes.keys()].join(', ')}` } }
  if (method === 'GET' && what === 'requests')
    return { status: 200, body: { requests: fake.requests, refusals: fake.refusals } }
  if (method !== 'POST') return { status: 405, body: { error: 'next, webhook and subscribe are asked for by POST' } }
  if (what === 'subscribe' && kind === 'web-push') return { status: 201, body: { token: rehearsal.subscribe() } }
  const input = await read(request)
  if (what === 'next') {
    fake.answerNext(behaviourIn(input.behaviour), timesIn(input.times))
    return { status: 204 }
  }
  if (what === 'webhook') return { status: 200, body: { status: await report(fake, input, gatehouseUrl) } }
  return { status: 404, body: { error: 'there are requests, next and webhook' } }
}

function summary({ kind, url, requests, refusals }: Fake) {
  return { kind, url, requests: requests.length, refusals: refusals.length }
}

const maxBytes = 64 * 1024

/** A page in a browser can't send this without asking first. */
async function read(request: IncomingMessage): Promise<Record<string, unknown>> {
  if (!request.headers['content-type']?.startsWith('application/json'))
    throw new RangeError('the body must be application/json')
  let text = ''
  for await (const chunk of request) {
    text += chunk
    if (text.length > maxBytes) throw new RangeError('the body is too long')
  }
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // said below
  }
  throw new RangeError('the body must be a JSON object')
}

function behaviourIn(value: unknown): Behaviour {
  if (value === 'hang' || value === 'drop' || value === 'gone') return value
  const status = (value as { status?: unknown } | null | undefined)?.status
  if (typeof status === 'number' && status >= 200 && status <= 599) return value as Behaviour
  throw new RangeError('behaviour must be "hang", "drop", "gone" or {"status": 200 to 599, "retryAfter"?, "body"?}')
}

function timesIn(value: unknown = 1): number {
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 10_000) return Number(value)
  throw new RangeError('times must be a whole number from 1 to 10000')
}

const reported = ['delivered', 'opened', 'clicked', 'bounced', 'complained'] as const

/** Posts a report of the message named, or of the last one, to the provider's webhook at Gatehouse. */
function report(fake: Fake, input: Record<string, unknown>, gatehouseUrl: string): Promise<number> {
  const { name = fake.kind, to = `${gatehouseUrl}/v1/webhooks/${name}`, message = idOf(fake.requests.at(-1)) } = input
  const what = reported.find((each) => each === input.what)
  if (!what) throw new RangeError(`what must be one of ${reported.join(', ')}`)
  if (typeof to !== 'string' || !URL.canParse(to)) throw new RangeError('to must be an address')
  if (typeof message !== 'string') throw new RangeError('message must be the id of a message that was taken')
  if (!fake.sendWebhook) throw new RangeError(`${fake.kind} reports nothing`)
  const details: Partial<FakeReport> = {
    ...(typeof input.soft === 'boolean' ? { soft: input.soft } : {}),
    ...(typeof input.eventId === 'string' ? { eventId: input.eventId } : {}),
    ...(typeof input.at === 'number' ? { at: input.at } : {}),
  }
  return fake.sendWebhook(to, [{ message, what, ...details }])
}

function idOf(request: unknown): unknown {
  const { id, sid } = (request ?? {}) as { id?: unknown; sid?: unknown }
  return id ?? sid
}
