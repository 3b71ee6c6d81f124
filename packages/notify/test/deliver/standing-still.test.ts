import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, manualClock, silentLog } from '@gatehouse/kit'
import { defaultOptions } from '../../src/config/options.ts'
import { createNotifyMetrics } from '../../src/context/metrics.ts'
import { OpenAttempt } from '../../src/deliver/attempt.ts'
import { Concurrency } from '../../src/deliver/concurrency.ts'
import { Dispatcher } from '../../src/deliver/dispatcher.ts'
import { ProviderPool } from '../../src/deliver/providers/provider-pool.ts'
import type { Provider } from '../../src/index.ts'
import { fresh, playBegins, target } from '../support/play.ts'

const leaseMs = 1_500

/** Dispatches a delivery in a process that stands still for a while between the checks and the call. */
async function dispatchAfter(stillMs: number): Promise<{ readonly calls: number; readonly isMade: boolean }> {
  let calls = 0
  const provider: Provider = {
    name: 'push',
    channel: 'push',
    timeoutMs: 100,
    send: async (messages) => {
      calls++
      return messages.map(() => ({ kind: 'accepted' }))
    },
  }
  const clock = manualClock(playBegins)
  const health = {
    open: async () => new Map(),
    order: async () => [],
    report: async () => false,
    probe: async () => true,
  }
  const pool = new ProviderPool([provider], health, defaultOptions.breaker, clock)
  const dispatcher = new Dispatcher(
    {
      channel: 'push',
      activity: { recordCall: () => {} },
      deliveries: {
        findStillClaimed: async () => ({ ids: new Set([fresh.deliveryId]), failed: new Map() }),
        markCalled: async () => ({ ids: new Set(), failed: new Map() }),
      },
      options: { ...defaultOptions, leaseMs },
      clock,
      log: silentLog,
      metrics: createNotifyMetrics(createMetrics()),
      completeMessages: async (messages) => {
        const until = performance.now() + stillMs
        while (performance.now() < until);
        return messages
      },
    },
    { pool, concurrency: new Concurrency(1, (error) => assert.fail(String(error))), waitForRoom: async () => {} },
  )
  const attempt = new OpenAttempt(fresh)
  const claimedAt = performance.now()
  dispatcher.dispatch([{ attempt, target, provider, isProbe: false }], { claimedAt, leaseEndsAt: claimedAt + leaseMs })
  const { isMade } = await attempt.done
  return { calls, isMade }
}

test('a process that stood still until its lease had little time left makes no call', async () => {
  assert.deepEqual(await dispatchAfter(0), { calls: 1, isMade: true })
  assert.deepEqual(await dispatchAfter(leaseMs), { calls: 0, isMade: false })
})
