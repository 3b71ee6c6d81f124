import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Readiness } from '../../src/http/health.ts'
import { combineReadiness } from '../../src/supervisor/worker-readiness.ts'

const ready: Readiness = { status: 'ready', engines: { database: 'ok', counters: 'ok' } }
const unavailable: Readiness = { status: 'unavailable', engines: { database: 'does not answer', counters: 'ok' } }
const degraded: Readiness = { status: 'degraded', engines: { database: 'ok', counters: 'does not answer' } }

const combine = (...all: Array<Readiness | undefined>) =>
  combineReadiness(all.map((readiness, index) => ({ worker: index + 1, readiness })))

test('workers that are all ready are ready together', () => {
  assert.deepEqual(combine(ready, ready), {
    status: 'ready',
    engines: { database: 'ok', counters: 'ok', workers: 'ok' },
  })
})

test('a worker that does not respond degrades the readiness and is named', () => {
  assert.deepEqual(combine(ready, undefined, ready), {
    status: 'degraded',
    engines: { database: 'ok', counters: 'ok', workers: '2 of 3 do not respond' },
  })
})

test('an engine that some workers reach degrades, one that none reaches is unavailable', () => {
  assert.deepEqual(combine(ready, unavailable).engines.database, 'answers in 1 of 2 workers')
  assert.equal(combine(ready, unavailable).status, 'degraded')
  assert.equal(combine(unavailable, unavailable).status, 'unavailable')
  assert.equal(combine(unavailable, undefined).status, 'unavailable')
  assert.equal(combine(undefined, undefined).status, 'unavailable')
  assert.equal(combine(degraded, degraded).status, 'degraded')
})
