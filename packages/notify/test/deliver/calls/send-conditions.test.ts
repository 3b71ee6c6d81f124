import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deferOrExpire } from '../../../src/deliver/calls/send-conditions.ts'
import type { QuietHours } from '../../../src/model/delivery/quiet-hours.ts'
import { quietUntil } from '../../../src/model/delivery/quiet-hours.ts'
import {
  anyPlay,
  countedKinds,
  fresh,
  limited,
  type Play,
  play,
  policy,
  reason,
  sendConditions,
} from '../../support/play.ts'

const hour = 3_600_000
const evening = Date.parse('2026-06-01T21:55:00Z')
const night: QuietHours = { start: '22:00', end: '08:00' }
const rules = { ...sendConditions, morningSpreadMs: 0 }

const time = fc
  .integer({ min: 0, max: 1439 })
  .map((n) => `${String(Math.floor(n / 60)).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}`)
const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe')
const day = { min: new Date('2026-01-01'), max: new Date('2027-01-01'), noInvalidDate: true }

/** A delivery that begins at any time of the year, to a user with any quiet hours, that may expire. */
const anySending: fc.Arbitrary<Play> = fc
  .record({
    play: anyPlay,
    quietHours: fc.record({ start: time, end: time, zone }),
    begun: fc.date(day).map((date) => date.getTime()),
    ttlMs: fc.option(fc.integer({ min: 1, max: 48 * hour }), { nil: undefined }),
    critical: fc.boolean(),
    slotMs: fc.nat(60_000),
    callMs: fc.nat(30_000),
  })
  .map(({ play: base, quietHours, begun, ttlMs, critical, slotMs, callMs }) => ({
    ...base,
    begun,
    slotMs,
    callMs,
    delivery: { quietHours, critical, ...(ttlMs === undefined ? {} : { expiresAt: begun + ttlMs }) },
  }))

/** How long a day has no quiet hours. */
const openMs = ({ start, end }: QuietHours = { start: '00:00', end: '00:00' }) => {
  const minuteOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
  return ((minuteOf(start) - minuteOf(end) + 1_439) % 1_440) * 60_000 + 60_000
}

/** Two minutes a day, of which a slot takes a part. */
const twoMinutesOfDay: Play = {
  providers: ['a'],
  answers: [{ kind: 'transient', reason, retryAfterMs: 0 }],
  random: 0.836975,
  restarts: false,
  begun: Date.parse('2026-01-01T00:00:00Z'),
  slotMs: 19_563,
  delivery: { quietHours: { start: '00:01', end: '23:59', zone: 'UTC' }, critical: false },
}

/** Between the quiet hours of one day and of the next there is less time than a morning is spread over. */
const oneMinuteOfDay: Play = {
  providers: ['a'],
  answers: [{ kind: 'accepted' }],
  random: 0.9,
  restarts: false,
  begun: evening,
  delivery: { quietHours: { start: '08:01', end: '08:00' } },
}

test('no attempt is made in quiet hours or after expiry, and every delivery ends', async () => {
  await fc.assert(
    fc.asyncProperty(anySending, async (sending) => {
      const { calls, end } = await play(sending)
      const { quietHours, critical, expiresAt = Number.POSITIVE_INFINITY } = sending.delivery ?? {}
      // Nobody can send between quiet hours that begin again before a slot is free.
      if ((sending.slotMs ?? 0) * 2 < openMs(quietHours)) assert.notEqual(end, 'endless')
      for (const { at } of calls) {
        assert.ok(at < expiresAt, `it was sent ${at - expiresAt} ms after it had expired`)
        if (critical || !quietHours) continue
        assert.equal(quietUntil(quietHours, quietHours.zone ?? 'UTC', at), undefined, 'it was sent in quiet hours')
      }
    }),
    { numRuns: 200, examples: [[oneMinuteOfDay], [twoMinutesOfDay]] },
  )
})

test('waiting for the end of quiet hours uses neither attempts nor patience', async () => {
  const answers = [
    limited(60_000),
    { kind: 'transient', reason, retryAfterMs: 300_000 } as const,
    ...Array.from({ length: 30 }, () => limited(60_000)),
    { kind: 'accepted' } as const,
  ]
  const { calls, end, deferredCount } = await play({
    providers: ['a'],
    answers,
    random: 0,
    restarts: false,
    begun: evening,
    delivery: { quietHours: night },
  })
  assert.deepEqual([end, deferredCount, calls.length], ['done', 1, answers.length])
  assert.equal(calls.filter(({ result }) => countedKinds.has(result.kind)).length, 1)
  assert.ok((calls[2]?.at ?? 0) - (calls[1]?.at ?? 0) >= 10 * hour)
  assert.ok(policy.patienceMs < 10 * hour)
})

test('a delivery resumes its wait for providers where quiet hours interrupted it', () => {
  const waitsSince = evening - 60_000
  const now = evening + 10 * 60_000
  const claimed = { ...fresh, quietHours: night, crashes: 2, failures: 1, message: { ...fresh.message, waitsSince } }
  const next = deferOrExpire(claimed, rules, now, 0)?.next
  assert.ok(next?.kind === 'again')
  const { dueAt, failures, crashes } = next
  assert.equal(new Date(dueAt).toISOString(), '2026-06-02T08:00:00.000Z')
  assert.deepEqual([failures, crashes, next.left.waitsSince], [1, 2, dueAt - 11 * 60_000])
})

test('a delivery that expires in quiet hours is claimed when it does, and ends', async () => {
  const { calls, end, endedAt } = await play({
    providers: ['a'],
    answers: [{ kind: 'accepted' }],
    random: 0.9,
    restarts: false,
    begun: evening + hour,
    delivery: { quietHours: night, expiresAt: evening + 2 * hour },
  })
  assert.deepEqual([calls, end, endedAt], [[], 'expired', evening + 2 * hour])
})

test('a user without a known zone has quiet hours in the configured one', () => {
  const claimed = { ...fresh, quietHours: night }
  const at = Date.parse('2026-06-01T14:00:00Z')
  assert.equal(deferOrExpire(claimed, rules, at, 0), undefined)
  const next = deferOrExpire(claimed, { ...rules, zone: 'Asia/Tokyo' }, at, 0)?.next
  assert.ok(next?.kind === 'again')
  assert.equal(new Date(next.dueAt).toISOString(), '2026-06-01T23:00:00.000Z')
})

test('a push that expires ends as finished if a device accepted it, else as expired', () => {
  const claimed = { ...fresh, expiresAt: evening }
  assert.equal(deferOrExpire(claimed, rules, evening - 1, 0), undefined)
  assert.equal(deferOrExpire(claimed, rules, evening, 0)?.what, 'expired')
  const accepted = deferOrExpire({ ...claimed, message: { ...fresh.message, partlyAccepted: true } }, rules, evening, 0)
  assert.deepEqual([accepted?.what, accepted?.next.kind], ['finished', 'expired'])
})
