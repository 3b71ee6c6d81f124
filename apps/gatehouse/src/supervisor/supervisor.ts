import type { Clock, Log, StartError } from '@gatehouse/kit'
import type { WorkerAbout } from '../process/messages.ts'
import { Backoff, CrashCount, crashLimit } from './restart-policy.ts'
import type { Ending, WorkerProcess } from './worker-process.ts'

const heartbeatMs = 1_000
/** Before this, clients of kept-alive connections move to another worker by themselves. */
const graceMs = 1_000
/** A worker that does not listen in time is killed. The first of all, which may migrate, has no limit. */
const maxStartMs = 120_000

/** A worker's number, and what is known of the process that has it now. */
interface Slot {
  readonly number: number
  readonly backoff: Backoff
  /** Whether one of its processes has listened: before that a failure is one of the start. */
  hasListened: boolean
  /** Undefined between an end and the restart. */
  current: WorkerProcess | undefined
  restart: NodeJS.Timeout | undefined
}

/** What a {@link Supervisor} starts, and what it reports to. */
export interface SupervisorOptions {
  readonly count: number
  readonly log: Log
  readonly clock: Clock
  readonly launch: (number: number) => WorkerProcess
  /** Receives each end of a worker: a restart follows where it was not stopped. */
  readonly onEnded: (worker: WorkerProcess, ending: Ending) => void
  /** No worker can be of use any more: the line says why. The workers that are left are to be stopped. */
  readonly onSurrender: (line: string) => void
}

