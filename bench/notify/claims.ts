import type { Database } from '@gatehouse/kit'
import type { NotifyStore } from '@gatehouse/notify'

export interface Load {
  readonly deliveries: number
  /** How many are due whenever some are claimed. */
  readonly waiting: number
  /** How many are claimed at once. */
  readonly limit: number
}

/** Deliveries that become due, are claimed and recorded as sent. */
export interface Traffic {
  deliver(load: Load): Promise<void>
}

export interface ClaimCosts {
  readonly calls: number
  readonly buffers: number
  readonly ms: number
}

const leaseMs = 60_000

/** Traffic of one event type on one channel. The ids count the deliveries, so that they sort as those of the service do. */
export function traffic(database: Database, deliveries: NotifyStore['deliveries']): Traffic {
  let written = 0
  let waiting = 0
  const write = async (count: number) => {
    await database.query({
      name: 'write',
      text: `INSERT INTO notify.delivery_queue (bucket, delivery_id, user_id, channel, event, priority, due_at, sensitive, message)
             SELECT 0, ('019b0000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'user-' || n, 'email', 'order.shipped', 1,
                    $3::timestamptz, false, json_build_object('subject', 'Your order', 'body', repeat('is on its way ', 20),
                    'targets', json_build_array(json_build_object('id', 'a', 'address', n || '@example.com')))
               FROM generate_series($1::bigint + 1, $1::bigint + $2::bigint) AS n`,
      values: [written, count, new Date().toISOString()],
    })
    written += count
    waiting += count
  }
  const deliverSome = async (limit: number) => {
    const request = { buckets: [0], channel: 'email', limit, leaseMs, now: Date.now() } as const
    const { deliveries: claimed } = await deliveries.claim(request)
    await deliveries.record(
      claimed.map((each) => ({
        claimed: each,
        at: Date.now(),
        acknowledged: { provider: 'bench' },
        next: { kind: 'done' },
        what: 'sent',
        detail: {},
        deadTokens: [],
      })),
    )
    waiting -= claimed.length
    return claimed.length
  }
  return {
    async deliver(load) {
      for (let delivered = 0; delivered < load.deliveries; ) {
        for (let missing = load.waiting - waiting; missing > 0; missing -= 250) await write(Math.min(250, missing))
        delivered += await deliverSome(load.limit)
      }
      while (waiting > 0) await deliverSome(load.limit)
    },
  }
}

/** What PostgreSQL has counted of claims so far. */
export async function claimCosts(database: Database): Promise<ClaimCosts> {
  const { rows } = await database.query<ClaimCosts>(
    `SELECT coalesce(sum(calls), 0)::bigint AS calls, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint AS buffers,
            coalesce(sum(total_exec_time), 0)::float8 AS ms
       FROM pg_stat_statements WHERE query LIKE '%UPDATE notify.delivery_queue w%SET attempt = w.attempt +%'`,
  )
  return rows[0] ?? { calls: 0, buffers: 0, ms: 0 }
}
