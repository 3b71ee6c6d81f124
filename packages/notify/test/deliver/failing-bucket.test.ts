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

test('a step whose values are rejected keeps no other of its bucket from being recorded at once', async () => {
  const rejected = { ...fresh, deliveryId: 'rejected' }
  const recorded: string[] = []
  const dueIn: number[][] = []
  const errors: object[] = []
  const deliveries: Pick<Deliveries, 'record'> = {
    async record(steps) {
      const isRejected = steps.some(({ claimed }) => claimed.deliveryId === rejected.deliveryId)
      const own = steps.filter(({ claimed }) => claimed.bucket !== fresh.bucket || !isRejected)
      recorded.push(...own.map(({ claimed }) => claimed.deliveryId))
      const error = Object.assign(new Error('invalid byte sequence'), { code: '22021' })
      return { late: 0, deadDevices: [], failed: new Map(isRejected ? [[fresh.bucket, error]] : []) }
    },
  }
  const completer = createCompleter({
    channel: 'email',
    deliveries: deliveries as Deliveries,
    options: { ...defaultOptions, leaseMs: 60_000 },
    log: { ...silentLog, error: (about: object) => errors.push(about) },
    metrics: createNotifyMetrics(createMetrics()),
    hints: { onQueued: (_, buckets) => dueIn.push([...buckets]), onDeferred() {}, onChanged() {} },
  })
  const step = (claimed: typeof fresh) => ({
    ...{ claimed, at: 0, what: 'failed' as const, detail: {}, deadTokens: [] },
    next: {
      ...{ kind: 'again' as const, dueAt: 5, failures: 1 },
      left: { targets: claimed.message.targets, partlyAccepted: false },
    },
  })
  const others = ['a', 'b', 'c', 'd', 'e'].map((deliveryId) => ({ ...fresh, deliveryId }))
  for (const each of [...others.slice(0, 3), rejected, ...others.slice(3)]) completer.complete(step(each))
  completer.complete(step({ ...fresh, deliveryId: 'elsewhere', bucket: 2 }))
  await completer.drain()
  assert.deepEqual(recorded.sort(), ['a', 'b', 'c', 'd', 'e', 'elsewhere'])
  assert.equal(dueIn.flat().filter((bucket) => bucket === fresh.bucket).length, others.length, 'each is hinted at')
  assert.deepEqual(
    errors.map((about) => (about as { bucket?: number }).bucket),
    [fresh.bucket],
  )
})
