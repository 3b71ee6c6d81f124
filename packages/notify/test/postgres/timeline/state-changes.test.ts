import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import { bucketOfUser, deliveryIdOf, firstIdAt, newId, slotOfUser } from '../../../src/model/id.ts'
import { writeChanges } from '../../../src/postgres/timeline/outbox.ts'
import type { StateChanges } from '../../../src/store/store.ts'
import { notifyDatabase } from '../../support/engine/database.ts'
import {
  type DatabaseServer,
  isDistributed,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
  testBuckets,
} from '../../support/engine/engine.ts'
import { eventually } from '../../support/setup.ts'

const at = Date.UTC(2026, 5, 1)
const day = 86_400_000

type Writing = Parameters<Parameters<Database['transaction']>[0]>[0]

/** A user whose bucket is that of the ids here, however many buckets there are. */
const alice =
  Array.from({ length: 1_000 }, (_, n) => `alice-${n}`).find((id) => bucketOfUser(id, testBuckets) === 0) ??
  assert.fail('nobody is in the first bucket')

/** A change of state, as a delivery leaves it in the outbox; it is known by its user. */
const change = (userId: string, state: 'sent' | 'delivered' = 'sent') => ({
  deliveryId: deliveryIdOf(newId(slotOfUser(userId)), 'email'),
  userId,
  channel: 'email' as const,
  event: 'order.shipped',
  state,
  at,
})

const writeAll = (tx: Writing, changes: ReadonlyArray<ReturnType<typeof change>>) =>
  Promise.all(writeChanges({ count: 1 }, changes).map((query) => tx.query(query)))

const write = (tx: Writing, ...users: string[]) =>
  writeAll(
    tx,
    users.map((user) => change(user)),
  )

const usersOf = (changes: ReadonlyArray<{ readonly payload: Readonly<Record<string, unknown>> }>) =>
  changes.map(({ payload }) => payload.user_id)

interface World {
  readonly database: Database
  readonly changes: StateChanges
}

async function fresh(open: () => Promise<Database>): Promise<World> {
  const database = await open()
  await migrateNotify(database)
  return { database, changes: postgresNotifyStore(database).stateChanges }
}

/** Reads from a cursor to the end, page by page. */
async function walk(
  changes: StateChanges,
  after: number,
  limit: number,
): Promise<{ users: unknown[]; cursor: number }> {
  const users: unknown[] = []
  for (let cursor = after; ; ) {
    const page = await changes.read(cursor, limit, {})
    users.push(...usersOf(page.changes))
    cursor = page.through
    if (cursor >= page.last) return { users, cursor }
  }
}

/** Behaviour on both engines. */
function onBoth(title: string, body: (world: World) => Promise<void>): void {
  const run = async (open: () => Promise<Database>) => {
    const world = await fresh(open)
    try {
      await body(world)
    } finally {
      await world.database.close()
    }
  }
  test(`${title} (embedded)`, () => run(notifyDatabase))
  testWith('postgresql', `${title} (PostgreSQL)`, () =>
    run(() => postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))),
  )
}

let server: DatabaseServer | undefined

