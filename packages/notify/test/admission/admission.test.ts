import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type AdmissionState, decide } from '../../src/admission/admission.ts'
import type { Counters } from '../../src/admission/caps.ts'
import type { PlannedNotification } from '../../src/admission/planned.ts'
import { channels } from '../../src/model/channel.ts'
import {
  bucketOfId,
  bucketOfUser,
  channelOf,
  deliveryIdOf,
  newId,
  newIdOfUser,
  notificationIdOf,
} from '../../src/model/id.ts'
import { composeDedupKey } from '../../src/model/notification/dedup-key.ts'

describe('admission', () => {
  const planned = (n: number, user: string, key: string | undefined, critical: boolean): PlannedNotification => ({
    id: newId(0),
    userId: user,
    event: 'e',
    data: {},
    priority: critical ? 'critical' : 'normal',
    acceptedAt: n,
    sensitive: false,
    decisions: [],
    stored: 'no',
    deliveries: (['push', 'email'] as const).map((channel) => ({
      channel,
      ...(key === undefined ? {} : { logKey: composeDedupKey('e', key, user, channel) }),
      plan: { kind: 'send', message: { body: '', locale: 'en', targets: [] } },
    })),
  })

  test('batches of any size admit one notification a key, keep caps and pass critical events', () => {
    const event = fc.record({
      user: fc.constantFrom('ann', 'bob'),
      key: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { nil: undefined }),
      critical: fc.boolean(),
      gapMs: fc.constantFrom(0, 1_000, 50_000),
    })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), fc.integer({ min: 0, max: 4 }), (events, cap) => {
        const rules = { caps: { total: cap, channels: {}, priorities: {} }, windowMs: 86_400 }
        const state: AdmissionState = { counters: new Map<string, Counters>(), logged: new Map() }
        const usedKeys = new Set<string>()
        const opened = new Map<string, { since: number; used: number }>()
        let now = 0
        for (const { user, key, critical, gapMs } of events) {
          now += gapMs
          const [decided] = decide([planned(now, user, key, critical)], state, rules, now)
          const outcomes = new Set(decided?.deliveries.map(({ outcome }) => outcome))
          assert.equal(outcomes.size, 1, 'both channels share their fate')
          const kept = opened.get(user)
          const window = kept && now < kept.since + rules.windowMs ? kept : { since: now, used: 0 }
          const isDuplicate = key !== undefined && usedKeys.has(`${user} ${key}`)
          const expected = isDuplicate ? 'duplicate' : critical || window.used < cap ? 'queued' : 'capped'
          assert.ok(outcomes.has(expected), `${[...outcomes]} instead of ${expected}`)
          if (expected === 'queued' && key !== undefined) usedKeys.add(`${user} ${key}`)
          if (expected === 'queued' && !critical) opened.set(user, { since: window.since, used: window.used + 1 })
        }
      }),
    )
  })

  test('a batch decided at once gets the same decisions as its events one by one', () => {
    const event = fc.record({
      user: fc.constantFrom('ann', 'bob'),
      key: fc.constantFrom('a', 'b', 'c'),
      critical: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), (events) => {
        const rules = { caps: { total: 2, channels: { email: 1 }, priorities: {} }, windowMs: 1_000 }
        const list = events.map(({ user, key, critical }, n) => planned(n, user, key, critical))
        const fresh = () => ({ counters: new Map<string, Counters>(), logged: new Map() })
        const one = fresh()
        const single = list.flatMap((each) => decide([each], one, rules, 0))
        assert.deepEqual(decide(list, fresh(), rules, 0), single)
      }),
    )
  })

  test('what was stored before is no duplicate of itself, and uses its key no second time', () => {
    const rules = { caps: { total: 9, channels: {}, priorities: {} }, windowMs: 1_000 }
    const state = { counters: new Map<string, Counters>(), logged: new Map() }
    const first = planned(0, 'ann', 'a', false)
    decide([first], state, rules, 0)
    const [own, others, repeated] = decide(
      [
        { ...first, stored: 'deliveries', free: 'fallback' },
        { ...planned(0, 'ann', 'a', false), stored: 'deliveries' },
        first,
      ],
      state,
      rules,
      0,
    )
    const reported = (decision: typeof own) => decision?.deliveries.map(({ outcome, logKey }) => [outcome, logKey])
    assert.deepEqual(reported(own), Array(2).fill(['queued', undefined]))
    const duplicates = first.deliveries.map(({ logKey }) => ['duplicate', logKey])
    assert.deepEqual(reported(others), duplicates)
    assert.deepEqual(reported(repeated), duplicates, 'an event that is admitted twice is admitted once')
    assert.equal(repeated?.answerId, first.id)
  })
})

describe('ids', () => {
  test('a delivery id contains its notification and channel, and leads to its bucket', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom(1, 16, 256, 32_767), (user, buckets) => {
        const bucket = bucketOfUser(user, buckets)
        const id = newIdOfUser(user)
        assert.ok(bucket >= 0 && bucket < buckets)
        const deliveries = channels.map((channel) => deliveryIdOf(id, channel))
        assert.equal(new Set([id, ...deliveries]).size, 5)
        for (const [index, delivery] of deliveries.entries()) {
          assert.equal(notificationIdOf(delivery), id)
          assert.equal(channelOf(delivery), channels[index])
          assert.equal(bucketOfId(delivery, buckets), bucket)
        }
      }),
    )
  })

  test('a dedup key is composed of event, key, user and channel, and stays if already composed', () => {
    assert.equal(composeDedupKey('e', 'k', 'u', 'push'), 'e:k:u:push')
    assert.equal(composeDedupKey('e', 'e:k:u:push', 'u', 'push'), 'e:k:u:push')
    assert.equal(composeDedupKey('e', 'e:k:u:push', 'u', 'email'), 'e:e:k:u:push:u:email')
  })
})
