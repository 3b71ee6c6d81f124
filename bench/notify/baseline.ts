import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Liquid } from 'liquidjs'
import pg from 'pg'
import { Pool } from 'undici'

/** What a user would write by hand: a BullMQ worker, Redis INCR for the cap, PostgreSQL for preferences, log and state. */
export async function peer(postgresUrl: string, redisUrl: string, providerUrl: string, users: number) {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const working = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const counters = new Redis(redisUrl)
  const database = new pg.Pool({ connectionString: postgresUrl, max: 10 })
  const http = new Pool(providerUrl, { connections: 64 })
  const liquid = new Liquid()
  const subject = liquid.parse('Your order {{ order_id }} is on its way')
  const body = liquid.parse('Hello,\n\n{{ item }} left our house today. Follow it here:\n{{ tracking_url }}\n')
  await database.query(`CREATE TABLE recipient (user_id text PRIMARY KEY, email text, channels text[]);
    CREATE TABLE dedup_log (dedup_key text PRIMARY KEY, user_id text, state text, sent_at timestamptz)`)
  await database.query(
    `INSERT INTO recipient SELECT 'user-' || n, 'user-' || n || '@example.com', '{email}' FROM generate_series(0, ${users - 1}) AS n`,
  )
  const queue = new Queue('notifications', { connection })
  const worker = new Worker(
    'notifications',
    async ({ data: event }) => {
      const { rows } = await database.query('SELECT email, channels FROM recipient WHERE user_id = $1', [event.user_id])
      const text = { subject: liquid.renderSync(subject, event.data), body: liquid.renderSync(body, event.data) }
      const used = await counters.incr(`cap:${event.user_id}`)
      if (used === 1) await counters.expire(`cap:${event.user_id}`, 86_400)
      if (used > 1_000) return
      const key = `${event.event}:${event.dedup_key}:${event.user_id}:email`
      const { rowCount } = await database.query(
        `INSERT INTO dedup_log VALUES ($1, $2, 'queued', now()) ON CONFLICT DO NOTHING`,
        [key, event.user_id],
      )
      if (rowCount === 0) return
      const message = JSON.stringify({ to: rows[0]?.email, ...text, at: event.data.at })
      const answer = await http.request({ path: '/', method: 'POST', body: message })
      await answer.body.dump()
      await database.query(`UPDATE dedup_log SET state = 'sent' WHERE dedup_key = $1`, [key])
    },
    {
      connection: working,
      concurrency: 100,
      removeOnComplete: { count: 0 },
    },
  )
  return {
    accept: (events: ReadonlyArray<{ readonly event: string }>) =>
      queue.addBulk(events.map((data) => ({ name: data.event, data, opts: { removeOnComplete: true } }))),
    async stop() {
      await worker.close()
      await queue.close()
      connection.disconnect()
      working.disconnect()
      counters.disconnect()
      await database.end()
      await http.close()
    },
  }
}