/** Keeps workers running that share a port: restarts those that crash, replaces and stops them. */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #slots: Slot[]
  /** All that run, those that are being replaced among them. */
  readonly #running = new Set<WorkerProcess>()
  readonly #crashes = new CrashCount()
  readonly #heartbeats: NodeJS.Timeout
  #isStopping = false
  #about: WorkerAbout | undefined
  #replacing: Promise<void> | undefined
  #replaceAgain = false

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#slots = Array.from({ length: options.count }, (_, index) => ({
      number: index + 1,
      backoff: new Backoff(),
      hasListened: false,
      current: undefined,
      restart: undefined,
    }))
    this.#heartbeats = setInterval(() => {
      for (const worker of this.#running) worker.beat()
    }, heartbeatMs)
  }

  /** What the first worker of the start reported, once it listens. */
  get about(): WorkerAbout | undefined {
    return this.#about
  }

  /** The workers that requests reach. */
  get listening(): WorkerProcess[] {
    return [...this.#running].filter(({ isListening }) => isListening)
  }

  /** The numbers of workers that should listen and do not. */
  get missing(): number[] {
    return this.#slots.filter(({ current }) => !current?.isListening).map(({ number }) => number)
  }

  /**
   * Starts the first worker and, once it listens, the others: so one alone migrates the database and creates what the
   * file declares. Resolves with what the first one reports; with undefined where all are stopped before that.
   * @throws StartError when one ends before it listens
   */
  async start(): Promise<WorkerAbout | undefined> {
    const [first, ...others] = this.#slots
    if (!first) throw new RangeError('a supervisor has at least one worker')
    try {
      this.#about = await this.#adopt(first, this.#run(first.number)).ready
      if (!this.#isStopping) await Promise.all(others.map((slot) => this.#startInTime(slot)))
      return this.#isStopping ? undefined : this.#about
    } catch (error) {
      if (this.#isStopping) return undefined
      throw error
    }
  }

  /** Lets all workers read the limits of the file again. */
  reload(): void {
    for (const worker of this.listening) worker.reload()
  }

  /** Replaces the workers one at a time; while that goes on, another call replaces them once more after it. */
  replace(): Promise<void> {
    this.#replaceAgain = true
    this.#replacing ??= this.#replaceAll()
    return this.#replacing
  }

  /** Stops all workers, within ten seconds. */
  async stop(): Promise<void> {
    this.#isStopping = true
    for (const { restart } of this.#slots) clearTimeout(restart)
    await Promise.all(
      [...this.#running].map((worker) => {
        worker.stop(0)
        return worker.ended
      }),
    )
    clearInterval(this.#heartbeats)
  }

  killAll(): void {
    for (const worker of this.#running) worker.kill()
  }

  #startInTime(slot: Slot): Promise<WorkerAbout> {
    const worker = this.#adopt(slot, this.#run(slot.number))
    worker.limitStart(maxStartMs)
    return worker.ready
  }

  /** Starts a process for a slot that has none, again later where the system has no room for one. */
  #launch(slot: Slot): void {
    slot.restart = undefined
    const worker = this.#tryToRun(slot.number)
    if (worker) {
      worker.limitStart(maxStartMs)
      this.#adopt(slot, worker)
    } else this.#restartUnless(slot)
  }

  #adopt(slot: Slot, worker: WorkerProcess): WorkerProcess {
    slot.current = worker
    worker.ready.then(
      () => {
        slot.hasListened = true
      },
      () => {},
    )
    void worker.ended.then((ending) => this.#restart(slot, worker, ending))
    return worker
  }

  /** A process with the number of a slot, which may have another one still. */
  #run(number: number): WorkerProcess {
    const worker = this.#options.launch(number)
    this.#running.add(worker)
    void worker.ended.then((ending) => {
      this.#running.delete(worker)
      this.#options.onEnded(worker, ending)
    })
    return worker
  }

  #tryToRun(number: number): WorkerProcess | undefined {
    try {
      return this.#run(number)
    } catch (error) {
      this.#options.log.error({ err: error, worker: number }, 'the system starts no process')
      return undefined
    }
  }

  #restart(slot: Slot, worker: WorkerProcess, ending: Ending): void {
    if (slot.current !== worker) return
    slot.current = undefined
    if (this.#isStopping || !slot.hasListened) return
    const { log, clock, onSurrender } = this.#options
    const { cause, reason, listenedMs } = ending
    const bindings = { worker: slot.number, cause, reason }
    if (cause === 'refused') {
      log.error(bindings, 'a worker is not started again until SIGHUP: its settings are wrong')
      // One that is to take its place may have settings that are right; where it fails too, a restart follows.
      if (!this.#replacing && this.#slots.every(({ current, restart }) => !current && !restart)) onSurrender(reason)
      return
    }
    const isCrash = cause === 'crashed' || cause === 'blocked'
    if (isCrash && this.#crashes.record(clock.now())) {
      const { crashes, withinMs } = crashLimit
      onSurrender(`${crashes} workers crashed within ${withinMs / 1_000} s; the last one, ${slot.number}, ${reason}`)
      return
    }
    const delayMs = slot.backoff.delayAfter(listenedMs)
    log.error({ ...bindings, delay_ms: delayMs }, 'a worker ended and is started again')
    slot.restart = setTimeout(() => this.#launch(slot), delayMs)
  }

  async #replaceAll(): Promise<void> {
    try {
      while (this.#replaceAgain && !this.#isStopping) {
        this.#replaceAgain = false
        if (await this.#replaceEach()) this.#options.log.info('all workers are replaced')
      }
    } finally {
      // In the same step: a call after it begins another one.
      this.#replacing = undefined
    }
  }

  /** Whether each number has another process now: the first that can't be replaced ends it. */
  async #replaceEach(): Promise<boolean> {
    for (const slot of this.#slots) if (this.#isStopping || !(await this.#replaceOne(slot))) return false
    return true
  }

  /** Whether another process has the number now: where it can't start, the old one stays. */
  async #replaceOne(slot: Slot): Promise<boolean> {
    const { log } = this.#options
    clearTimeout(slot.restart)
    slot.restart = undefined
    const old = slot.current
    const next = this.#tryToRun(slot.number)
    if (!next) {
      this.#restartUnless(slot)
      return false
    }
    next.limitStart(maxStartMs)
    try {
      await next.ready
    } catch (error) {
      if (!this.#isStopping)
        log.error(
          { worker: slot.number, reason: (error as StartError).message },
          'a worker could not be replaced; the others stay',
        )
      this.#restartUnless(slot)
      return false
    }
    const between = slot.current
    slot.current = next
    clearTimeout(slot.restart)
    void next.ended.then((ending) => this.#restart(slot, next, ending))
    for (const worker of new Set([old, between])) worker?.stop(graceMs)
    await Promise.all([old?.ended, between?.ended])
    return true
  }

  /** A worker that ended while its replacement failed has to be started again, after a while. */
  #restartUnless(slot: Slot): void {
    if (slot.current || slot.restart || this.#isStopping) return
    slot.restart = setTimeout(() => this.#launch(slot), slot.backoff.delayAfter(0))
  }
}
