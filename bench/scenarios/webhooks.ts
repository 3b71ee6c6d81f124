/**
 * Benchmark `webhooks`: POST /v1/webhooks/sendgrid with signed reports, one a request, on PostgreSQL with fsync on.
 *
 * The peer is what one would write first: a Fastify handler that checks the signature with node:crypto, as SendGrid's
 * documentation describes, and writes each report in a transaction of its own: insert the event id, update the state.
 * Ours does more (raised states alone, the timeline, suppressions) and commits those that arrive together in one
 * transaction. Both answer once it is committed; 64 requests are under way. Then a flood of forged ones at ours, which
 * must change nothing: what one costs is printed beside.
 */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createHttp, type Http, silentLog } from '@gatehouse/kit'
import { createProvider } from '@gatehouse/providers'
import { startPostgres } from '@gatehouse/testing'
import { fastify } from 'fastify'
import pg from 'pg'
import { Pool } from 'undici'
import { type Benchmark, paceOf, takeTurns, timesAsMuch } from '../benchmark.ts'
import { service } from '../notify/service.ts'

const count = 2_000
const underWay = 64
const rounds = 3
const signatureField = 'x-twilio-email-event-webhook-signature'
const timestampField = 'x-twilio-email-event-webhook-timestamp'

export const benchmark: Benchmark = async () => {
  const postgres = await startPostgres({ settings: ['fsync=on', 'synchronous_commit=on'] })
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const ours = await startOurs(postgres.url, key)
  const peer = await startPeer(postgres.url, key, ours.deliveries)
  try {
    const genuine = signedBy(privateKey, ours.deliveries)
    const forger = signedBy(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, ours.deliveries)
    const against = (url: string, make: (place: number) => Posted, status: number) => () => {
      const posts = Array.from({ length: count }, (_, place) => make(place))
      return paceOf(count, () => post(url, posts, status))
    }
    const pace = await takeTurns(rounds, {
      ours: against(ours.url, genuine, 204),
      peer: against(peer.url, genuine, 204),
    })
    const before = await ours.rows()
    const flood = await against(ours.url, forger, 403)()
    if ((await ours.rows()) !== before) throw new Error('forged webhooks changed something')
    const forged = Array.from({ length: count }, (_, place) => forger(place))
    const mainStart = process.threadCpuUsage()
    const checks = await paceOf(count, async () => {
      for (const { headers, body } of forged) await ours.receive(headers, body)
    })
    const main = process.threadCpuUsage(mainStart)
    const micros = (perCoreSecond: number) => Math.round(1_000_000 / perCoreSecond)
    console.log(
      `ours    ${Math.round(pace.ours.perSecond)}/s, ${micros(pace.ours.perCoreSecond)} µs of processor time each`,
    )
    console.log(
      `peer    ${Math.round(pace.peer.perSecond)}/s, ${micros(pace.peer.perCoreSecond)} µs of processor time each`,
    )
    console.log(
      `forged  ${Math.round(flood.perSecond)}/s, ${micros(flood.perCoreSecond)} µs each, the sender's included`,
    )
    return {
      bench: 'webhooks',
      ours: Math.round(pace.ours.perSecond),
      peer: Math.round(pace.peer.perSecond),
      ratio: timesAsMuch(pace.ours.perSecond, pace.peer.perSecond),
      unit: 'signed webhooks committed a second',
      forged_per_second: Math.round(flood.perSecond),
      forged_cpu_micros: micros(flood.perCoreSecond),
      forged_check_micros: micros(checks.perCoreSecond),
      forged_check_main_thread_micros: Math.round((main.user + main.system) / count),
    }
  } finally {
    await peer.close()
    await ours.close()
    await postgres.stop()
  }
}

interface Posted {
  readonly headers: Record<string, string>
  readonly body: string
}

let events = 0

/** A maker of webhooks with one report each, about one delivery after the other. */
function signedBy(privateKey: KeyObject, deliveries: readonly string[]): (place: number) => Posted {
  return (place) => {
    events += 1
    const timestamp = String(Math.floor(Date.now() / 1_000))
    const event = events % 2 ? 'delivered' : 'open'
    const delivery_id = deliveries[place % deliveries.length]
    const body = JSON.stringify([{ sg_event_id: `e${events}`, event, delivery_id, timestamp: Number(timestamp) }])
    const signature = sign('sha256', Buffer.from(timestamp + body), privateKey).toString('base64')
    const headers = { 'content-type': 'application/json', [timestampField]: timestamp, [signatureField]: signature }
    return { headers, body }
  }
}

