import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, manualClock, silentLog } from '@gatehouse/kit'
import { defaultOptions } from '../../../src/config/options.ts'
import { OpenAttempt } from '../../../src/deliver/attempt.ts'
import { Preflight, type PreflightOptions } from '../../../src/deliver/calls/preflight.ts'
import type { Provider } from '../../../src/index.ts'
import { uncheckedMs } from '../../../src/model/erasure.ts'
import { deliveryIdOf, newId } from '../../../src/model/id.ts'
import type { ClaimedDelivery } from '../../../src/store/store.ts'
import { fresh, playBegins, target } from '../../support/play.ts'

const away = 1
const error = new Error('the node is away')
const provider: Provider = { name: 'post', channel: 'push', timeoutMs: 100, send: async () => [] }
/** Two providers: a call must be marked before it, where no other may follow it. */
const pool = { availability: () => ['post', 'other'].map((name) => ({ name, availableAt: 0 })) }

const claimed = [0, away, 2, away].map(
  (bucket): ClaimedDelivery => ({
    ...fresh,
    bucket,
    deliveryId: deliveryIdOf(newId(bucket), 'push'),
    message: { ...fresh.message, failoverOnTimeout: false },
  }),
)
const calls = claimed.map((each) => ({ attempt: new OpenAttempt(each), target, provider, isProbe: false }))

type Claims = Parameters<PreflightOptions['deliveries']['findStillClaimed']>[0]

/** What a store answers that reaches all buckets, or all but one. */
const answer = (of: Claims, failed: ReadonlyMap<number, unknown>) => ({
  ids: new Set(of.flatMap(({ bucket, deliveryId }) => (failed.has(bucket) ? [] : [deliveryId]))),
  failed,
})
const none = new Map<number, unknown>()
const failing = new Map<number, unknown>([[away, error]])

/** Checks calls of which the claims are so old that they are looked up; answers which may be made, and the warnings. */
async function check(deliveries: PreflightOptions['deliveries']) {
  const warnings: unknown[] = []
  const log = { ...silentLog, warn: (about: object, message: string) => warnings.push({ ...about, message }) }
  const clock = manualClock(playBegins)
  const settings = { channel: 'push', deliveries, options: defaultOptions, clock, log: log as unknown as Log } as const
  const isAllowed = await new Preflight(settings, pool).check(calls, performance.now() - uncheckedMs)
  return { isAllowed, warnings }
}

const unchecked = 'claimed deliveries could not be checked; they wait'
const unmarked = 'calls could not be marked; their deliveries wait'
const marks = (failed: ReadonlyMap<number, unknown>): PreflightOptions['deliveries']['markCalled'] => {
  return async (marked) =>
    answer(
      marked.map((mark) => mark.claimed),
      failed,
    )
}

test('calls of a bucket that can not be checked are not made; its error is logged once', async () => {
  const { isAllowed, warnings } = await check({
    findStillClaimed: async (of) => answer(of, failing),
    markCalled: marks(none),
  })
  assert.deepEqual(isAllowed, [true, false, true, false])
  assert.deepEqual(warnings, [{ err: error, channel: 'push', bucket: away, message: unchecked }])
})

test('calls of a bucket in which none can be marked are not made; its error is logged once', async () => {
  const { isAllowed, warnings } = await check({
    findStillClaimed: async (of) => answer(of, none),
    markCalled: marks(failing),
  })
  assert.deepEqual(isAllowed, [true, false, true, false])
  assert.deepEqual(warnings, [{ err: error, channel: 'push', bucket: away, message: unmarked }])
})

test('no call is made where nothing can be checked or marked; the error is logged', async () => {
  const fails = () => Promise.reject(error)
  const found = async (of: Claims) => answer(of, none)
  for (const [deliveries, message] of [
    [{ findStillClaimed: fails, markCalled: marks(none) }, unchecked],
    [{ findStillClaimed: found, markCalled: fails }, unmarked],
  ] as const) {
    const { isAllowed, warnings } = await check(deliveries as PreflightOptions['deliveries'])
    assert.deepEqual(isAllowed, [false, false, false, false])
    assert.deepEqual(warnings, [{ err: error, channel: 'push', message }])
  }
})