describe('the log of state changes', () => {
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  onBoth('a change is read once it is numbered, in order, and not again behind the cursor', async (w) => {
    await w.database.transaction((tx) => write(tx, 'a', 'b', 'c'))
    assert.equal((await w.changes.read(0, 10, {})).changes.length, 0)
    assert.equal(await w.changes.number([0], 100, at), 3)
    const first = await w.changes.read(0, 2, {})
    assert.deepEqual(usersOf(first.changes), ['a', 'b'])
    assert.deepEqual([first.through, first.last], [2, 3])
    assert.deepEqual(usersOf((await w.changes.read(first.through, 2, {})).changes), ['c'])
    assert.equal((await w.changes.read(3, 2, {})).changes.length, 0)
    assert.equal((await w.database.query('SELECT 1 FROM notify.outbox')).rowCount, 0)
  })

  if (!isDistributed)
    onBoth('those of several buckets are numbered together, up to a limit, each bucket’s in their order', async (w) => {
      const changes = Array.from({ length: 12 }, (_, n) => ({
        ...change(`${n}`),
        deliveryId: deliveryIdOf(newId(n % 3), 'email'),
      }))
      for (const each of changes)
        await w.database.transaction((tx) =>
          Promise.all(writeChanges({ count: 3 }, [each]).map((query) => tx.query(query))),
        )
      const { number } = postgresNotifyStore(w.database, { buckets: 3 }).stateChanges
      assert.equal(await number([2, 0], 5, at), 5)
      assert.equal(await number([0, 1, 2], 100, at), 7)
      assert.equal(await number([0, 1, 2], 100, at), 0)
      const page = await w.changes.read(0, 100, {})
      assert.deepEqual(
        page.changes.map(({ sequence }) => sequence),
        changes.map((_, n) => n + 1),
      )
      for (const bucket of [0, 1, 2])
        assert.deepEqual(
          usersOf(page.changes).filter((user) => Number(user) % 3 === bucket),
          [0, 1, 2, 3].map((n) => `${3 * n + bucket}`),
        )
    })

  onBoth('a page begins and ends within what one transaction left, however large', async (w) => {
    const users = Array.from({ length: 700 }, (_, n) => `user ${n}`)
    await w.database.transaction((tx) => write(tx, ...users.slice(0, 1)))
    await w.database.transaction((tx) => write(tx, ...users.slice(1, 650)))
    await w.database.transaction((tx) => write(tx, ...users.slice(650)))
    while ((await w.changes.number([0], 2, at)) > 0);
    const pages = [await w.changes.read(0, 7, {}), await w.changes.read(7, 100, {}), await w.changes.read(640, 100, {})]
    assert.deepEqual(
      pages.map(({ changes, through }) => [...usersOf(changes), through]),
      [
        [...users.slice(0, 7), 7],
        [...users.slice(7, 107), 107],
        [...users.slice(640), 700],
      ],
    )
    assert.deepEqual(new Set((await walk(w.changes, 0, 37)).users), new Set(users))
  })

  onBoth('what is erased leaves the numbers of the others, and readers pass over it', async (w) => {
    await w.database.transaction((tx) => write(tx, alice, 'bob', alice, 'carol'))
    await w.changes.number([0], 100, at)
    await w.database.transaction((tx) => write(tx, alice))
    await w.changes.number([0], 100, at)
    await w.database.transaction((tx) => write(tx, 'dan', alice, 'bob'))
    const { privacy } = postgresNotifyStore(w.database)
    const exported = (await privacy.exportUser(alice)) as Record<string, readonly unknown[]>
    assert.deepEqual([exported.state_change?.length, exported.outbox?.length], [3, 1])
    await privacy.eraseUser(alice)
    assert.deepEqual(await privacy.exportUser(alice), {})
    await w.changes.number([0], 100, at)
    const numbered = (await w.changes.read(0, 10, {})).changes.map(({ sequence, payload }) => [
      sequence,
      payload.user_id,
    ])
    assert.deepEqual(numbered, [
      [2, 'bob'],
      [4, 'carol'],
      [6, 'dan'],
      [8, 'bob'],
    ])
    assert.deepEqual((await walk(w.changes, 0, 1)).users, ['bob', 'carol', 'dan', 'bob'])
    await privacy.eraseUser('bob')
    assert.deepEqual((await walk(w.changes, 2, 3)).users, ['carol', 'dan'])
  })

  onBoth('a filter leaves out what does not match, and its cursor passes over it', async (w) => {
    await w.database.transaction((tx) =>
      writeAll(tx, [change('a'), change('b', 'delivered'), change('c'), change('d', 'delivered'), change('e')]),
    )
    await w.changes.number([0], 100, at)
    const first = await w.changes.read(0, 1, { state: 'delivered' })
    assert.deepEqual([usersOf(first.changes), first.through], [['b'], 2])
    const second = await w.changes.read(first.through, 1, { state: 'delivered' })
    assert.deepEqual([usersOf(second.changes), second.through], [['d'], 4])
    const third = await w.changes.read(second.through, 1, { state: 'delivered' })
    assert.deepEqual([third.changes, third.through], [[], 5])
    assert.equal((await w.changes.read(0, 10, { event: 'order.lost' })).changes.length, 0)
    assert.equal((await w.changes.read(0, 10, { channel: 'sms' })).changes.length, 0)
    assert.equal((await w.changes.read(0, 10, { channel: 'email', event: 'order.shipped' })).changes.length, 5)
  })

  onBoth('a change whose id was made long before it was committed is numbered too', async (w) => {
    await w.changes.number([0], 100, at)
    await w.database.query(
      `INSERT INTO notify.outbox (bucket, id, changes)
       VALUES (0, $1, ARRAY[($1, $1, now(), 'late', NULL, 'sent', NULL)::notify.change])`,
      [firstIdAt(Date.now() - day)],
    )
    await eventually(
      () => w.changes.number([0], 100, at),
      (numbered) => numbered === 1,
    )
    assert.deepEqual((await walk(w.changes, 0, 10)).users, ['late'])
  })

  onBoth('a purge removes what is old and says so, and an emptied log keeps its numbers', async (w) => {
    for (const user of ['a', 'b']) await w.database.transaction((tx) => write(tx, user))
    await w.changes.number([0], 100, at)
    await w.database.transaction((tx) => write(tx, 'c'))
    await w.changes.number([0], 100, at + day)
    assert.equal(await w.changes.purge(at + 1, false, 1), 1)
    assert.equal(await w.changes.purge(at + 1, false, 100), 1)
    assert.equal(await w.changes.purge(at + 1, false, 100), 0)
    const { removed, last, changes } = await w.changes.read(0, 10, {})
    assert.deepEqual([removed, last, usersOf(changes)], [2, 3, ['c']])
    assert.equal(await w.changes.purge(at + 2 * day, false, 100), 1)
    await w.database.transaction((tx) => write(tx, 'd'))
    await w.changes.number([0], 100, at + 2 * day)
    assert.deepEqual(
      (await w.changes.read(3, 10, {})).changes.map(({ sequence }) => sequence),
      [4],
    )
  })

  onBoth('of a transaction that is young a purge hides no change', async (w) => {
    await w.database.transaction((tx) => write(tx, 'old'))
    await w.changes.number([0], 100, at)
    await w.database.transaction((tx) => write(tx, 'a', 'b', 'c'))
    await w.changes.number([0], 100, at + day)
    assert.equal(await w.changes.purge(at + 1, false, 100), 1)
    const { removed, changes } = await w.changes.read(1, 10, {})
    assert.deepEqual([removed, usersOf(changes)], [1, ['a', 'b', 'c']])
  })

  onBoth('what is not published yet stays, however old it is, where it is to be published', async (w) => {
    for (const user of ['a', 'b']) await w.database.transaction((tx) => write(tx, user))
    await w.database.transaction((tx) => write(tx, 'c', 'd'))
    await w.changes.number([0], 100, at)
    assert.equal(await w.changes.purge(at + 30 * day, true, 100), 0)
    const holder = '00000000-0000-7000-8000-000000000001'
    await w.changes.acquire(holder, 1_000)
    await w.changes.recordPublished(holder, 3, 0)
    assert.equal(await w.changes.purge(at + 30 * day, true, 100), 2)
    assert.equal(await w.changes.purge(at + 30 * day, true, 100), 0, 'a part of a transaction is not published')
    await w.changes.recordPublished(holder, 4, 0)
    assert.equal(await w.changes.purge(at + 30 * day, true, 100), 1)
  })

  onBoth('one process publishes at a time, and what is published never goes back', async (w) => {
    const [one, two] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002']
    assert.equal(await w.changes.acquire(one, 60_000), 0)
    assert.equal(await w.changes.acquire(one, 60_000), 0)
    assert.equal(await w.changes.acquire(two, 60_000), undefined)
    await w.changes.recordPublished(one, 7, 0)
    assert.equal(await w.changes.acquire(two, 60_000), 7)
    await w.changes.recordPublished(one, 5, 0)
    assert.equal((await w.changes.positions()).published, 7)
    assert.equal(await w.changes.acquire(one, 60_000), undefined, 'a late word of the former holder frees nothing')
  })

  onBoth('a lease from before the clock of the database went back ends at once', async (w) => {
    const [one, two] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002']
    await w.changes.acquire(one, 60_000)
    await w.database.query("UPDATE notify.state_change_position SET lease_until = lease_until + interval '1 h'")
    assert.equal(await w.changes.acquire(two, 60_000), 0)
    assert.equal(await w.changes.acquire(one, 60_000), undefined)
  })

  testWith('postgresql', 'a transaction that commits late is read behind those that were read before', async () => {
    const w = await fresh(() => postgresDatabase(server ?? assert.fail('PostgreSQL did not start')))
    const [written, committing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const late = w.database.transaction(async (tx) => {
      await write(tx, 'late')
      written.resolve()
      await committing.promise
    })
    await written.promise
    await w.database.transaction((tx) => write(tx, 'early'))
    await w.changes.number([0], 100, at)
    const first = await walk(w.changes, 0, 10)
    assert.deepEqual(first.users, ['early'])
    committing.resolve()
    await late
    await w.changes.number([0], 100, at)
    assert.deepEqual((await walk(w.changes, first.cursor, 10)).users, ['late'])
    await w.database.close()
  })

  testWith(
    'postgresql',
    'whoever writes, numbers and reads at once: each reader reads all, once, in one order',
    async () => {
      const w = await fresh(() => postgresDatabase(server ?? assert.fail('PostgreSQL did not start'), 30))
      const [writers, rounds] = [8, 12]
      let left = writers
      let number = 0
      const expected: string[] = []
      // In every round each writer has written before any commits, and they commit in the opposite order.
      const writeAll = async () => {
        for (let round = 0; round < rounds; round++) {
          const barrier = Promise.withResolvers<void>()
          const turns = Array.from({ length: writers + 1 }, () => Promise.withResolvers<void>())
          left = writers
          turns[writers]?.resolve()
          await Promise.all(
            Array.from({ length: writers }, async (_, writer) => {
              const user = `user ${number++}`
              expected.push(user)
              await w.database.transaction(async (tx) => {
                await write(tx, user)
                if (--left === 0) barrier.resolve()
                await barrier.promise
                await turns[writer + 1]?.promise
              })
              turns[writer]?.resolve()
            }),
          )
        }
      }
      let isWriting = true
      const numberAll = async () => {
        while (isWriting) await w.changes.number([0], 3, at)
      }
      const readAll = async () => {
        const users: unknown[] = []
        let cursor = 0
        while (users.length < writers * rounds) {
          const walked = await walk(w.changes, cursor, 5)
          users.push(...walked.users)
          cursor = walked.cursor
        }
        return users
      }
      const reading = Promise.all([readAll(), readAll(), readAll()])
      const numbering = Promise.all([numberAll(), numberAll(), numberAll()])
      await writeAll()
      const read = await reading
      isWriting = false
      await numbering
      for (const users of read) {
        assert.deepEqual(users, read[0], 'one order for all')
        assert.deepEqual(users.toSorted(), expected.toSorted(), 'each once')
      }
      await w.database.close()
    },
  )
})
