import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Agenda } from '../../src/agenda/agenda.ts'

const sweepMs = 60_000

/** An agenda of buckets that were all visited, and its clock. */
function createAgenda(buckets: readonly number[]) {
  const clock = { now: 0 }
  const agenda = new Agenda({ sweepMs, elapsed: () => clock.now, random: () => 1 })
  agenda.own(buckets)
  agenda.visited(buckets)
  return { agenda, clock }
}

test('a bucket that was hinted is named until it was visited', () => {
  const { agenda } = createAgenda([0, 1, 2])
  assert.deepEqual(agenda.take(0), [])
  agenda.hint([1])
  assert.deepEqual(agenda.take(0), [1])
  assert.deepEqual(agenda.take(0), [1], 'nobody said that it was visited')
  agenda.visited([1])
  assert.deepEqual(agenda.take(0), [])
})

test('a hint that comes while a bucket is visited is not lost', () => {
  const { agenda } = createAgenda([0])
  agenda.hint([0])
  assert.deepEqual(agenda.take(0), [0])
  agenda.hint([0])
  agenda.visited([0])
  assert.deepEqual(agenda.take(0), [0])
})

test('a bucket is named when its due time has come, and for the earliest of several', () => {
  const { agenda } = createAgenda([0])
  agenda.hint([0], 500)
  agenda.hint([0], 300)
  assert.equal(agenda.pauseAt(100), 200)
  assert.deepEqual(agenda.take(299), [])
  assert.deepEqual(agenda.take(300), [0])
  agenda.visited([0], 500)
  assert.deepEqual(agenda.take(499), [])
  assert.deepEqual(agenda.take(500), [0])
})

test('a due time that is known is not forgotten by a sweep before it', () => {
  const { agenda, clock } = createAgenda([0])
  agenda.hint([0], 500)
  clock.now = sweepMs
  assert.deepEqual(agenda.take(100), [0])
  agenda.visited([0])
  assert.deepEqual(agenda.take(499), [])
  assert.deepEqual(agenda.take(500), [0])
})

test('a bucket in which something was due is served once it was visited, and mentioned once', () => {
  const { agenda, clock } = createAgenda([0, 1, 2])
  agenda.hint([0], 500)
  agenda.hint([1])
  assert.deepEqual(agenda.take(500), [0, 1])
  assert.deepEqual(agenda.takeServed(), [], 'nobody said that they were visited')
  agenda.visited([0, 1])
  assert.deepEqual(agenda.takeServed(), [0, 1])
  clock.now = sweepMs
  agenda.visited(agenda.take(500))
  assert.deepEqual(agenda.takeServed(), [], 'nothing was due in them')
})

test('buckets that nobody mentions are swept once in the time of a sweep, spread evenly', () => {
  const clock = { now: 0 }
  const agenda = new Agenda({ sweepMs, elapsed: () => clock.now })
  agenda.own(Array.from({ length: 60 }, (_, bucket) => bucket))
  const named: number[] = []
  for (let second = 0; second < 120; second++) {
    clock.now = second * 1_000
    const due = agenda.take(0)
    assert.equal(due.length, 1)
    named.push(...due)
    agenda.visited(due)
  }
  assert.deepEqual(new Set(named.slice(0, 60)).size, 60)
  assert.deepEqual(named.slice(0, 60), named.slice(60))
})

test('a survey stands for a sweep', () => {
  const { agenda, clock } = createAgenda([0, 1])
  clock.now = sweepMs - 1
  agenda.surveyed([0])
  clock.now = sweepMs
  assert.deepEqual(agenda.take(0), [1])
})