async function post(url: string, posts: readonly Posted[], expected: number): Promise<void> {
  const pool = new Pool(new URL(url).origin, { connections: underWay })
  const waiting = posts.values()
  const path = new URL(url).pathname
  const work = async () => {
    for (const { headers, body } of waiting) {
      const answer = await pool.request({ method: 'POST', path, headers, body })
      await answer.body.dump()
      if (answer.statusCode !== expected) throw new Error(`answered ${answer.statusCode}, not ${expected}`)
    }
  }
  await Promise.all(Array.from({ length: underWay }, work))
  await pool.close()
}

async function startOurs(url: string, key: string) {
  const provider = createProvider({ provider: 'sendgrid', api_key: 'none', webhook_public_key: key })
  const notify = await service({ url, users: 1_000, providers: { email: [provider] }, work: false })
  const requests = Array.from({ length: 1_000 }, (_, user) => ({
    event: 'order.shipped',
    user_id: `user-${user}`,
    data: { order_id: '1', item: 'a book', tracking_url: 'https://example.com' },
  }))
  const accepted = await notify.accept(requests)
  const deliveries = accepted.flatMap((each) =>
    'accepted' in each ? each.accepted.deliveries.flatMap(({ id }) => id ?? []) : [],
  )
  if (deliveries.length !== requests.length) throw new Error('not every event was accepted')
  const http = createHttp({ log: silentLog })
  await http.register((scope) => notify.plugin(scope as Http))
  await http.listen({ port: 0, host: '127.0.0.1' })
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  return {
    url: `http://127.0.0.1:${(http.server.address() as AddressInfo).port}/v1/webhooks/sendgrid`,
    deliveries,
    async receive(headers: Record<string, string>, body: string) {
      const request = { headers, body: Buffer.from(body), url: 'http://localhost/v1/webhooks/sendgrid' }
      const received = await provider.reports?.read(request, Date.now())
      if (received?.kind !== 'rejected') throw new Error('a forged webhook was believed')
    },
    async rows() {
      const { rows } = await pool.query<{ rows: string }>(
        'SELECT (SELECT count(*) FROM notify.timeline_entry) + (SELECT count(delivered_at) FROM notify.delivery) AS rows',
      )
      return rows[0]?.rows
    },
    async close() {
      await http.close()
      await notify.stop()
      await pool.end()
    },
  }
}

async function startPeer(url: string, key: string, deliveries: readonly string[]) {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  await pool.query(`CREATE TABLE peer_event (event_id text PRIMARY KEY);
    CREATE TABLE peer_delivery (id uuid PRIMARY KEY, state text NOT NULL)`)
  await pool.query("INSERT INTO peer_delivery SELECT id, 'sent' FROM unnest($1::uuid[]) AS d (id)", [deliveries])
  const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
  const http = fastify({ logger: false })
  http.removeAllContentTypeParsers()
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  http.post('/', async (request, reply) => {
    const body = request.body as Buffer
    const { [timestampField]: timestamp = '', [signatureField]: signature = '' } = request.headers
    const signed = Buffer.concat([Buffer.from(String(timestamp)), body])
    if (!verify('sha256', signed, publicKey, Buffer.from(String(signature), 'base64'))) return reply.code(403).send()
    for (const event of JSON.parse(body.toString())) await apply(pool, event)
    return reply.code(204).send()
  })
  await http.listen({ port: 0, host: '127.0.0.1' })
  return {
    url: `http://127.0.0.1:${(http.server.address() as AddressInfo).port}/`,
    async close() {
      await http.close()
      await pool.end()
    },
  }
}

async function apply(pool: pg.Pool, event: { sg_event_id: string; delivery_id: string; event: string }): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const { rowCount } = await client.query('INSERT INTO peer_event VALUES ($1) ON CONFLICT DO NOTHING', [
      event.sg_event_id,
    ])
    if (rowCount)
      await client.query('UPDATE peer_delivery SET state = $2 WHERE id = $1', [event.delivery_id, event.event])
    await client.query('COMMIT')
  } finally {
    client.release()
  }
}
