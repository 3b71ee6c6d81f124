import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import { createAdmission } from '../../../src/admission/admission.ts'
import { eventTypeOf } from '../../../src/catalog/declaration.ts'
import { newId, newIdOfUser } from '../../../src/model/id.ts'
import type { NotifyStore } from '../../../src/store/store.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
} from '../../support/engine/engine.ts'
import { createBarrier, withBarrier } from '../../support/processes/barriers.ts'
import { claimDue } from '../../support/processes/claims.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const rules = { caps: { total: 1_000, channels: {}, priorities: {} }, windowMs: 86_400_000 }
const marker = 'the words of alice'

/** Something of alice that moves from one table to another: what is prepared, and then the step that races. */
type Move = (store: NotifyStore) => Promise<() => Promise<unknown>>

const moves: Readonly<Record<string, Move>> = {
  'a parked event that is scheduled': async ({ intake, parked }) => {
    const request = { event: 'order.shipped', user_id: 'alice', data: { text: marker } }
    const parkable = [{ key: 's:1', place: 1, request, occurredAt: now }]
    await intake.acquireRates([{ event: request.event, count: 0, parkable, rate: { limit: 0, perSeconds: 1 } }], now)
    return () => parked.release(0, { event: request.event, rate: undefined }, 10, now)
  },
  'a delivery that becomes a dead letter': async (store) => {
    await admit(store)
    const [claimed = assert.fail()] = await claimDue(store.deliveries, { channel: 'email', now })
    const next = { kind: 'dead', cause: 'permanent', detail: 'no', fallback: false } as const
    return () => store.deliveries.record([{ claimed, at: now, what: 'dead_letter', detail: {}, deadTokens: [], next }])
  },
  'a dead letter that is replayed': async (store) => {
    const move = await moves['a delivery that becomes a dead letter']?.(store)
    await move?.()
    return () => store.deadLetters.replay({}, 10, now)
  },
}

async function admit({ intake }: NotifyStore): Promise<void> {
  const targets = [{ id: 'email', address: 'alice@example.com' }]
  const message = { body: marker, locale: 'en', targets }
  const notification = {
    id: newIdOfUser('alice'),
    userId: 'alice',
    event: 'order.shipped',
    data: {},
    priority: 'normal',
    acceptedAt: now,
    sensitive: false,
    decisions: [],
    deliveries: [{ channel: 'email', logKey: newId(0), plan: { kind: 'send', message } }],
    stored: 'no',
  } as const
  await intake.admit([{ notifications: [notification] }], createAdmission(rules, now))
}

describe('an export', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  for (const [name, move] of Object.entries(moves))
    testWith('postgresql', `has ${name} meanwhile`, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database)
      const store = postgresNotifyStore(database)
      try {
        await store.eventTypes.put(eventTypeOf('order.shipped', { channels: ['email'] }, 3), now)
        for (let place = 0, last = Number.POSITIVE_INFINITY; place <= last; place++) {
          const step = await move(store)
          const barrier = createBarrier(place)
          const exporting = postgresNotifyStore(withBarrier(barrier, database)).privacy.exportUser('alice')
          await Promise.race([barrier.reached, exporting])
          await step()
          barrier.lift()
          const exported = JSON.stringify(await exporting)
          assert.ok(exported.includes(marker), `the export was stopped before statement ${place}: ${exported}`)
          last = barrier.passes
          await store.privacy.eraseUser('alice')
        }
      } finally {
        await database.close()
      }
    })
})
