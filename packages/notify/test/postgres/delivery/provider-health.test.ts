import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '@gatehouse/kit'
import { testWith } from '@gatehouse/testing'
import fc from 'fast-check'
import { type Health, nextHealth } from '../../../src/model/delivery/breaker.ts'
import {
  type DatabaseServer,
  migrateNotify,
  postgresDatabase,
  postgresNotifyStore,
  startDatabaseServer,
} from '../../support/engine/engine.ts'
import { createBarrier, withBarrier } from '../../support/processes/barriers.ts'

const rules = { windowMs: 10_000, minCalls: 20, failureRate: 0.5, openMs: 1_000, maxOpenMs: 8_000 }
const start = Date.UTC(2026, 0, 1)

describe('what processes report of a provider', () => {
  let server: DatabaseServer | undefined
  let database: Database
  before(async () => {
    server = await startDatabaseServer().catch(() => undefined)
    if (!server) return
    database = await postgresDatabase(server)
    await migrateNotify(database)
  })
  after(async () => {
    await database?.close()
    await server?.stop()
  })

  const healthOf = async (provider: string): Promise<Health | undefined> => {
    const [row] = (await postgresNotifyStore(database).providerPauses.list()).filter(
      (each) => each.provider === provider,
    )
    if (!row) return undefined
    const { rows } = await database.query<{ openings: number }>(
      'SELECT openings FROM notify.provider_health WHERE provider = $1',
      [provider],
    )
    const { since, calls, failures, openUntil } = row
    return {
      since,
      calls,
      failures,
      openings: rows[0]?.openings ?? 0,
      ...(openUntil === undefined ? {} : { openUntil }),
    }
  }

  testWith('postgresql', 'is what its breaker makes of their calls, one after the other', async () => {
    const { providerHealth } = postgresNotifyStore(database)
    const report = fc.record({
      calls: fc.integer({ min: 1, max: 15 }),
      failing: fc.constantFrom(0, 0, 0.5, 1),
      pauseMs: fc.constantFrom(0, 1, 400, 1_000, 9_999, 10_000),
    })
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(report, { minLength: 1, maxLength: 20 }), async (reports) => {
        const provider = `provider-${run++}`
        let now = start
        let health: Health | undefined
        for (const { calls, failing, pauseMs } of reports) {
          now += pauseMs
          const counted = { calls, failures: Math.floor(calls * failing) }
          const known = health ?? { since: now, calls: 0, failures: 0, openings: 0 }
          const next = nextHealth(known, counted, rules, now)
          const isOpened = await providerHealth.report(provider, counted, rules, now)
          assert.equal(isOpened, known.openUntil === undefined && next.openUntil !== undefined)
          health = next
        }
        assert.deepEqual(await healthOf(provider), health)
      }),
      { numRuns: 60 },
    )
  })

  testWith('postgresql', 'is counted in full when they report at once', async () => {
    const { providerHealth } = postgresNotifyStore(database)
    const reports = Array.from({ length: 40 }, (_, n) => ({ calls: 10, failures: n % 4 === 0 ? 1 : 0 }))
    await Promise.all(reports.map((counted) => providerHealth.report('busy', counted, rules, start)))
    assert.deepEqual(await healthOf('busy'), { since: start, calls: 400, failures: 10, openings: 0 })
  })

  for (const failures of [0, 1])
    testWith('postgresql', `waits for none that stops between its statements, with ${failures} failures`, async () => {
      const provider = `stopped-${failures}`
      const { providerHealth } = postgresNotifyStore(database)
      await providerHealth.report(provider, { calls: 1, failures: 0 }, rules, start)
      for (let place = 0, last = Number.POSITIVE_INFINITY; place <= last; place++) {
        const barrier = createBarrier(place)
        const stopped = postgresNotifyStore(withBarrier(barrier, database)).providerHealth
        const reported = stopped.report(provider, { calls: 10, failures }, rules, start)
        await Promise.race([barrier.reached, reported])
        const calls = (await healthOf(provider))?.calls ?? 0
        await providerHealth.report(provider, { calls: 10, failures: 0 }, rules, start)
        assert.equal((await healthOf(provider))?.calls, calls + 10, `one was stopped before statement ${place}`)
        barrier.lift()
        await reported
        last = barrier.passes
        assert.equal((await healthOf(provider))?.calls, calls + (place < barrier.passes ? 20 : 10))
      }
    })

  testWith('postgresql', 'opens its breaker, whatever others add between its statements', async () => {
    for (let place = 0, last = Number.POSITIVE_INFINITY; place <= last; place++) {
      const provider = `failing-${place}`
      const { providerHealth } = postgresNotifyStore(database)
      await providerHealth.report(provider, { calls: 1, failures: 0 }, rules, start)
      const barrier = createBarrier(place)
      const failing = postgresNotifyStore(withBarrier(barrier, database)).providerHealth
      const reported = failing.report(provider, { calls: 30, failures: 30 }, rules, start)
      await Promise.race([barrier.reached, reported])
      await providerHealth.report(provider, { calls: 2, failures: 0 }, rules, start)
      barrier.lift()
      assert.equal(await reported, true, `it was stopped before statement ${place}`)
      assert.equal(barrier.passes, 3, 'none of them is repeated')
      assert.equal((await healthOf(provider))?.openUntil, start + rules.openMs)
      last = barrier.passes
    }
  })

  testWith('postgresql', 'is over, as a probe is, where a clock that was ahead put it off', async () => {
    const { providerHealth, providerPauses } = postgresNotifyStore(database)
    const hour = 3_600_000
    const { openMs, maxOpenMs } = rules
    const openAt = async (now: number) => (await providerHealth.open(now, maxOpenMs)).get('ahead')
    await providerHealth.report('ahead', { calls: 30, failures: 30 }, rules, start + hour)
    assert.equal(await openAt(start + hour), start + hour + openMs)
    assert.equal(await providerHealth.probe('ahead', start + hour + openMs, 100, maxOpenMs), true)
    assert.equal(await openAt(start), start, 'neither counts')
    assert.equal(await providerHealth.probe('ahead', start, 100, maxOpenMs), true)
    assert.equal(await providerHealth.probe('ahead', start, 100, maxOpenMs), false, 'one at a time')
    assert.equal(await openAt(start), start + 100)
    await providerPauses.set('ahead', start + hour, start)
    assert.equal(await openAt(start), start + 60_000, 'a pause is as long as it was chosen')
    await providerPauses.set('ahead', undefined, start)
    assert.equal(await providerHealth.report('ahead', { calls: 1, failures: 1 }, rules, start), false)
    assert.equal(await openAt(start), start + 2 * openMs, 'the probe failed')
  })
})
