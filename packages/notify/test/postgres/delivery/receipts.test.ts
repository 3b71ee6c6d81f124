import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import type { ProviderReport } from '../../../src/store/store.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
} from '../../support/engine/engine.ts'
import { eventually, seedEventType, setup } from '../../support/setup.ts'

describe('receipts of two processes on one PostgreSQL', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  const withPush = (
    title: string,
    work: (
      about: { deliveryId: string; stores: ReadonlyArray<ReturnType<typeof postgresNotifyStore>> } & Push,
    ) => Promise<void>,
  ) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      await migrateNotify(database)
      const s = await setup({ database })
      try {
        await seedEventType(s)
        const event = { event: 'order.shipped', user_id: 'alice', data: {}, channels: ['push'] }
        const { body } = await s.call('POST', '/v1/notify', event)
        const record = async () => (await s.call('GET', `/v1/notifications/${body.id}`)).body
        await eventually(record, ({ deliveries }) => deliveries[0].state === 'sent')
        const stores = [postgresNotifyStore(database), postgresNotifyStore(database)]
        await work({ deliveryId: body.deliveries[0].id, stores, record, now: s.clock.now() })
      } finally {
        await s.close()
      }
    })

  withPush(
    'the same receipt in forty requests at once is counted once',
    async ({ deliveryId, stores, record, now }) => {
      const receipt = receiptOf(deliveryId, now, 'clicked', 'https://shop.example')
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, n) => stores[n % 2]?.deliveries.report([receipt], now)),
      )
      assert.equal(outcomes.flat().filter((outcome) => outcome === 'changed').length, 1)
      const { timeline, deliveries } = await record()
      assert.equal(timeline.filter(({ what }: { what: string }) => what === 'clicked').length, 1)
      assert.equal(deliveries[0].state, 'clicked')
    },
  )

  withPush('receipts that race one another end in the furthest state', async ({ deliveryId, stores, record, now }) => {
    const receipts = (['delivered', 'opened', 'clicked'] as const).flatMap((report) =>
      Array.from({ length: 10 }, () => receiptOf(deliveryId, now, report)),
    )
    await Promise.all(receipts.map((receipt, n) => stores[n % 2]?.deliveries.report([receipt], now)))
    const { timeline, deliveries } = await record()
    const reports = timeline.filter(({ detail }: { detail?: { provider?: string } }) => detail?.provider === 'receipts')
    assert.deepEqual([deliveries[0].state, reports.length], ['clicked', 3])
  })
})

interface Push {
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever JSON came back; assertions say what it must be
  record(): Promise<any>
  readonly now: number
}

function receiptOf(deliveryId: string, at: number, report: ProviderReport['report'], link?: string): ProviderReport {
  const about = { provider: 'receipts', eventId: `${report}:${deliveryId}`, deliveryId, report, at, byRecipient: true }
  return { ...about, ...(link === undefined ? {} : { link }) }
}
