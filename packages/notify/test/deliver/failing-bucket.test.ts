import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics, silentLog } from '@gatehouse/kit'
import { defaultOptions } from '../../src/config/options.ts'
import { createNotifyMetrics } from '../../src/context/metrics.ts'
import { createCompleter } from '../../src/deliver/completer.ts'
import type { Deliveries } from '../../src/store/store.ts'
import { fresh } from '../support/play.ts'

const claimSize = 2
const away = 1

test('steps of a bucket that fails hold up no other bucket, and are abandoned at last', async () => {
  const events: string[] = []
  const failed = new Map([[away, new Error('the node is away')]])
  const note = (buckets: readonly number[]) => {
    for (const bucket of buckets) if (bucket !== away) events.push(`recorded in ${bucket}`)
  }
  const deliveries: Pick<Deliveries, 'record' | 'release'> = {
    async record(steps) {
      note(steps.map(({ claimed }) => claimed.bucket))
      return { late: 0, deadDevices: [], failed }
    },
    async release(claims) {
      note(claims.map(({ bucket }) => bucket))
      return failed
    },
  }
  const completer = createCompleter({
    channel: 'email',
    deliveries: deliveries as Deliveries,
    options: { ...defaultOptions, claimSize, leaseMs: 1_000 },
    log: { ...silentLog, error: () => events.push('given up') },
    metrics: createNotifyMetrics(createMetrics()),
    hints: { onQueued() {}, onDeferred() {}, onChanged() {} },
  })
  const step = (bucket: number) => ({
    claimed: { ...fresh, bucket },
    at: 0,
    next: { kind: 'done' as const },
    what: 'sent' as const,
    detail: {},
    deadTokens: [],
  })
  for (let n = 0; n < 4 * claimSize; n++) completer.complete(step(away))
  for (let n = 0; n < 4 * claimSize; n++) completer.complete({ claimed: { ...fresh, bucket: away } })
  completer.complete(step(2))
  completer.complete({ claimed: { ...fresh, bucket: 3 } })
  await completer.waitForRoom()
  await completer.drain()
  assert.deepEqual(events.slice(0, 2).sort(), ['recorded in 2', 'recorded in 3'])
  assert.deepEqual([...new Set(events.slice(2))], ['given up'])
})
