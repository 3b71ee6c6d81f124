import type { Fleet } from './model/fleet.ts'

/** A failure, and what happened around it. */
export interface Fault {
  readonly name: string
  /** How long it lasts, in milliseconds. */
  readonly lastsMs: number
  /** How long afterwards its queues may take to be short again, in milliseconds. */
  readonly recoverMs: number
  begin(fleet: Fleet): () => void
  /** The database node that it takes away, if it does. */
  readonly node?: number
}

const secondMs = 1_000

/** The failures that the fleet must survive, one after the other. */
export const faults: readonly Fault[] = [
  {
    name: 'a process dies and is started again',
    lastsMs: 20 * secondMs,
    recoverMs: 10 * secondMs,
    begin(fleet) {
      fleet.processes[3]?.kill()
      return () => fleet.addProcess()
    },
  },
  {
    name: 'a process freezes and comes back',
    lastsMs: 25 * secondMs,
    recoverMs: 10 * secondMs,
    begin(fleet) {
      fleet.processes[7]?.freeze(25 * secondMs)
      return () => {}
    },
  },
  {
    name: 'a database node dies and fails over',
    lastsMs: 20 * secondMs,
    recoverMs: 60 * secondMs,
    node: 2,
    begin(fleet) {
      fleet.nodes[2]?.cores.fail()
      return () => fleet.nodes[2]?.cores.start()
    },
  },
  {
    name: 'the provider of one channel is 20 times slower',
    lastsMs: 30 * secondMs,
    recoverMs: 15 * secondMs,
    begin({ world }) {
      world.slowness[1] = 20
      return () => {
        world.slowness[1] = 1
      }
    },
  },
  {
    name: 'a leader of the stream dies',
    lastsMs: 4 * secondMs,
    recoverMs: 15 * secondMs,
    begin({ topic }) {
      topic.groups[0]?.fail()
      return () => topic.groups[0]?.start()
    },
  },
  {
    name: 'eight processes are replaced, one after the other',
    lastsMs: 32 * secondMs,
    recoverMs: 10 * secondMs,
    begin(fleet) {
      const old = fleet.processes.filter(({ isAlive }) => isAlive).slice(0, 8)
      for (const [place, process] of old.entries())
        fleet.simulation.after(place * 4 * secondMs, () => {
          fleet.addProcess()
          process.isDraining = true
          fleet.simulation.after(15 * secondMs, () => process.kill())
        })
      return () => {}
    },
  },
]

/** What was seen at the end of a second. */
export interface Sample {
  readonly atMs: number
  readonly phase: string
  /** Events that wait in the stream. */
  readonly inStream: number
  /** Deliveries that wait to be claimed, and those leased to processes. */
  readonly waiting: number
  readonly leased: number
  readonly databaseTasks: number
  /** Shares of the processor time that there is. */
  readonly processes: number
  readonly busiestProcess: number
  readonly databases: number
  readonly stream: number
  /** Write-ahead log of all nodes, bytes a second. */
  readonly walPerSecond: number
  readonly orphans: number
}

/** A span of the run: calm, a failure, or the time after one. */
export interface Phase {
  readonly name: string
  readonly fromMs: number
  readonly toMs: number
  readonly fault?: Fault
}

/** A run: the fleet at its end, what was seen each second, and the phases. */
export interface Run {
  readonly fleet: Fleet
  readonly samples: readonly Sample[]
  readonly phases: readonly Phase[]
}

/** How long each part of a run lasts, in milliseconds. */
export interface Timing {
  readonly warmUpMs: number
  readonly calmMs: number
  readonly drainMs: number
}

export const defaultTiming: Timing = {
  warmUpMs: 10 * secondMs,
  calmMs: 20 * secondMs,
  drainMs: 300 * secondMs,
}

/** Runs a fleet through calm and through each failure, then lets it finish what there is. */
export function runScenario(fleet: Fleet, timing: Timing = defaultTiming, through: readonly Fault[] = faults): Run {
  const samples: Sample[] = []
  const phases: Phase[] = []
  const observe = createObserver(fleet)
  const pass = (name: string, milliseconds: number, fault?: Fault) => {
    const fromMs = fleet.simulation.now
    const toMs = fromMs + milliseconds
    while (fleet.simulation.now < toMs) {
      fleet.simulation.run(Math.min(toMs, fleet.simulation.now + secondMs))
      samples.push(observe(name))
    }
    phases.push({ name, fromMs, toMs, ...(fault ? { fault } : {}) })
  }
  pass('warm up', timing.warmUpMs)
  pass('calm', timing.calmMs)
  for (const fault of through) {
    const end = fault.begin(fleet)
    pass(fault.name, fault.lastsMs, fault)
    end()
    pass('afterwards', fault.recoverMs)
  }
  fleet.drain(timing.drainMs)
  return { fleet, samples, phases }
}

/** Sums since the last sample become rates. */
function createObserver(fleet: Fleet): (phase: string) => Sample {
  const { options } = fleet
  const processBusy = new Map<number, number>()
  let before = { atMs: 0, databaseMs: 0, streamMs: 0, wal: 0 }
  const sum = (values: Iterable<number>) => [...values].reduce((all, each) => all + each, 0)
  return (phase) => {
    const atMs = fleet.simulation.now
    const passedMs = atMs - before.atMs
    const now = {
      atMs,
      databaseMs: sum(fleet.nodes.map(({ cores }) => cores.busyMs)),
      streamMs: sum(fleet.topic.groups.map(({ busyMs }) => busyMs)),
      wal: sum(fleet.nodes.map(({ walBytes }) => walBytes)),
    }
    const live = fleet.processes.filter(({ isAlive }) => isAlive)
    const shares = live.map(({ index, cpu }) => {
      const share = (cpu.busyMs - (processBusy.get(index) ?? 0)) / passedMs
      processBusy.set(index, cpu.busyMs)
      return share
    })
    const sizes = fleet.nodes.map((node) => node.sizes())
    const sample = {
      atMs,
      phase,
      inStream: sum(Array.from({ length: options.buckets }, (_, bucket) => fleet.topic.backlog(bucket))),
      waiting: sum(sizes.map(({ waiting }) => waiting)),
      leased: sum(sizes.map(({ leased }) => leased)),
      databaseTasks: sum(fleet.nodes.map(({ cores }) => cores.waiting)),
      processes: sum(shares) / live.length,
      busiestProcess: Math.max(...shares),
      databases: (now.databaseMs - before.databaseMs) / passedMs / (options.nodes * options.coresPerNode),
      stream: (now.streamMs - before.streamMs) / passedMs / (options.streamGroups * options.coresPerStreamGroup),
      walPerSecond: ((now.wal - before.wal) * 1_000) / passedMs,
      orphans: fleet.ownership.orphans,
    }
    before = now
    return sample
  }
}
