import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, silentLog, type Worker } from '@gatehouse/kit'
import { postgresDatabase, type Server, sharedPostgres, testWith } from '@gatehouse/testing'
import { startOwner } from '../../../src/agenda/owner.ts'
import { announceLeases } from '../../../src/agenda/shared-hints.ts'
import { newId } from '../../../src/model/id.ts'
import type { WorkShare } from '../../../src/model/work/partition.ts'
import type { TopicReach } from '../../../src/model/work/topic.ts'
import { migrateNotify, postgresNotifyStore } from '../../../src/postgres/index.ts'
import type { HintExchange, Ownership } from '../../../src/store/ownership.ts'
import { eventually } from '../../support/setup.ts'

const count = 16
const all = Array.from({ length: count }, (_, bucket) => bucket)
const anHour = 3_600_000
/** The longest that may be declared. */
const tenMinutes = 600_000
/** A share that missed a notification is right again after a third of it. */
const halfAMinute = 30_000

interface Scene {
  readonly database: Database
  readonly ownership: Ownership
  readonly exchange: HintExchange
}

/** A process that keeps its share, and what that is. */
interface Sharing {
  readonly worker: Worker
  /** Its id. */
  readonly process: () => string
  readonly owned: () => readonly number[]
  /** How often its share changed. */
  readonly changes: () => number
  stop(): Promise<void>
}

/** One that is deaf hears of no other process. */
function share(
  { ownership, exchange }: Scene,
  { leaseMs = halfAMinute, isDeaf = false }: { readonly leaseMs?: number; readonly isDeaf?: boolean } = {},
): Sharing {
  let owned: readonly number[] = []
  let process = ''
  let changes = 0
  const worker = startOwner({
    ownership,
    count,
    leaseMs,
    reach: () => 'reached',
    log: silentLog,
    onOwned(buckets) {
      owned = buckets
      changes++
    },
    onShare(known) {
      process = known?.process ?? process
    },
    announce: () => announceLeases(exchange),
  })
  const onHints = () => worker.resume()
  const stopListening = isDeaf ? undefined : exchange.listen({ onHints, onGap: onHints })
  return {
    worker,
    process: () => process,
    owned: () => owned,
    changes: () => changes,
    async stop() {
      await Promise.all([stopListening?.(), worker.stop()])
    },
  }
}

/** Waits until each bucket belongs to one of these, and they have equal shares, or one more. */
async function divided(...processes: readonly Sharing[]): Promise<void> {
  const sizes = () => processes.map(({ owned }) => owned().length)
  await eventually(
    async () => processes.map(({ owned }) => owned()),
    (lists) =>
      JSON.stringify(lists.flat().toSorted((a, b) => a - b)) === JSON.stringify(all) &&
      Math.max(...sizes()) - Math.min(...sizes()) <= 1,
  )
}

