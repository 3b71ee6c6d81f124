import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { testWith } from '@gatehouse/testing'
import type { NotifyStore } from '../../src/store/store.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
} from '../support/engine/engine.ts'

const text = { templateId: 'order', channel: 'sms', locale: 'en', body: 'One' } as const
const now = Date.UTC(2026, 5, 1)
const manyAtOnce = Array.from({ length: 8 }, (_, n) => n)

describe('templates on PostgreSQL, changed by several at once', () => {
  let server: DatabaseServer | undefined
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
  })
  after(() => server?.stop())

  const withStore = (title: string, body: (store: NotifyStore) => Promise<void>) =>
    testWith('postgresql', title, async () => {
      const database = await postgresDatabase(server ?? assert.fail('PostgreSQL did not start'))
      try {
        await migrateNotify(database)
        await body(postgresNotifyStore(database))
      } finally {
        await database.close()
      }
    })

  withStore('of many who store sample data as they read it, one wins', async ({ templateSamples }) => {
    const put = (n: number, expected: readonly { name: string; data: object }[]) =>
      templateSamples.put('order', [{ name: `sample ${n}`, data: { n } }], now, expected as never)
    const first = await Promise.all(manyAtOnce.map((n) => put(n, [])))
    assert.equal(first.filter(Boolean).length, 1)
    const stored = await templateSamples.find('order')
    assert.equal(stored[0]?.name, `sample ${first.indexOf(true)}`)
    const second = await Promise.all(manyAtOnce.map((n) => put(n + 100, stored)))
    assert.equal(second.filter(Boolean).length, 1)
    assert.equal(await templateSamples.put('order', [], now), true, 'whatever is stored')
    assert.deepEqual(await templateSamples.find('order'), [])
  })

  withStore(
    'versions have their own numbers, authors and comments, however many are written',
    async ({ templates }) => {
      const saved = await Promise.all(
        manyAtOnce.map((n) => templates.save({ ...text, createdBy: `author ${n}`, comment: `for ${n}` }, false, now)),
      )
      assert.deepEqual(saved.toSorted(), [1, 2, 3, 4, 5, 6, 7, 8])
      const versions = await templates.listVersions('order')
      for (const n of manyAtOnce) {
        const version = versions.find((each) => each.version === saved[n])
        assert.deepEqual([version?.createdBy, version?.comment, version?.createdAt], [`author ${n}`, `for ${n}`, now])
      }
      const expected = { latest: 8, published: undefined }
      const published = await Promise.all(manyAtOnce.map((n) => templates.publish(text, n + 1, now, expected)))
      assert.equal(published.filter(Boolean).length, 1)
      const [summary] = await templates.listSummaries()
      assert.deepEqual([summary?.latest, summary?.version], [8, published.indexOf(true) + 1])
    },
  )
})