test('a failing bucket is left alone for a second, then twice as long each time, up to a minute', () => {
  const { agenda, clock } = createAgenda([0, 1])
  const pauses: number[] = []
  agenda.hint([0])
  for (let failures = 0; failures < 8; failures++) {
    assert.deepEqual(agenda.take(0), [0])
    agenda.failed(0)
    const since = clock.now
    agenda.hint([0])
    while (agenda.take(0).length === 0) {
      clock.now += 500
      agenda.surveyed([0, 1])
    }
    pauses.push(clock.now - since)
  }
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  agenda.visited([0])
  agenda.hint([0])
  assert.deepEqual(agenda.take(0), [0], 'one that works again is treated as any other')
  assert.equal(agenda.failing, 0)
})

test('at most one failing bucket is named at a time, after the others', () => {
  const { agenda, clock } = createAgenda([0, 1, 2, 3])
  agenda.failed(0)
  agenda.failed(1)
  clock.now = 1_000
  agenda.hint([0, 1, 2, 3])
  assert.deepEqual(agenda.take(0), [2, 3, 0])
})

test('of buckets with more than enough to do each has its turn', () => {
  const { agenda } = createAgenda([0, 1, 2])
  agenda.hint([0, 1, 2])
  const first: Array<number | undefined> = []
  for (let n = 0; n < 6; n++) {
    const [bucket] = agenda.take(0)
    first.push(bucket)
    if (bucket !== undefined) agenda.visited([bucket], 0)
  }
  assert.deepEqual(first, [0, 1, 2, 0, 1, 2])
})

test('a bucket of another process is never named', () => {
  const { agenda } = createAgenda([0, 1])
  agenda.hint([0, 1, 2])
  assert.deepEqual(agenda.own([1, 2]), [2])
  assert.deepEqual(agenda.buckets, [1, 2])
  agenda.hint([0])
  assert.deepEqual(agenda.take(0), [2, 1], 'a new one is swept at once')
})

/** What may happen to an agenda. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('hint' as const), bucket: fc.nat(7), inMs: fc.nat(5_000) }),
  fc.record({ kind: fc.constant('pass' as const), fails: fc.array(fc.nat(7), { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(20_000) }),
  fc.record({ kind: fc.constant('survey' as const), bucket: fc.nat(7) }),
)

test('whatever happens, what is due is named once the longest backoff has passed', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { agenda, clock } = createAgenda([0, 1, 2, 3, 4, 5, 6, 7])
      /** Buckets in which something is due, and from when on. */
      const due = new Map<number, number>()
      const pass = (fails: readonly number[]) => {
        for (const bucket of agenda.take(clock.now)) {
          if (fails.includes(bucket)) agenda.failed(bucket)
          else {
            const next = due.get(bucket)
            if (next !== undefined && next <= clock.now) due.delete(bucket)
            agenda.visited([bucket], due.get(bucket))
          }
        }
      }
      for (const each of steps) {
        if (each.kind === 'wait') clock.now += each.ms
        else if (each.kind === 'pass') pass(each.fails)
        else if (each.kind === 'survey') agenda.surveyed([each.bucket])
        else {
          const dueAt = clock.now + each.inMs
          due.set(each.bucket, Math.min(due.get(each.bucket) ?? dueAt, dueAt))
          agenda.hint([each.bucket], dueAt)
        }
      }
      clock.now += 65_000
      for (let n = 0; n < 8; n++) pass([])
      assert.deepEqual([...due], [])
      assert.equal(agenda.failing, 0)
    }),
  )
})

test('buckets that back off are named at once when their node is back, no others', () => {
  const { agenda } = createAgenda([0, 1, 2, 3])
  for (let n = 0; n < 5; n++) for (const bucket of [0, 1, 2]) agenda.failed(bucket)
  assert.deepEqual(agenda.take(0), [])
  agenda.returned([0, 1, 3])
  assert.deepEqual(agenda.take(0), [0, 1])
  assert.equal(agenda.failing, 1)
  agenda.failed(0)
  assert.equal(agenda.pauseAt(0), 0, 'the other one is still to be visited')
  agenda.visited([1])
  assert.equal(agenda.pauseAt(0), 1_000, 'what fails again backs off as at first')
})
