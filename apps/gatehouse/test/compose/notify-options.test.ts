import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultOptions, defaultPriorityWeights } from '@gatehouse/notify'
import { notifyOptions, priorityWeights } from '../../src/compose/notify-options.ts'

test('caps, pauses, breakers and workers follow the file, with defaults for the rest', () => {
  const options = notifyOptions({
    cap: 3,
    channel_caps: { sms: 1 },
    priority_caps: { low: 2 },
    attempts: 4,
    push_attempts: 5,
    push_patience_seconds: 60,
    aggregation_seconds: 5,
    aggregation_threshold: 1,
    morning_spread_seconds: 30,
    concurrency: { sms: 2, 'in-app': 3 },
    backoff: { first_seconds: 0.05, max_seconds: 10 },
    breaker: { window_seconds: 10, failure_rate: 0.2, open_seconds: 2 },
    zone: 'Europe/Berlin',
    locale: 'de',
    suppression_days: { bounced: 30 },
    retention: { log_days: 1 },
    buckets: { sweep_seconds: 30, lease_seconds: 20 },
  })
  const { inboxStreams: _, ...others } = options
  assert.deepEqual(others, {
    caps: { total: 3, channels: { sms: 1 }, priorities: { low: 2 } },
    attempts: 4,
    pushAttempts: 5,
    pushPatienceMs: 60_000,
    aggregationDelayMs: 5_000,
    aggregationThreshold: 1,
    morningSpreadMs: 30_000,
    concurrency: { ...defaultOptions.concurrency, sms: 2, 'in-app': 3 },
    backoff: { baseMs: 50, factor: defaultOptions.backoff.factor, maxMs: 10_000 },
    breaker: { ...defaultOptions.breaker, windowMs: 10_000, failureRate: 0.2, openMs: 2_000 },
    zone: 'Europe/Berlin',
    locale: 'de',
    suppressionDays: { bounced: 30 },
    retention: { ...defaultOptions.retention, logDays: 1 },
    sweepMs: 30_000,
    bucketLeaseMs: 20_000,
  })
  const { caps, concurrency, backoff, breaker, retention } = notifyOptions()
  assert.deepEqual(
    [caps, concurrency, backoff, breaker, retention],
    [
      defaultOptions.caps,
      defaultOptions.concurrency,
      defaultOptions.backoff,
      defaultOptions.breaker,
      defaultOptions.retention,
    ],
  )
})

test('tracking follows the file, on every channel or by channel, with link and token lifetimes', () => {
  for (const [declared, tracking] of [
    [true, 'on'],
    [false, 'off'],
    ['clicks', 'clicks'],
    [
      { sms: 'clicks', email: 'on' },
      { sms: 'clicks', email: 'on' },
    ],
  ] as const)
    assert.deepEqual(notifyOptions({ tracking: declared }).tracking, tracking)
  const { retention, receiptDays, tracking } = notifyOptions({ retention: { link_days: 7 }, receipt_days: 3 })
  assert.deepEqual([retention?.linkDays, receiptDays, tracking], [7, 3, undefined])
  assert.deepEqual(notifyOptions({ tracked_hosts: ['shop.example'] }).trackedHosts, ['shop.example'])
})

test('a priority has the weight that the file gives it, and its default where it gives none', () => {
  assert.deepEqual(priorityWeights({ priority_weights: { low: 3 } }), { ...defaultPriorityWeights, low: 3 })
  assert.deepEqual(priorityWeights(), defaultPriorityWeights)
})
