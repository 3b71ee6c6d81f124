import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cores } from '../engine/cores.ts'
import { Histogram } from '../engine/histogram.ts'
import { createRandom } from '../engine/random.ts'
import { Simulation } from '../engine/simulation.ts'

/** The mean wait of tasks that arrive at random, all of the same length, and are served by so many cores. */
function meanWaitMs(load: number, workMs: number, cores = 1): { waitMs: number; busy: number } {
  const simulation = new Simulation()
  const random = createRandom(7)
  const served = new Cores(simulation, cores)
  const waits = new Histogram()
  const untilMs = 400_000
  const arrive = () => {
    const { now } = simulation
    served.submit(workMs, () => waits.add(simulation.now - now - workMs))
    simulation.after((-Math.log(1 - random.uniform()) * workMs) / (load * cores), arrive)
  }
  arrive()
  simulation.run(untilMs)
  return { waitMs: waits.meanMs, busy: served.busyMs / (untilMs * cores) }
}

test('one core that serves tasks of one length waits as M/D/1 does', () => {
  for (const load of [0.3, 0.6, 0.8]) {
    const expected = (load * 2) / (2 * (1 - load))
    const { waitMs, busy } = meanWaitMs(load, 2)
    assert.ok(Math.abs(waitMs - expected) < 0.08 * expected, `load ${load}: ${waitMs}, expected ${expected}`)
    assert.ok(Math.abs(busy - load) < 0.02, `load ${load}: busy ${busy}`)
  }
})

test('eight cores wait less than one core does at the same load', () => {
  assert.ok(meanWaitMs(0.8, 2, 8).waitMs < meanWaitMs(0.8, 2).waitMs / 4)
})

test('cores that fail lose what they serve and what waits, and serve again once started', () => {
  const simulation = new Simulation()
  const cores = new Cores(simulation, 1)
  const ends: string[] = []
  for (const name of ['first', 'second'])
    cores.submit(
      10,
      () => ends.push(`${name} done`),
      () => ends.push(`${name} lost`),
    )
  simulation.after(5, () => cores.fail())
  simulation.after(20, () => {
    cores.submit(
      1,
      () => ends.push('refused done'),
      () => ends.push('refused lost'),
    )
    cores.start()
    cores.submit(1, () => ends.push('third done'))
  })
  simulation.run(100)
  assert.deepEqual(ends, ['first lost', 'second lost', 'refused lost', 'third done'])
  assert.equal(cores.busyMs, 1)
})

test('frozen cores continue where they stopped', () => {
  const simulation = new Simulation()
  const cores = new Cores(simulation, 1)
  const ends: number[] = []
  cores.submit(10, () => ends.push(simulation.now))
  cores.submit(10, () => ends.push(simulation.now))
  simulation.after(5, () => cores.freeze(100))
  simulation.run(1_000)
  assert.deepEqual(ends, [105, 115])
})

test('actions at one time run in the order in which they were added', () => {
  const simulation = new Simulation()
  const random = createRandom(3)
  const ran: Array<readonly [number, number]> = []
  for (let index = 0; index < 1_000; index++) {
    const at = Math.floor(random.uniform() * 50)
    simulation.after(at, () => ran.push([at, index]))
  }
  simulation.run(100)
  assert.deepEqual(
    ran,
    ran.toSorted(([a, first], [b, second]) => a - b || first - second),
  )
  assert.equal(ran.length, 1_000)
})

test('a histogram has its quantiles within five percent', () => {
  const histogram = new Histogram()
  for (let value = 1; value <= 10_000; value++) histogram.add(value / 10)
  for (const share of [0.5, 0.9, 0.99]) {
    const expected = share * 1_000
    assert.ok(Math.abs(histogram.quantile(share) - expected) < 0.05 * expected, `${share}`)
  }
  assert.ok(Math.abs(histogram.meanMs - 500.05) < 0.01)
})
