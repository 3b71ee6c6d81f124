import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock, silentLog } from '@gatehouse/kit'
import { Agendas } from '../../src/agenda/agendas.ts'
import { startSurveyor } from '../../src/agenda/surveyor.ts'
import type { DueWork } from '../../src/model/work/work-kind.ts'
import { eventually } from '../support/setup.ts'

const day = 86_400_000

test('where buckets are apart, one in which something was due is looked at for what is due next', async (t) => {
  const clock = manualClock(0)
  const agendas = new Agendas({ count: 3, sweepMs: day })
  /** Of each bucket when something scheduled is due; a survey sees the first. */
  const dueTimes = new Map<number, number[]>([
    [1, [1_000, 2_000]],
    [2, [5_000]],
  ])
  const looks: number[] = []
  const survey = async (buckets: readonly number[]) => {
    looks.push(...buckets)
    return buckets.flatMap((bucket): DueWork[] => {
      const [dueAt] = dueTimes.get(bucket) ?? []
      return dueAt === undefined ? [] : [{ kind: 'schedule', bucket, dueAt }]
    })
  }
  const surveyor = startSurveyor({
    survey: { apart: true, survey },
    agendas,
    idleMs: 5,
    sweepMs: day,
    clock,
    log: silentLog,
    onSurveyed() {},
  })
  t.after(() => surveyor.stop())
  agendas.own([0, 1, 2])
  surveyor.own([0, 1, 2])
  const agenda = agendas.of('schedule')
  await eventually(
    async () => looks.toSorted(),
    (all) => all.length === 3,
  )
  agenda.visited(agenda.take(0))
  clock.set(1_000)
  assert.deepEqual(agenda.take(clock.now()), [1])
  dueTimes.get(1)?.shift()
  agenda.visited([1])
  await eventually(
    async () => looks.length,
    (count) => count === 4,
  )
  assert.equal(looks.at(-1), 1)
  clock.set(2_000)
  assert.deepEqual(agenda.take(clock.now()), [1])
})

test('where buckets are apart, all of them are looked at when hints were missed', async (t) => {
  const looks: number[] = []
  const surveyor = startSurveyor({
    survey: {
      apart: true,
      async survey(buckets) {
        looks.push(...buckets)
        return []
      },
    },
    agendas: new Agendas({ count: 3, sweepMs: day }),
    idleMs: 5,
    sweepMs: day,
    clock: manualClock(0),
    log: silentLog,
    onSurveyed() {},
  })
  t.after(() => surveyor.stop())
  surveyor.own([0, 1, 2])
  const looked = (times: number) =>
    eventually(
      async () => looks.toSorted(),
      (all) => all.length === 3 * times,
    )
  await looked(1)
  surveyor.missed()
  assert.deepEqual(await looked(2), [0, 0, 1, 1, 2, 2])
})

test('buckets that cannot be looked at are reported as failing until they can', async (t) => {
  const agendas = new Agendas({ count: 3, sweepMs: day })
  const away = new Set([1])
  const reported: number[] = []
  const surveyor = startSurveyor({
    survey: {
      apart: true,
      async survey([bucket = 0]) {
        if (away.has(bucket)) throw new Error('the node is away')
        return []
      },
    },
    agendas,
    idleMs: 5,
    sweepMs: day,
    clock: manualClock(0),
    log: silentLog,
    onSurveyed: () => reported.push(surveyor.failing),
  })
  t.after(() => surveyor.stop())
  surveyor.own([0, 1, 2])
  await eventually(
    async () => reported.at(-1),
    (failing) => failing === 1,
  )
  away.clear()
  surveyor.returned([1])
  await eventually(
    async () => reported.at(-1),
    (failing) => failing === 0,
  )
})