describe('leases of buckets on PostgreSQL', () => {
  let server: Server | undefined
  before(async () => {
    server = await sharedPostgres().catch(() => undefined)
  })
  after(() => server?.stop())

  const scene = (title: string, body: (scene: Scene) => Promise<void>) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database, { buckets: count })
      const { ownership, hints } = postgresNotifyStore(database, { buckets: count })
      try {
        await body({
          database,
          ownership: ownership ?? assert.fail('no leases'),
          exchange: hints ?? assert.fail('no hints'),
        })
      } finally {
        await database.close()
      }
    })

  scene('two processes that acquire the same leases at once get each of them once', async ({ ownership }) => {
    const [a, b] = [newId(0), newId(0)]
    await Promise.all([ownership.join(a, anHour, 'reached'), ownership.join(b, anHour, 'reached')])
    for (let round = 0; round < 10; round++) {
      const { leases } = (await ownership.renew(a, anHour, 'reached')) ?? assert.fail('a is not known')
      const got = await Promise.all([ownership.acquire(a, leases), ownership.acquire(b, leases.toReversed())])
      const buckets = got.flat().map(({ bucket }) => bucket)
      assert.deepEqual(
        buckets.toSorted((x, y) => x - y),
        all,
      )
      for (const { bucket, fence } of got.flat())
        assert.ok(fence > (leases.find((lease) => lease.bucket === bucket)?.fence ?? fence), 'its fence has grown')
      await Promise.all([ownership.release(a, all), ownership.release(b, all)])
    }
  })

  scene('a lease that has changed its owner since it was read is not acquired', async ({ ownership }) => {
    const [a, b] = [newId(0), newId(0)]
    await ownership.join(a, anHour, 'reached')
    await ownership.join(b, anHour, 'reached')
    const { leases: read } = (await ownership.renew(b, anHour, 'reached')) ?? assert.fail('b is not known')
    await ownership.acquire(a, read)
    await ownership.release(a, [3])
    assert.deepEqual(await ownership.acquire(b, read), [])
  })

  const readersSeen = async (ownership: Ownership, process: string, reach: TopicReach) => {
    const { readers, generation } = (await ownership.renew(process, anHour, reach)) ?? assert.fail(process)
    return { readers: readers.toSorted(), generation }
  }

  scene('a process that lost the topic reads it until another sees that and reaches it', async ({ ownership }) => {
    const [a, b] = [newId(0), newId(0)]
    await Promise.all([ownership.join(a, anHour, 'reached'), ownership.join(b, anHour, 'reached')])
    const seen = (process: string, reach: TopicReach) => readersSeen(ownership, process, reach)
    const both = await seen(a, 'reached')
    assert.deepEqual(both.readers, [a, b].toSorted())
    for (const [process, reach] of [
      [a, 'lost'],
      [a, 'lost'],
      [b, 'unsure'],
    ] as const)
      assert.deepEqual(await seen(process, reach), both)
    const alone = { readers: [b], generation: both.generation + 1 }
    for (const process of [b, a]) assert.deepEqual(await seen(process, process === a ? 'lost' : 'reached'), alone)
    assert.deepEqual(await seen(b, 'lost'), alone, 'nobody comes back by that')
    assert.deepEqual(await seen(a, 'unsure'), { readers: both.readers, generation: both.generation + 2 })
    await ownership.leave(b)
    await ownership.join(b, anHour, 'lost')
    assert.deepEqual((await seen(a, 'reached')).readers, [a])
  })

  scene('processes that lose the topic together, and reach it again, all stay its readers', async ({ ownership }) => {
    const processes = [newId(0), newId(0), newId(0)]
    for (const process of processes) await ownership.join(process, anHour, 'reached')
    const before = await readersSeen(ownership, processes[0] ?? '', 'reached')
    for (const reach of ['unsure', 'lost', 'unsure', 'reached'] as const)
      for (const process of processes) assert.deepEqual(await readersSeen(ownership, process, reach), before)
  })

  scene('an expired process makes no other a reader no more', async ({ ownership, database }) => {
    const [expired, lost] = [newId(0), newId(0)]
    await ownership.join(expired, anHour, 'reached')
    await ownership.join(lost, anHour, 'reached')
    const before = await readersSeen(ownership, lost, 'lost')
    await database.query("UPDATE notify.worker_process SET expires_at = now() - interval '1 s' WHERE id = $1", [
      expired,
    ])
    assert.equal(await ownership.renew(expired, anHour, 'reached'), undefined)
    assert.deepEqual(await readersSeen(ownership, lost, 'lost'), { readers: [lost], generation: before.generation + 1 })
  })

  scene('a process that died before the clock of the database went back keeps nothing', async (world) => {
    const { ownership, database } = world
    const [died, lives] = [newId(0), newId(0)]
    await ownership.join(died, halfAMinute, 'reached')
    await ownership.join(lives, halfAMinute, 'reached')
    await database.query("UPDATE notify.worker_process SET expires_at = expires_at + interval '1 h'")
    const { processes } = (await ownership.renew(lives, halfAMinute, 'reached')) ?? assert.fail('it is not known')
    assert.deepEqual(processes, [lives])
    const sharing = share(world)
    await ownership.leave(lives)
    await divided(sharing)
    await sharing.stop()
  })

  scene('others hear that a process reaches the topic no more, also where saying so failed first', async (world) => {
    const { ownership, database } = world
    let [isAway, reads, failed, announced] = [false, true, 0, 0]
    const worker = startOwner({
      ownership: {
        ...ownership,
        async renew(...args) {
          if (!isAway) return ownership.renew(...args)
          failed++
          throw new Error('the database is away')
        },
      },
      count,
      leaseMs: halfAMinute,
      reach: () => (reads ? 'reached' : 'lost'),
      log: silentLog,
      onOwned() {},
      onShare() {},
      announce: () => announced++,
    })
    const readers = async () =>
      (await database.query('SELECT FROM notify.worker_process WHERE NOT lost_topic')).rowCount
    await eventually(readers, (known) => known === 1)
    isAway = true
    reads = false
    worker.resume()
    await eventually(
      async () => failed,
      (times) => times > 0,
    )
    const before = announced
    isAway = false
    await eventually(readers, (known) => known === 0)
    await eventually(
      async () => announced,
      (times) => times > before,
    )
    await worker.stop()
  })

  scene('a process that was frozen past its lease has lost it for good', async ({ ownership, database }) => {
    const [frozen, other] = [newId(0), newId(0)]
    await ownership.join(frozen, anHour, 'reached')
    const { leases = [] } = (await ownership.renew(frozen, anHour, 'reached')) ?? {}
    await ownership.acquire(frozen, leases)
    await database.query("UPDATE notify.worker_process SET expires_at = now() - interval '1 second'")
    await ownership.join(other, anHour, 'reached')
    const after = (await ownership.renew(other, anHour, 'reached')) ?? assert.fail('the other is not known')
    assert.deepEqual(after.processes, [other])
    assert.equal((await ownership.acquire(other, after.leases)).length, count)
    assert.equal(await ownership.renew(frozen, anHour, 'reached'), undefined)
    assert.deepEqual(
      await ownership.acquire(frozen, (await ownership.renew(other, anHour, 'reached'))?.leases ?? []),
      [],
    )
    await ownership.release(frozen, all)
    const { leases: left = [] } = (await ownership.renew(other, anHour, 'reached')) ?? {}
    assert.ok(left.every(({ owner }) => owner === other))
  })

  scene('processes that start at once, stop and die share all buckets fairly', async (world) => {
    const [a, b, c] = [share(world), share(world), share(world)]
    await divided(a, b, c)
    await b.stop()
    assert.deepEqual(b.owned(), [])
    await divided(a, c)
    const changes = [a.changes(), c.changes()]
    a.worker.resume()
    c.worker.resume()
    const d = share(world)
    await divided(a, c, d)
    assert.ok(a.changes() - (changes[0] ?? 0) <= 2 && c.changes() - (changes[1] ?? 0) <= 2, 'nothing goes to and fro')
    const killed = newId(0)
    await world.ownership.join(killed, tenMinutes, 'reached')
    announceLeases(world.exchange)
    await eventually(
      async () => [a, c, d].reduce((sum, { owned }) => sum + owned().length, 0),
      (sum) => sum === 12,
    )
    await world.database.query('UPDATE notify.worker_process SET expires_at = now() WHERE id = $1', [killed])
    announceLeases(world.exchange)
    await divided(a, c, d)
    await Promise.all([a.stop(), c.stop(), d.stop()])
    assert.equal((await world.database.query('SELECT FROM notify.worker_process')).rowCount, 0)
  })

  scene('a bucket that each process takes for another’s is acquired all the same', async (world) => {
    const dying = newId(0)
    await world.ownership.join(dying, anHour, 'reached')
    const started = [1, 2, 3].map(() => share(world, { leaseMs: anHour, isDeaf: true }))
    const sized = (sharing: Sharing | undefined, isWanted: (size: number) => boolean) =>
      eventually(async () => sharing?.owned().length ?? 0, isWanted)
    try {
      for (const each of started) await sized(each, (size) => size === 4)
      const [first, second, third] = started.toSorted((a, b) => (a.process() < b.process() ? -1 : 1))
      await world.database.query('UPDATE notify.worker_process SET expires_at = now() WHERE id = $1', [dying])
      for (const each of [second, first, third]) {
        each?.worker.resume()
        await sized(each, (size) => size > 4)
      }
      await divided(...started)
    } finally {
      await Promise.all(started.map((each) => each.stop()))
    }
  })

  scene('a process to whose first join the response was lost owns every bucket once that has ended', async (world) => {
    let joins = 0
    const lossy: Ownership = {
      ...world.ownership,
      async join(...request) {
        await world.ownership.join(...request)
        if (joins++ === 0) throw new Error('the connection broke')
      },
    }
    const alone = share({ ...world, ownership: lossy }, { leaseMs: 1_000 })
    try {
      await divided(alone)
      assert.ok(joins > 1)
    } finally {
      await alone.stop()
    }
  })

  scene('a process whose lease ended while it acquired buckets works in none of them', async ({ ownership }) => {
    const shares: WorkShare[] = []
    const ended = Promise.withResolvers<void>()
    const slow: Ownership = {
      ...ownership,
      async acquire(...request) {
        const acquired = await ownership.acquire(...request)
        await ended.promise
        return acquired
      },
    }
    const worker = startOwner({
      ownership: slow,
      count,
      leaseMs: 300,
      reach: () => 'reached',
      log: silentLog,
      onOwned() {},
      onShare(known) {
        if (known === undefined && shares.length > 0) ended.resolve()
        if (known) shares.push(known)
      },
      announce() {},
    })
    const owning = await eventually(
      async () => shares.find((known) => known.ownedBuckets.length === count),
      (known) => known !== undefined,
    )
    await worker.stop()
    assert.notEqual(owning?.process, shares[0]?.process, 'it is known under another id since')
  })

  scene('a process that can not renew its leases works in no bucket any more, and comes back', async (world) => {
    const { ownership } = world
    let isAway = false
    const failing: Ownership = {
      ...ownership,
      renew: (...args) => (isAway ? Promise.reject(new Error('the database is away')) : ownership.renew(...args)),
    }
    const process = share({ ...world, ownership: failing }, { leaseMs: 300 })
    await divided(process)
    isAway = true
    await eventually(
      async () => process.owned(),
      (owned) => owned.length === 0,
    )
    isAway = false
    await divided(process)
    await process.stop()
  })
})
