import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readCosts } from '../costs.ts'
import { designFleet } from '../defaults.ts'
import { Fleet } from '../model/fleet.ts'
import type { FleetOptions } from '../model/options.ts'
import { type Fault, runScenario } from '../scenario.ts'

const secondMs = 1_000

/** A fleet of a fiftieth of the design. */
function smallFleet(options: Partial<FleetOptions> = {}): FleetOptions {
  const design = designFleet(readCosts())
  const small = { eventsPerSecond: 2_400, processes: 4, nodes: 2, coresPerNode: 4, buckets: 16, streamGroups: 2 }
  return { ...design, ...small, ...options }
}

/** A failure that the test chooses. */
function fault(kind: number, index: number, lastsMs: number): Fault {
  const begin = (fleet: Fleet): (() => void) => {
    const process = fleet.processes[index % fleet.processes.length]
    const node = fleet.nodes[index % fleet.nodes.length]
    const group = fleet.topic.groups[index % fleet.topic.groups.length]
    const none = () => {}
    if (kind === 0) {
      process?.kill()
      return () => void fleet.addProcess()
    }
    if (kind === 1) {
      process?.freeze(lastsMs)
      return none
    }
    if (kind === 2) {
      node?.cores.fail()
      return () => node?.cores.start()
    }
    if (kind === 3) {
      group?.fail()
      return () => group?.start()
    }
    fleet.world.slowness[1] = 50
    return () => {
      fleet.world.slowness[1] = 1
    }
  }
  return { name: `fault ${kind}`, lastsMs, recoverMs: secondMs, begin }
}

const timing = { warmUpMs: 2 * secondMs, calmMs: 3 * secondMs, drainMs: 400 * secondMs }

test('whatever fails, each event is accepted once and recorded once', () => {
  const faults = fc.array(fc.tuple(fc.nat(4), fc.nat(7), fc.integer({ min: 100, max: 20_000 })), { maxLength: 3 })
  fc.assert(
    fc.property(fc.nat(1_000), fc.boolean(), faults, (seed, isPerBucket, chosen) => {
      const through = chosen.map(([kind, index, lastsMs]) => fault(kind, index, lastsMs))
      const { fleet } = runScenario(new Fleet(smallFleet({ seed, isPerBucket, eventsPerSecond: 600 })), timing, through)
      assert.equal(fleet.statistics.accepted, fleet.topic.published)
      assert.equal(fleet.recorded, fleet.topic.published)
    }),
    { numRuns: 15 },
  )
})

test('what is in the fleet is its throughput times its latency (Little)', () => {
  const fleet = new Fleet(smallFleet())
  const { samples, phases } = runScenario(fleet, { ...timing, calmMs: 60 * secondMs }, [])
  const calm = phases.find(({ name }) => name === 'calm')
  assert.ok(calm)
  const { delivered } = fleet.statistics.between(calm.fromMs, calm.toMs)
  const seen = samples.filter(({ phase }) => phase === 'calm')
  const stored = seen.reduce((sum, { waiting, leased }) => sum + waiting + leased, 0) / seen.length
  const { accepted } = fleet.statistics.between(calm.fromMs, calm.toMs)
  const expected = (delivered.count / (calm.toMs - calm.fromMs)) * (delivered.meanMs - accepted.meanMs)
  assert.ok(Math.abs(stored - expected) < 0.1 * expected, `${stored} stored, ${expected} expected`)
})

test('the same seed gives the same run, another seed another', () => {
  const run = (seed: number) => {
    const { fleet, samples } = runScenario(new Fleet(smallFleet({ seed })), timing, [fault(0, 1, 5_000)])
    return JSON.stringify([samples, fleet.simulation.steps])
  }
  assert.equal(run(5), run(5))
  assert.notEqual(run(5), run(6))
})

test('a process that dies leaves its buckets to the others when its lease ends', () => {
  const fleet = new Fleet(smallFleet())
  fleet.simulation.run(3 * secondMs)
  const [dead] = fleet.processes
  assert.ok(dead)
  const lost = dead.buckets
  dead.kill()
  fleet.simulation.run(20 * secondMs)
  assert.equal(lost.length, 4)
  assert.equal(fleet.ownership.orphans, 0)
  for (const bucket of lost) assert.notEqual(fleet.ownership.ownerOf(bucket), dead)
})

test('buckets are shared fairly after processes come and go, and a calm fleet moves none', () => {
  const fleet = new Fleet(smallFleet({ processes: 5 }))
  fleet.simulation.run(5 * secondMs)
  const { moved } = fleet.ownership
  fleet.simulation.run(60 * secondMs)
  assert.equal(fleet.ownership.moved, moved)
  fleet.addProcess()
  fleet.simulation.run(80 * secondMs)
  const sizes = fleet.processes.map(({ buckets }) => buckets.length).toSorted()
  assert.deepEqual(sizes, [2, 2, 3, 3, 3, 3])
  assert.ok(fleet.ownership.moved - moved <= 4, `${fleet.ownership.moved - moved} buckets moved`)
})

test('a process frozen for longer than its leases changes nothing that others have done', () => {
  const fleet = new Fleet(smallFleet())
  fleet.simulation.run(5 * secondMs)
  fleet.processes[0]?.freeze(90 * secondMs)
  fleet.simulation.run(120 * secondMs)
  fleet.drain(200 * secondMs)
  assert.equal(fleet.recorded, fleet.topic.published)
  assert.ok(fleet.nodes.some(({ fenced }) => fenced > 0))
})

test('processes that are too few let the queue grow, and more of them are less busy', () => {
  const calm = (processes: number) => {
    const { samples } = runScenario(new Fleet(smallFleet({ processes, eventsPerSecond: 6_000 })), timing, [])
    return samples.findLast(({ phase }) => phase === 'calm')
  }
  const [few, many] = [calm(1), calm(8)]
  assert.ok(few && many)
  assert.ok(few.inStream > 1_000 && many.inStream < 500, `${few.inStream} and ${many.inStream} wait`)
  assert.ok(few.processes > 0.95 && many.processes < 0.6, `${few.processes} and ${many.processes} busy`)
})
